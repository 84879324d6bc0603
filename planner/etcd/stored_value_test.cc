// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/stored_value.h"

#include <string>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/etcd/fenced_writer.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using copse::testing::FailsWith;
using Keys = std::map<std::string, std::string>;
using Operations = std::vector<etcdserverpb::RequestOp>;

constexpr char kFolder[] = "/p/team/", kKey[] = "/p/team/7", kName[] = "7";

std::string Random(size_t bytes) {
  Prng prng(bytes);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(prng.Next());
  return text;
}

void Do(const etcdserverpb::RequestOp& operation, Keys* keys) {
  if (operation.has_request_put()) {
    (*keys)[operation.request_put().key()] = operation.request_put().value();
  } else if (operation.request_delete_range().range_end().empty()) {
    keys->erase(operation.request_delete_range().key());
  } else {
    keys->erase(keys->lower_bound(operation.request_delete_range().key()),
                keys->lower_bound(operation.request_delete_range().range_end()));
  }
}

Keys Stored(const std::string& bytes, const std::string& version) {
  Keys keys;
  bool has_parts = false;
  for (const auto& operation : PutValue(kKey, bytes, version, false, &has_parts)) Do(operation, &keys);
  return keys;
}

std::string Value(const Keys& keys) { return ReadValues(kFolder, keys).values.at(kName).bytes.value(); }

TEST(StoredValueTest, KeepsBytesOfAnyLength) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kValueBytesMax - 1, kValueBytesMax, 3 * kValueBytesMax}) {
    const std::string value = Random(bytes);
    const Keys keys = Stored(value, "v1");
    EXPECT_EQ(Value(keys), value) << bytes;
    for (const auto& [key, part] : keys) EXPECT_LE(part.size(), kValueBytesMax);
  }
  EXPECT_EQ(Stored(std::string(3 * kValueBytesMax, 'x'), "v1").size(), 1u) << "it is compressed";
}

TEST(StoredValueTest, IsTheOldOrTheNewOneAfterEachOperation) {
  const std::vector<std::string> values = {Random(10), Random(2 * kValueBytesMax), Random(3 * kValueBytesMax + 5)};
  for (const std::string& before : values) {
    for (const std::string& after : values) {
      Keys keys = Stored(before, "v1");
      const bool had_parts = keys.size() > 1;
      bool has_parts = false;
      for (const auto& operation : PutValue(kKey, after, "v2", had_parts, &has_parts)) {
        Do(operation, &keys);
        EXPECT_TRUE(Value(keys) == before || Value(keys) == after);
      }
      EXPECT_EQ(keys, Stored(after, "v2")) << "parts that nothing names are deleted";
      EXPECT_EQ(has_parts, keys.size() > 1);
      for (const auto& operation : DeleteValue(kKey, has_parts)) Do(operation, &keys);
      EXPECT_TRUE(keys.empty());
    }
  }
}

TEST(StoredValueTest, DamageIsFound) {
  const auto read = [](const Keys& keys) { return ReadValues(kFolder, keys).values.at(kName).bytes; };
  Keys keys = Stored("hello, hello, hello", "v1");
  keys.begin()->second.back() ^= 1;
  EXPECT_THAT(read(keys), FailsWith(StatusCode::kDataLoss));
  for (const std::string value : {"", "z", "x", "zx", "p", "p1", "p9999999/v", "p-1/v"}) {
    EXPECT_THAT(read({{kKey, value}}), FailsWith(StatusCode::kDataLoss)) << value;
  }
  keys = Stored(Random(2 * kValueBytesMax), "v1");
  keys.erase("/p/team/7/v1/000001");
  EXPECT_THAT(read(keys), FailsWith(StatusCode::kDataLoss, "key=/p/team/7/v1/000001"));
}

TEST(StoredValueTest, PartsWithoutAValueAreUnused) {
  Keys keys = Stored(Random(2 * kValueBytesMax), "v1");
  keys.erase(kKey);
  const StoredValues stored = ReadValues(kFolder, keys);
  EXPECT_TRUE(stored.values.empty());
  EXPECT_EQ(stored.unused.size(), keys.size());
}

}  // namespace
}  // namespace copse::planner
