// SPDX-License-Identifier: Apache-2.0
//
// What may come of a program, given the faults that were made: how long it may take, and which failures they explain.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_ORACLE_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "integration_tests/campaign/case.h"

namespace copse::campaign {

// What became of one program.
struct Verdict {
  bool ended_well = false;  // every step succeeded
  uint64_t calls = 0;       // of the team, posted before any rank was told of a failure
  std::vector<std::string> complaints;
};

// An Oracle knows the faults that were really made. `*c` and `*scale` outlive it. Thread-compatible.
class Oracle {
 public:
  Oracle(const Case* c, const Scale* scale) : case_(c), scale_(scale) {}

  void Made(const Fault& fault) { made_.push_back(fault); }
  // It has lasted longer than it was to: a cluster that is slow to obey.
  void Lasted(FaultKind kind, absl::Duration time);

  // From its launch to its end, at most.
  absl::Duration Patience(const Job& job) const;
  // `outcomes` by rank, each of a script that ended or was killed.
  Verdict Judge(const Job& job, const std::vector<std::vector<scenario::Outcome>>& outcomes) const;
  // Whether the planner may know of a team that nobody has, for an hour: a daemon that died had left it, which only a
  // planner knew that has lost its store.
  bool PlannerMayRemember() const { return WasMade(FaultKind::kDaemonCrash) && WasMade(FaultKind::kPlannerReplaced); }

 private:
  bool WasMade(FaultKind kind) const;
  bool InPath(const Fault& fault, const Job& job) const;
  bool IsTarget(const Job& job) const { return &job == &case_->target; }
  // Together long enough for neighbors to give the node up.
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
