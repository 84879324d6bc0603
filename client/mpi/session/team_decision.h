// SPDX-License-Identifier: Apache-2.0
//
// Decides after how many calls a communicator gets a team.
#ifndef COPSE_CLIENT_MPI_SESSION_TEAM_DECISION_H_
#define COPSE_CLIENT_MPI_SESSION_TEAM_DECISION_H_

#include <cstdint>

namespace copse::mpi {

// A TeamDecision counts a communicator's calls, which is the same on all its ranks. At some calls it is time to look at
// whether a team is worth its cost; the owner then calls Postpone if it is not, and OnNoTeam if a team could not be
// formed. Thread-compatible.
class TeamDecision {
 public:
  // Counts a call, until the communicator has a team and is_final(). Returns whether it is time to look; never without
  // `may_wait`. The first look is after `first_look` calls, which makes the decision, unless `weighs` what calls cost.
  bool Count(uint64_t first_look, bool weighs, bool may_wait);
  // Returns whether the number of calls at which there is a team is the same in every run, so that this team may make
  // reductions whose result depends on the order of operands.
  bool is_final() const { return is_final_; }

  void Postpone();
  void OnNoTeam();
  // Returns whether forming a team has failed.
  bool has_failed() const { return has_failed_; }

  // Adds what a call without a team has cost.
  void AddCost(uint64_t nanoseconds) { cost_ns_ += nanoseconds; }
  uint64_t cost_ns() const { return cost_ns_; }

 private:
  uint64_t calls_ = 0;
  uint64_t look_at_ = 0;  // number of calls after which it is time to look
  uint64_t cost_ns_ = 0;
  bool is_final_ = false;
  bool has_failed_ = false;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_TEAM_DECISION_H_
