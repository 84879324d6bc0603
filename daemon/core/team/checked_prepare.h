// SPDX-License-Identifier: Apache-2.0
//
// Does the work of a Prepare that depends on the message alone, and is too long for the daemon's loop in large teams:
// it decodes and verifies plans, and makes indices.
#ifndef COPSE_DAEMON_CORE_TEAM_CHECKED_PREPARE_H_
#define COPSE_DAEMON_CORE_TEAM_CHECKED_PREPARE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/sub_team_tree.h"
#include "daemon/core/team/verified_plans.h"
#include "protocol/control.h"

namespace copse::daemon {

// A CheckedPrepare is a schedule::Prepare whose layout and plans were checked, with the errors that were found.
struct CheckedPrepare {
  schedule::TeamLayout head;  // without nodes and shape
  EpochId epoch{0};
  std::vector<std::pair<uint64_t, Rank>> requests;
  schedule::FailureReport last_failure;
  absl::StatusOr<SharedLayout> layout;
  absl::StatusOr<std::shared_ptr<const VerifiedPlans>> plans;  // an error if `layout` is one
  std::optional<TreePlace> tree;  // this node's place, if daemons form sub-teams of the team
};

// A PrepareChecker checks the Prepares of one stream, in their order. It remembers the layouts of teams that exist, to
// share what later ones have in common with them. Thread-compatible, and independent of the core, so that another
// thread can use it.
class PrepareChecker {
 public:
  // `self` is this daemon's incarnation.
  explicit PrepareChecker(Incarnation self) : self_(self) {}

  CheckedPrepare Check(schedule::Prepare message);

 private:
  void Remember(const SharedLayout& layout);
  // Returns null if no team with this id is known, or it is gone.
  SharedLayout Find(TeamId team) const;

  const Incarnation self_;
  std::map<TeamId, std::weak_ptr<const IndexedLayout>> layouts_;
  size_t forget_at_ = 64;  // number of layouts at which those that are gone are forgotten
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_CHECKED_PREPARE_H_
