// SPDX-License-Identifier: Apache-2.0
//
// Keeps the plans of sub-teams that were formed before, for later ones of the same nodes and ranks.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_KNOWN_SHAPES_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_KNOWN_SHAPES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/sub_team_tree.h"
#include "daemon/core/team/verified_plans.h"
#include "protocol/control.h"

namespace copse::daemon {

// Returns a hash of the plans, by which daemons compare theirs; never 0.
uint64_t HashOf(const VerifiedPlans& plans);

// KnownShapes keeps the layouts and verified plans of at most kMax sub-teams, those that were used last.
// Thread-compatible.
class KnownShapes {
 public:
  static constexpr size_t kMax = 64;
  static constexpr size_t kNodesMax = 512;  // larger sub-teams are not kept

  struct Known {
    SharedLayout layout;  // with the addresses that this node needs
    std::shared_ptr<const VerifiedPlans> plans;
    TreePlace tree;
    uint64_t hash = 0;  // of the plans; never 0
  };

  // Keeps the team's plans and this node's place in their tree, in place of earlier ones of an equal shape.
  void Add(const SharedLayout& layout, const std::shared_ptr<const VerifiedPlans>& plans, const TreePlace& tree);
  // Returns the last plans for these nodes, by node index, and this shape; null: there are none.
  const Known* Find(const std::vector<schedule::TeamNode>& nodes, const schedule::TeamShape& shape);
  size_t size() const { return known_.size(); }

 private:
  std::list<Known>::iterator Position(const std::vector<schedule::TeamNode>& nodes, const schedule::TeamShape& shape);

  std::list<Known> known_;  // the last used is first
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_KNOWN_SHAPES_H_
