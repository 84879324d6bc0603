// SPDX-License-Identifier: Apache-2.0
//
// The possible outcomes of a program, given the faults that were made: how long it may take, and which failures they
// explain.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_ORACLE_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "integration_tests/campaign/case.h"

namespace copse::campaign {

// The result of one program.
struct Verdict {
  bool ended_well = false;  // every step succeeded
  uint64_t calls = 0;       // the team's calls posted before any rank received a failure
  std::vector<std::string> complaints;
};

// An Oracle knows the faults that were really made. `*c` and `*scale` must outlive it. Thread-compatible.
class Oracle {
 public:
  Oracle(const Case* c, const Scale* scale) : case_(c), scale_(scale) {}

  void Made(const Fault& fault) { made_.push_back(fault); }
  // Records that the fault lasted longer than planned, in a cluster that reacts slowly.
  void Lasted(FaultKind kind, absl::Duration time);

  // Returns the longest time from the job's launch to its end.
  absl::Duration Patience(const Job& job) const;
  // Judges `outcomes`, by rank; each rank's script must have ended or the rank was killed.
  Verdict Judge(const Job& job, const std::vector<std::vector<scenario::Outcome>>& outcomes) const;
  // Whether the planner may keep, for an hour, a team that no daemon has: a daemon that died had left it, and the
  // only planner that knew of it has lost its store.
  bool PlannerMayRemember() const { return WasMade(FaultKind::kDaemonCrash) && WasMade(FaultKind::kPlannerReplaced); }

 private:
  bool WasMade(FaultKind kind) const;
  bool InPath(const Fault& fault, const Job& job) const;
  bool IsTarget(const Job& job) const { return &job == &case_->target; }
  // Whether the faults together last long enough for neighbors to give the node up.
  bool MayBeLost(const Job& job) const;
  // Whether some fault explains the failure of `step` at `rank`.
  bool IsExplained(const Job& job, uint32_t rank, const scenario::Step& step, const scenario::Outcome& outcome) const;
  bool Explains(const Fault& fault, const Job& job, uint32_t rank, bool forms, const scenario::Outcome& outcome) const;

  const Case* const case_;
  const Scale* const scale_;
  std::vector<Fault> made_;
};

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_ORACLE_H_
