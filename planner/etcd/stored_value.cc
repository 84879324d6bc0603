// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/stored_value.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/encoding/compression.h"
#include "base/string_view.h"
#include "planner/etcd/fenced_writer.h"
#include "planner/etcd/operations.h"

namespace copse::planner {
namespace {

constexpr char kWhole = 'z', kInParts = 'p';
// A damaged length must not take all memory.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;
constexpr size_t kPartsMax = 1024;

std::string PartKey(const std::string& key, absl::string_view version, size_t index) {
  return absl::StrCat(key, "/", version, "/", absl::StrFormat("%06d", index));
}

// Decodes the value at `key`, and removes its parts from `*parts`.
StoredValue Read(const std::string& key, absl::string_view head, std::map<std::string, std::string>* parts) {
  StoredValue value{.bytes = absl::DataLossError(absl::StrCat("another format (bytes=", head.size(), ")")),
                    .keys = {key}};
  if (head.empty()) return value;
  const absl::string_view rest = head.substr(1);
  if (head[0] == kWhole) value.bytes = Decompressed(StdView(rest), kBytesMax);
  const size_t slash = rest.find('/');
  size_t count = 0;
  if (head[0] != kInParts || slash == rest.npos || !absl::SimpleAtoi(rest.substr(0, slash), &count) ||
      count > kPartsMax) {
    return value;
  }
  std::string zstd;
  std::string missing;
  for (size_t i = 0; i < count; ++i) {
    const std::string part_key = PartKey(key, rest.substr(slash + 1), i);
    const auto part = parts->find(part_key);
    if (part == parts->end()) {
      missing = part_key;
      continue;
    }
    zstd += part->second;
    value.keys.push_back(part_key);
    parts->erase(part);
  }
  if (missing.empty()) {
    value.bytes = Decompressed(zstd, kBytesMax);
  } else {
    value.bytes = absl::DataLossError(absl::StrCat("a part is missing (key=", missing, ")"));
  }
  return value;
}

}  // namespace

std::vector<etcdserverpb::RequestOp> PutValue(const std::string& key, const std::string& bytes,
                                              const std::string& version, bool had_parts, bool* has_parts) {
  const std::string zstd = Compressed(bytes, /*checksum=*/true);
  std::vector<etcdserverpb::RequestOp> operations;
  const std::string folder = key + "/";
  *has_parts = zstd.size() >= kValueBytesMax;
  if (!*has_parts) {
    operations.push_back(PutOp(key, kWhole + zstd));
    if (had_parts) operations.push_back(DeleteOp(folder, EndOf(folder)));
    return operations;
  }
  size_t count = 0;
  for (size_t at = 0; at < zstd.size(); at += kValueBytesMax) {
    operations.push_back(PutOp(PartKey(key, version, count++), zstd.substr(at, kValueBytesMax)));
  }
  operations.push_back(PutOp(key, absl::StrCat(std::string(1, kInParts), count, "/", version)));
  if (had_parts) {
    const std::string parts = folder + version + "/";
    operations.push_back(DeleteOp(folder, parts));
    operations.push_back(DeleteOp(EndOf(parts), EndOf(folder)));
  }
  return operations;
}

std::vector<etcdserverpb::RequestOp> DeleteValue(const std::string& key, bool had_parts) {
  std::vector<etcdserverpb::RequestOp> operations = {DeleteOp(key)};
  if (had_parts) operations.push_back(DeleteOp(key + "/", EndOf(key + "/")));
  return operations;
}

StoredValues ReadValues(const std::string& folder, const std::map<std::string, std::string>& keys) {
  StoredValues result;
  std::map<std::string, std::string> parts;
  for (const auto& [key, value] : keys) {
    if (key.find('/', folder.size()) != key.npos) parts.emplace(key, value);
  }
  for (const auto& [key, value] : keys) {
    if (key.find('/', folder.size()) == key.npos) {
      result.values.emplace(key.substr(folder.size()), Read(key, value, &parts));
    }
  }
  for (const auto& [key, value] : parts) result.unused.push_back(key);
  return result;
}

}  // namespace copse::planner
