// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/block_data.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/prng.h"

namespace copse::sim {
namespace {

// Makes one list of lengths in bytes, by rank.
absl::StatusOr<std::vector<uint64_t>> Counts(const std::string& name, uint32_t ranks, uint64_t bytes, uint64_t unit,
                                             Prng* prng) {
  const uint64_t each = bytes / unit;
  std::vector<uint64_t> counts(ranks, each);
  if (name == "heavy") {
    const uint64_t all = each * ranks;
    std::fill(counts.begin(), counts.end(), ranks > 1 ? all / 2 / (ranks - 1) : 0);
    counts[ranks / 2] = all - (ranks - 1) * counts[0];
  } else if (name == "random") {
    for (uint64_t& count : counts) count = prng->Below(2 * each + 1);
  } else if (name == "sparse") {
    for (uint32_t r = 0; r < ranks; ++r) counts[r] = r % 16 == 0 ? 16 * each : 0;
  } else if (name != "equal") {
    return absl::InvalidArgumentError(
        absl::StrCat("counts: unknown (value=", name, ", known=equal heavy random sparse)"));
  }
  for (uint64_t& count : counts) count *= unit;
  return counts;
}

// Returns element `i` of the block from `from` to `to`.
uint64_t Element(uint64_t seed, uint64_t from, uint64_t to, uint64_t i) {
  return Mix64(((seed * 0x9e3779b97f4a7c15 + from) * 0xff51afd7ed558ccd + to) * 0xc4ceb9fe1a85ec53 + i);
}
// Returns element `i` of a rank's operand of a reduction. It is linear in the rank, so that the sum over the first
// ranks has a closed formula.
uint64_t Operand(uint64_t seed, uint64_t rank, uint64_t i) { return Mix64(seed + i) * rank + Mix64(~(seed + i)); }
uint64_t SumOfFirst(uint64_t seed, uint64_t ranks, uint64_t i) {
  const uint64_t sum = ranks % 2 == 0 ? ranks / 2 * (ranks - 1) : (ranks - 1) / 2 * ranks;
  return Mix64(seed + i) * sum + Mix64(~(seed + i)) * ranks;
}

void Put(uint64_t value, uint64_t unit, uint8_t* to) { std::memcpy(to, &value, unit); }  // low bytes first

uint64_t UnitOf(const schedule::BlockProgram& program) { return ElementBytes(program.arguments().type); }

bool IsReduction(const schedule::BlockProgram& program) { return Reduces(program.arguments().collective); }

// Counts the elements before the rank's block in a reduce_scatter's message.
uint64_t ElementsBefore(const schedule::BlockProgram& program, uint32_t rank) {
  uint64_t bytes = 0;
  for (uint32_t r = 0; r < rank; ++r) bytes += program.BlockBytes(r, r);
  return bytes / UnitOf(program);
}

}  // namespace

absl::StatusOr<schedule::BlockCounts> MakeBlockCounts(const std::string& name, Collective collective, uint32_t ranks,
                                                      uint64_t bytes, uint64_t unit, uint64_t seed) {
  Prng prng(seed);
  schedule::BlockCounts counts;
  absl::StatusOr<std::vector<uint64_t>> first = Counts(name, ranks, bytes, unit, &prng);
  if (!first.ok()) return first.status();
  if (!IsIrregular(collective)) return counts;
  if (!HasPairSizes(collective)) {
    counts.by_rank = *std::move(first);
    return counts;
  }
  counts.by_pair.reserve(uint64_t{ranks} * ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    absl::StatusOr<std::vector<uint64_t>> row = Counts(name, ranks, bytes, unit, &prng);
    std::rotate(row->begin(), row->begin() + r, row->end());
    counts.by_pair.insert(counts.by_pair.end(), row->begin(), row->end());
  }
  return counts;
}

CallArguments WithCounts(const CallArguments& arguments, const schedule::BlockCounts& counts) {
  CallArguments result = arguments;
  const Collective c = arguments.collective;
  if (!IsIrregular(c)) return result;
  const bool all_know = CountsAllBlocks(c);
  const uint64_t sum = std::accumulate(counts.by_rank.begin(), counts.by_rank.end(), uint64_t{0});
  result.count = all_know ? sum / ElementBytes(arguments.type) : 0;
  const bool hashed = all_know || (!HasPairSizes(c) && (arguments.options & kCountsKnown) != 0);
  if (hashed) result.counts_hash = HashCounts(counts.by_rank);
  return result;
}

std::vector<uint8_t> BlockContribution(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed) {
  std::vector<uint8_t> bytes(program.SendBytes(rank));
  const uint64_t unit = UnitOf(program);
  if (IsReduction(program)) {
    for (uint64_t i = 0; i < bytes.size() / unit; ++i) Put(Operand(seed, rank, i), unit, bytes.data() + i * unit);
    return bytes;
  }
  const bool one = TraitsOf(program.arguments().collective).send == BufferKind::kOne;
  uint8_t* at = bytes.data();
  for (uint32_t to = 0; at < bytes.data() + bytes.size(); ++to) {
    const uint64_t count = program.BlockBytes(rank, one ? rank : to) / unit;
    for (uint64_t i = 0; i < count; ++i, at += unit) Put(Element(seed, rank, one ? 0 : to, i), unit, at);
  }
  return bytes;
}

absl::Status CheckBlocks(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed,
                         absl::Span<const uint8_t> received) {
  const uint64_t unit = UnitOf(program);
  const uint64_t mask = unit == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * unit) - 1;
  const Collective c = program.arguments().collective;
  const uint32_t size = program.shape().size();
  uint64_t at = 0;
  const auto check = [&](uint64_t expected) -> absl::Status {
    uint64_t value = 0;
    std::memcpy(&value, received.data() + at, unit);
    at += unit;
    if (value == (expected & mask)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("rank ", rank, ": wrong data (byte=", at - unit, ", value=", value,
                                            ", expected=", expected & mask, ")"));
  };
  if (IsReduction(program)) {
    const uint64_t begin = HoldsBlocks(c) ? ElementsBefore(program, rank) : 0;
    const uint32_t ranks = OperandCount(c, rank, size);
    if (ranks == 0) return absl::OkStatus();  // the first rank of an exscan receives nothing
    for (uint64_t i = begin; at < received.size(); ++i) {
      if (absl::Status same = check(SumOfFirst(seed, ranks, i)); !same.ok()) return same;
    }
    return absl::OkStatus();
  }
  const bool one = TraitsOf(c).send == BufferKind::kOne;
  for (uint32_t index = 0; at < received.size(); ++index) {
    const uint32_t from = SourceOf(c, index, rank, size, program.arguments().root);
    const uint64_t count = program.BlockBytes(from, rank) / unit;
    for (uint64_t i = 0; i < count; ++i) {
      if (absl::Status same = check(Element(seed, from, one ? 0 : rank, i)); !same.ok()) return same;
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::sim
