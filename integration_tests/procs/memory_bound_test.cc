// SPDX-License-Identifier: Apache-2.0
//
// What a daemon holds has a bound that does not depend on the length of calls, nor on how many are in flight.
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collectives/call_arguments.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/expectations.h"
#include "integration_tests/scenarios/scenarios.h"
#include "protocol/control.h"

namespace copse::procs {
namespace {

using scenario::Step;
using schedule::Failure;

constexpr uint64_t kLimit = uint64_t{64} << 20;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// A process's own memory, without what it shares with clients: what it could let grow.
uint64_t OwnBytes(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; status >> word;) {
    uint64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes << 10;
  }
  ADD_FAILURE() << "no RssAnon of process " << pid;
  return 0;
}

class MemoryBoundTest : public ClusterFixture {
 protected:
  // The most that any daemon held while `calls` calls of 1 MiB a rank were in flight at once, for each collective.
  uint64_t PeakWith(const std::string& name, uint32_t calls) {
    constexpr Collective kLong[] = {Collective::kBcast,   Collective::kAllreduce,     Collective::kGather,
                                    Collective::kScatter, Collective::kAllgather,     Collective::kAlltoall,
                                    Collective::kGatherv, Collective::kReduceScatter, Collective::kScan};
    const scenario::Placement placement = {0, 1, 1, 2, 0, 2};
    const auto ranks = static_cast<uint32_t>(placement.size());
    std::vector<Step> steps;
    uint64_t seed = 1;
    for (const Collective collective : kLong) {
      for (uint32_t i = 0; i < calls; ++i) {
        Step step{.kind = scenario::StepKind::kPost, .seed = ++seed};
        step.arguments = {.collective = collective, .type = ElementType::kUint64, .op = ElementOp::kSum};
        const uint64_t block = kMiB / 8 / ranks;
        const bool blocks =
            collective != Collective::kBcast && collective != Collective::kAllreduce && collective != Collective::kScan;
        if (IsIrregular(collective)) {
          step.counts.assign(ranks, block);
        } else {
          step.arguments.count = blocks ? block : kMiB / 8;
        }
        steps.push_back(step);
      }
      steps.push_back(scenario::AwaitStep());
    }
    const uint32_t first = cluster_.Launch(scenario::TeamPrograms(name, placement, steps));
    uint64_t peak = 0;
    const absl::Time until = cluster_.Now() + absl::Minutes(5);
    for (uint32_t p = first; p < first + ranks && cluster_.Now() < until;) {
      if (cluster_.Outcomes(p).size() == steps.size() - std::size(kLong) + 2) ++p;
      cluster_.Pass(absl::Milliseconds(5));
      for (uint32_t node = 0; node < 3; ++node) peak = std::max(peak, OwnBytes(cluster_.DaemonPid(node)));
    }
    for (const auto& outcomes : scenario::AwaitAll(&cluster_, first, ranks)) {
      for (const scenario::Outcome& outcome : outcomes) scenario::ExpectOutcome(outcome, Failure::kNone, {}, name);
    }
    return peak;
  }
};

TEST_F(MemoryBoundTest, MoreCallsInFlightHoldNoMoreMemory) {
  ASSERT_TRUE(cluster_.Start({.nodes = 3, .memory_limit_bytes = kLimit}).ok());
  const uint64_t few = PeakWith("few", 1);
  const uint64_t many = PeakWith("many", 24);
  RecordProperty("few_bytes", absl::StrCat(few));
  RecordProperty("many_bytes", absl::StrCat(many));
  std::printf("own memory of the largest daemon: %.1f MiB with 1 call of 1 MiB a rank in flight, %.1f with 24\n",
              static_cast<double>(few) / kMiB, static_cast<double>(many) / kMiB);
  EXPECT_LT(many, kLimit);
  // 23 MiB more in flight at each of a node's ranks.
  EXPECT_LT(many, few + 8 * kMiB);
}

}  // namespace
}  // namespace copse::procs
