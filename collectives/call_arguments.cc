// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_arguments.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "base/hash.h"

namespace copse {
namespace {

// Returns the arguments with a default in every field that the collective ignores, so that equality and hash agree.
CallArguments Normalized(const CallArguments& arguments) {
  CallArguments normal{.collective = arguments.collective};
  if (!HasData(arguments.collective)) return normal;
  normal.type = arguments.type;
  normal.count = arguments.count;
  normal.options = arguments.options;
  normal.counts_hash = arguments.counts_hash;
  if (HasRoot(arguments.collective)) normal.root = arguments.root;
  if (Reduces(arguments.collective)) normal.op = arguments.op;
  return normal;
}

}  // namespace

uint32_t HashCounts(const std::vector<uint64_t>& bytes) {
  uint64_t hash = Mix64(bytes.size());
  for (const uint64_t b : bytes) hash = Mix64(hash ^ b);
  const auto folded = static_cast<uint32_t>(hash ^ hash >> 32);
  return folded == 0 ? 1 : folded;
}

bool operator==(const CallArguments& a, const CallArguments& b) {
  const CallArguments x = Normalized(a);
  const CallArguments y = Normalized(b);
  return x.collective == y.collective && x.type == y.type && x.op == y.op && x.count == y.count && x.root == y.root &&
         x.options == y.options && x.counts_hash == y.counts_hash;
}

std::string DescribeArguments(const CallArguments& arguments) {
  std::string text(CollectiveName(arguments.collective));
  if (!HasData(arguments.collective)) return text;
  if (Reduces(arguments.collective)) text.append(" ").append(ElementOpName(arguments.op));
  text.append(" ").append(ElementTypeName(arguments.type)).append(" count ").append(std::to_string(arguments.count));
  if (arguments.counts_hash != 0) {
    std::array<char, 16> hash{};
    snprintf(hash.data(), hash.size(), "%x", arguments.counts_hash);
    text.append(" counts #").append(hash.data());
  }
  if (HasRoot(arguments.collective)) text.append(" root ").append(std::to_string(arguments.root));
  if (Reduces(arguments.collective) && (arguments.options & kReproducible) != 0) text.append(" reproducible");
  if (HasPairSizes(arguments.collective) && (arguments.options & kPairsBounded) != 0) {
    text.append(" between two nodes at most");
  }
  return text;
}

uint16_t HashArguments(const CallArguments& arguments) {
  const CallArguments normal = Normalized(arguments);
  std::array<char, 20> bytes{};
  bytes[0] = static_cast<char>(normal.collective);
  bytes[1] = static_cast<char>(normal.type);
  bytes[2] = static_cast<char>(normal.op);
  for (int i = 0; i < 8; ++i) bytes[3 + i] = static_cast<char>(normal.count >> (8 * i));
  for (int i = 0; i < 4; ++i) bytes[11 + i] = static_cast<char>(normal.root >> (8 * i));
  bytes[15] = static_cast<char>(normal.options);
  for (int i = 0; i < 4; ++i) bytes[16 + i] = static_cast<char>(normal.counts_hash >> (8 * i));
  return Fold16(Fnv1a64(std::string_view(bytes.data(), bytes.size())));
}

}  // namespace copse
