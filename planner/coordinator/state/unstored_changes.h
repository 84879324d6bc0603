// SPDX-License-Identifier: Apache-2.0
//
// Numbers the coordinator's changes, and knows which of them are not stored.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_UNSTORED_CHANGES_H_
#define COPSE_PLANNER_COORDINATOR_STATE_UNSTORED_CHANGES_H_

#include <cstdint>
#include <map>

#include "base/ids.h"
#include "planner/coordinator/interfaces/store.h"

namespace copse::coordinator {

// Returns the team that a change concerns, or 0.
TeamId TeamOf(const StoreChange& change);

// UnstoredChanges numbers changes from 1, and has the newest one of each team and of the cluster (term, UUID, draining,
// aborted teams), so that a message about these knows which change it has to wait for. Thread-compatible.
class UnstoredChanges {
 public:
  // Returns the change's number.
  uint64_t Add(const StoreChange& change);
  // The change with this number is stored or withdrawn: its team's messages do not wait for it any more.
  void Remove(uint64_t number, const StoreChange& change);
  // All changes up to this one are stored or withdrawn.
  void SetStored(uint64_t number) { stored_ = number; }

  uint64_t last() const { return last_; }
  uint64_t last_of_cluster() const { return last_of_cluster_; }
  // Returns the team's newest change, or 0 if that is stored or withdrawn.
  uint64_t LastOf(TeamId team) const;
  bool IsStored(uint64_t number) const { return number <= stored_; }

 private:
  uint64_t last_ = 0;
  uint64_t stored_ = 0;
  uint64_t last_of_cluster_ = 0;
  std::map<TeamId, uint64_t> last_of_teams_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_UNSTORED_CHANGES_H_
