// SPDX-License-Identifier: Apache-2.0
//
// Placements, programs and calls for scenarios.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/prng.h"
#include "collectives/call_arguments.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "schedule/plan.h"
#include "schedule/testing/rank_data.h"

namespace copse::scenario {

namespace {

bool HasOutcome(const Step& step) {
  return step.kind != StepKind::kPause && step.kind != StepKind::kAwait && step.kind != StepKind::kDie;
}

// Bytes at which the handling of a message changes: a packet's payload, inline data, the class of short blocks, a
// segment, a few of them, a chunk, several.
constexpr uint64_t kThresholds[] = {16,    64,    120,   240,   1024,   schedule::kSegmentBytesMax,
                                    16384, 32768, 57344, 65536, 131072, 3 * schedule::kMessageBytesMax};

// Returns bytes up to `limit`: a threshold or one element less or more, few, any; rarely very many.
uint64_t RandomBytes(uint64_t limit, uint64_t unit, Prng* prng) {
  uint64_t bytes = 0;
  const uint64_t kind = prng->Below(100);
  if (kind < 8) {
    bytes = 0;
  } else if (kind < 50) {
    const uint64_t threshold = kThresholds[prng->Below(std::size(kThresholds))];
    bytes = threshold + unit * prng->Below(3) - std::min(unit, threshold);
  } else if (kind < 75) {
    bytes = unit * prng->Below(64);
  } else if (kind < 98) {
    bytes = uint64_t{1} << prng->Below(17);
    bytes += prng->Below(bytes);
  } else {
    bytes = schedule::kMessageBytesMax << prng->Below(8);
    bytes = prng->Chance(0.2) ? limit : bytes + prng->Below(bytes);
  }
  return std::min(bytes, limit);
}

// Returns the elements of `blocks` blocks: equal, one heavy, mostly empty, any, falling; their sum is `total` or a
// little less.
std::vector<uint64_t> RandomCounts(uint64_t blocks, uint64_t total, Prng* prng) {
  std::vector<uint64_t> counts(blocks, 0);
  const uint64_t each = total / blocks;
  const uint64_t pattern = prng->Below(5);
  for (uint64_t i = 0; i < blocks; ++i) {
    if (pattern == 0) counts[i] = each;
    if (pattern == 1) counts[i] = each / 64;
    if (pattern == 2) counts[i] = prng->Chance(0.2) ? prng->Below(each + 1) : 0;
    if (pattern == 3) counts[i] = prng->Below(each + 1);
    if (pattern == 4) counts[i] = each - each * i / blocks;
  }
  if (pattern == 1) counts[prng->Below(blocks)] = total - each / 64 * (blocks - 1);
  return counts;
}

}  // namespace

Placement UnevenPlacement(uint32_t ranks, uint32_t nodes, uint64_t seed) {
  Prng prng(seed);
  Placement placement;
  for (uint32_t r = 0; r < ranks; ++r) placement.push_back(r < nodes ? r : static_cast<uint32_t>(prng.Below(nodes)));
  for (uint32_t r = ranks; r > 1; --r) std::swap(placement[r - 1], placement[prng.Below(r)]);
  return placement;
}

std::vector<Program> TeamPrograms(const std::string& name, const Placement& placement,
                                  const std::vector<CallArguments>& calls, uint64_t seed) {
  std::vector<Program> programs;
  const auto size = static_cast<uint32_t>(placement.size());
  for (uint32_t rank = 0; rank < size; ++rank) {
    Script script = {TeamStep(0, name, rank, size)};
    for (size_t i = 0; i < calls.size(); ++i) script.push_back(CallStep(0, calls[i], seed + i));
    script.push_back(DestroyStep(0));
    programs.push_back({placement[rank], std::move(script)});
  }
  return programs;
}

std::vector<Program> TeamPrograms(const std::string& name, const Placement& placement, const std::vector<Step>& calls) {
  std::vector<Program> programs;
  const auto size = static_cast<uint32_t>(placement.size());
  for (uint32_t rank = 0; rank < size; ++rank) {
    Script script = {TeamStep(0, name, rank, size)};
    script.insert(script.end(), calls.begin(), calls.end());
    script.push_back(DestroyStep(0));
    programs.push_back({placement[rank], std::move(script)});
  }
  return programs;
}

void ExpectAllSucceed(Cluster* cluster, const std::vector<Program>& programs, absl::Duration timeout) {
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t p = 0; p < programs.size(); ++p) {
    const absl::Status ended = cluster->AwaitEnd(first + p, timeout);
    EXPECT_TRUE(ended.ok()) << ended;
    const std::vector<Outcome> outcomes = cluster->Outcomes(first + p);
    size_t expected = 0;
    for (const Step& step : programs[p].script) {
      expected += HasOutcome(step);
    }
    EXPECT_EQ(outcomes.size(), expected) << "process " << p;
    for (size_t i = 0, step = 0; i < outcomes.size(); ++i, ++step) {
      while (step < programs[p].script.size() && !HasOutcome(programs[p].script[step])) ++step;
      const std::string what =
          absl::StrCat("process ", p, " outcome ", i, ": ",
                       step < programs[p].script.size() ? DescribeStep(programs[p].script[step]) : "");
      EXPECT_EQ(outcomes[i].failure, schedule::Failure::kNone) << what << ": " << outcomes[i].text;
      EXPECT_TRUE(outcomes[i].data_ok) << what;
      if (::testing::Test::HasFailure()) return;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

std::vector<CallArguments> EveryCall(uint32_t ranks, const std::vector<uint64_t>& counts) {
  std::vector<CallArguments> calls;
  const auto add = [&](CallArguments call) {
    for (call.root = 0; call.root < (HasRoot(call.collective) ? ranks : 1); ++call.root) calls.push_back(call);
  };
  for (int c = 0; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (IsIrregular(collective)) continue;
    if (!HasData(collective)) add({.collective = collective});
    for (const uint64_t count : HasData(collective) ? counts : std::vector<uint64_t>()) {
      for (int t = 0; t < kElementTypeCount; ++t) {
        const auto type = static_cast<ElementType>(t);
        if (!Reduces(collective)) add({.collective = collective, .type = type, .count = count});
        for (int o = 0; Reduces(collective) && o < kElementOpCount; ++o) {
          const auto op = static_cast<ElementOp>(o);
          if (IsDefined(op, type)) add({.collective = collective, .type = type, .op = op, .count = count});
        }
      }
    }
  }
  return calls;
}

CallArguments RandomCall(uint32_t ranks, uint64_t seed) {
  Prng prng(seed);
  CallArguments call;
  call.collective = static_cast<Collective>(prng.Below(kCommonCollectiveCount));
  call.type = static_cast<ElementType>(prng.Below(kElementTypeCount));
  do {
    call.op = static_cast<ElementOp>(prng.Below(kElementOpCount));
  } while (!IsDefined(call.op, call.type));
  call.root = static_cast<uint32_t>(prng.Below(ranks));
  // Sizes are around the edges of a packet, of a segment and of the whole, or anything else.
  const uint64_t limit = schedule::kMessageBytesMax / ElementBytes(call.type);
  const uint64_t edges[] = {0, 1, 6, 15, 16, 120 / ElementBytes(call.type), 121, 1024, 1025, limit - 1, limit};
  call.count = prng.Chance(0.6) ? edges[prng.Below(std::size(edges))] : prng.Below(prng.Chance(0.5) ? 64 : limit + 1);
  call.count = std::min(call.count, limit);
  // A few calls have several chunks.
  if (prng.Chance(0.05)) call.count = limit + prng.Below(4 * limit);
  return call;
}

Step RandomStep(uint32_t ranks, uint64_t bytes_max, uint64_t seed) {
  Prng prng(seed);
  Step step{.kind = StepKind::kCall, .seed = seed};
  CallArguments& call = step.arguments;
  call.collective = static_cast<Collective>(prng.Below(kCollectiveCount));
  call.type = static_cast<ElementType>(prng.Below(kElementTypeCount));
  do {
    call.op = static_cast<ElementOp>(prng.Below(kElementOpCount));
  } while (!IsDefined(call.op, call.type));
  if (HasRoot(call.collective)) call.root = static_cast<uint32_t>(prng.Below(ranks));
  const bool tells_all = call.collective == Collective::kGatherv || call.collective == Collective::kScatterv;
  if (tells_all && prng.Chance(0.4)) call.options = kCountsKnown;
  step.in_place = prng.Chance(0.3);
  step.displaced = prng.Chance(0.6);
  const uint64_t unit = ElementBytes(call.type);
  const bool blocks = HoldsBlocks(call.collective);
  // The size is that of a block, or of all blocks together.
  uint64_t each = RandomBytes(bytes_max / (blocks ? ranks : 1), unit, &prng);
  if (blocks && prng.Chance(0.5)) each = RandomBytes(bytes_max, unit, &prng) / ranks;
  if (IsIrregular(call.collective)) {
    const bool pairs = call.collective == Collective::kAlltoallv;
    const uint64_t number = pairs ? uint64_t{ranks} * ranks : ranks;
    step.counts = RandomCounts(number, number * each / unit, &prng);
    if (pairs && seed % 2 == 0) {
      call.options = kPairsBounded;
      call.count = std::accumulate(step.counts.begin(), step.counts.end(), uint64_t{0});
    }
  } else if (call.collective != Collective::kBarrier) {
    call.count = each / unit;
  }
  if (Reduces(call.collective) && prng.Chance(0.2)) call.options = kReproducible;
  return step;
}

std::string DescribeStep(const Step& step) {
  if (step.kind != StepKind::kCall && step.kind != StepKind::kPost) return absl::StrCat("team ", step.team);
  std::string text = DescribeArguments(ArgumentsOf(WholeCallOf(step)));
  if (!step.counts.empty()) absl::StrAppend(&text, ", counts ", absl::StrJoin(step.counts, " "));
  if (step.in_place) absl::StrAppend(&text, ", in place");
  if (step.displaced) absl::StrAppend(&text, ", displaced");
  return absl::StrCat(text, ", seed ", step.seed);
}

}  // namespace copse::scenario
