// SPDX-License-Identifier: Apache-2.0
//
// A case of a campaign: a cluster, the programs that run on it, and their faults; all determined by a seed.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_CASE_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "integration_tests/campaign/faults.h"
#include "integration_tests/scenarios/scenarios.h"
#include "testbed/script/cluster.h"

namespace copse::campaign {

// The differences between simulated clusters, whose time costs nothing, and real ones.
struct Scale {
  bool real = false;
  uint32_t ranks_max = 16;
  uint32_t nodes_max = 12;
  uint64_t bytes_max = 1 << 16;   // bound of a call's buffers
  uint64_t long_bytes = 2 << 20;  // length of a long call
  absl::Duration node_timeout = absl::Seconds(10);
  absl::Duration grace = absl::Seconds(5);  // longest run of a program without faults, without its pauses
};
Scale SimulatedScale();
Scale RealScale();

// A program on several nodes: a team, calls, maybe a sub-team, and the team's end.
struct Job {
  std::string name;  // of its team
  scenario::Placement placement;
  std::vector<scenario::Program> programs;  // by rank
  // The rank that computes while others wait for it in a call; `observer` is another one, which has
  // `outcomes_before` outcomes before that call.
  uint32_t holder = 0;
  uint32_t observer = 0;
  size_t outcomes_before = 0;
  absl::Duration pauses;       // total of its slowest rank
  bool needs_planner = false;  // it forms sub-teams, or makes calls whose plans are made on first use
};

struct Case {
  uint64_t seed = 0;
  State state = State::kForming;
  scenario::ClusterOptions options;
  bool disturbed = false;   // the data network is disturbed all the time
  std::vector<Job> before;  // jobs that run when the fault comes
  Job target;               // the job in that state
  Job newcomer;             // kPlannerReplaced: runs before the fault's nodes come back; may be empty
  Job after;                // runs after all faults are over
  uint32_t drained = 0;     // kDraining
  std::vector<Fault> faults;
  absl::Duration moment_max;  // from the state to the first fault
};

// Makes a case. Kinds and states take turns from seed to seed, so that all combinations are equally frequent; the
// rest is random.
Case MakeCase(uint64_t seed, const Scale& scale);
// Returns "seed 17: data-cut n3 after 3ms for 12s, in short-call of 5 ranks on 3 nodes".
std::string Describe(const Case& c);

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_CASE_H_
