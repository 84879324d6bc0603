// SPDX-License-Identifier: Apache-2.0
//
// Placements, programs and calls that scenarios are made of.
#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::scenario {

using schedule::CallArguments;
using schedule::Collective;

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

void ExpectAllSucceed(Cluster* cluster, const std::vector<Program>& programs, absl::Duration timeout) {
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t p = 0; p < programs.size(); ++p) {
    const absl::Status ended = cluster->AwaitEnd(first + p, timeout);
    EXPECT_TRUE(ended.ok()) << ended;
    const std::vector<Outcome> outcomes = cluster->Outcomes(first + p);
    size_t expected = 0;
    for (const Step& step : programs[p].script) {
      expected += step.kind != StepKind::kPause && step.kind != StepKind::kAwait && step.kind != StepKind::kDie;
    }
    EXPECT_EQ(outcomes.size(), expected) << "process " << p;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(outcomes[i].failure, schedule::Failure::kNone)
          << "process " << p << " outcome " << i << ": " << outcomes[i].text;
      EXPECT_TRUE(outcomes[i].data_ok) << "process " << p << " outcome " << i;
      if (testing::Test::HasFailure()) return;
    }
    if (testing::Test::HasFailure()) return;
  }
}

std::vector<CallArguments> EveryCall(uint32_t ranks, const std::vector<uint64_t>& counts) {
  std::vector<CallArguments> calls = {{.collective = Collective::kBarrier}};
  for (const uint64_t count : counts) {
    for (int t = 0; t < emu::kAluTypeCount; ++t) {
      const auto type = static_cast<emu::AluType>(t);
      for (uint32_t root = 0; root < ranks; ++root) {
        calls.push_back({.collective = Collective::kBcast, .type = type, .count = count, .root = root});
      }
      for (int o = 0; o < emu::kAluOpCount; ++o) {
        const auto op = static_cast<emu::AluOp>(o);
        if (!emu::AluSupports(op, type)) continue;
        calls.push_back({.collective = Collective::kAllreduce, .type = type, .op = op, .count = count});
        for (uint32_t root = 0; root < ranks; ++root) {
          calls.push_back({.collective = Collective::kReduce, .type = type, .op = op, .count = count, .root = root});
        }
      }
    }
  }
  return calls;
}

CallArguments RandomCall(uint32_t ranks, uint64_t seed) {
  Prng prng(seed);
  CallArguments call;
  call.collective = static_cast<Collective>(prng.Below(schedule::kCommonCollectiveCount));
  call.type = static_cast<emu::AluType>(prng.Below(emu::kAluTypeCount));
  do {
    call.op = static_cast<emu::AluOp>(prng.Below(emu::kAluOpCount));
  } while (!emu::AluSupports(call.op, call.type));
  call.root = static_cast<uint32_t>(prng.Below(ranks));
  // Sizes around the edges of a packet, of a segment and of the whole, and anything else.
  const uint64_t limit = schedule::kMessageBytesMax / emu::AluTypeBytes(call.type);
  const uint64_t edges[] = {0, 1, 6, 15, 16, 120 / emu::AluTypeBytes(call.type), 121, 1024, 1025, limit - 1, limit};
  call.count = prng.Chance(0.6) ? edges[prng.Below(std::size(edges))] : prng.Below(prng.Chance(0.5) ? 64 : limit + 1);
  call.count = std::min(call.count, limit);
  // Now and then one of several chunks.
  if (prng.Chance(0.05)) call.count = limit + prng.Below(4 * limit);
  return call;
}

}  // namespace copse::scenario
