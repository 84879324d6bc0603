// SPDX-License-Identifier: Apache-2.0
#include "schedule/collective.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/collective_names.h"
#include "base/hash.h"
#include "base/string_view.h"

namespace copse::schedule {
namespace {

static_assert(std::size(kCollectiveNames) == kCollectiveCount);

// The arguments with every field zeroed that the collective does not look at, so that equality and hash agree.
CallArguments Normalized(const CallArguments& arguments) {
  CallArguments normal{.collective = arguments.collective};
  if (arguments.collective == Collective::kBarrier) return normal;
  normal.type = arguments.type;
  normal.count = arguments.count;
  normal.options = arguments.options;
  normal.counts_hash = arguments.counts_hash;
  if (HasRoot(arguments.collective)) normal.root = arguments.root;
  if (Reduces(arguments.collective)) normal.op = arguments.op;
  return normal;
}

}  // namespace

std::string_view CollectiveName(Collective collective) {
  const auto index = static_cast<size_t>(collective);
  return index < std::size(kCollectiveNames) ? kCollectiveNames[index] : "unknown";
}

std::optional<Collective> CollectiveFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kCollectiveNames); ++i) {
    if (kCollectiveNames[i] == name) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

std::string_view FamilyName(Family family) {
  constexpr std::string_view kNames[kFamilyCount] = {"common", "rooted", "spread", "alltoall"};
  return static_cast<int>(family) < kFamilyCount ? kNames[static_cast<int>(family)] : "unknown";
}

Family FamilyOf(Collective collective) {
  const Collective with_plans = PlanCollective(collective);
  for (int f = 0; f < kFamilyCount; ++f) {
    const absl::Span<const Collective> members = CollectivesOf(static_cast<Family>(f));
    if (std::find(members.begin(), members.end(), with_plans) != members.end()) return static_cast<Family>(f);
  }
  return Family::kCommon;
}

absl::Span<const Collective> CollectivesOf(Family family) {
  static constexpr Collective kCommon[] = {Collective::kBarrier, Collective::kBcast, Collective::kReduce,
                                           Collective::kAllreduce};
  static constexpr Collective kRooted[] = {Collective::kGather, Collective::kScatter};
  static constexpr Collective kSpread[] = {Collective::kAllgather, Collective::kReduceScatter, Collective::kScan,
                                           Collective::kExscan};
  static constexpr Collective kAlltoall[] = {Collective::kAlltoall};
  switch (family) {
    case Family::kCommon:
      return kCommon;
    case Family::kRooted:
      return kRooted;
    case Family::kSpread:
      return kSpread;
    case Family::kAlltoall:
      return kAlltoall;
  }
  return {};
}

uint32_t HashCounts(absl::Span<const uint64_t> bytes) {
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
  std::string text = absl::StrCat(AbslView(CollectiveName(arguments.collective)));
  if (arguments.collective == Collective::kBarrier) return text;
  if (Reduces(arguments.collective)) absl::StrAppend(&text, " ", AbslView(emu::AluOpName(arguments.op)));
  absl::StrAppend(&text, " ", AbslView(emu::AluTypeName(arguments.type)), " count ", arguments.count);
  if (arguments.counts_hash != 0) absl::StrAppend(&text, " counts #", absl::Hex(arguments.counts_hash));
  if (HasRoot(arguments.collective)) absl::StrAppend(&text, " root ", arguments.root);
  if (Reduces(arguments.collective) && (arguments.options & kReproducible) != 0)
    absl::StrAppend(&text, " reproducible");
  if (arguments.collective == Collective::kAlltoallv && (arguments.options & kPairsBounded) != 0)
    absl::StrAppend(&text, " between two nodes at most");
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

}  // namespace copse::schedule
