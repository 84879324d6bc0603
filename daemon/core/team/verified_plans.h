// SPDX-License-Identifier: Apache-2.0
//
// Decodes and verifies a team's plans, and prepares those of large teams for their first calls.
#ifndef COPSE_DAEMON_CORE_TEAM_VERIFIED_PLANS_H_
#define COPSE_DAEMON_CORE_TEAM_VERIFIED_PLANS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/shared.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/long_call.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::daemon {

// PortNeeds are what one call of any of the plans can need at a node.
struct PortNeeds {
  uint32_t counters_per_slot = 0;
  uint32_t sequences = 0;
  uint64_t cell_bytes = 0;
  bool blocks = false;  // a plan is for a collective whose data lies in blocks
};

// VerifiedPlans are the plans of one epoch at one node, each of which was verified. They are immutable, so threads may
// share them. For a team beyond kSmallMax nodes they have the indices that a first call needs, so that no call walks
// over all nodes; plans of equal trees share theirs. A smaller team's indices are made by PlanExpansions, for the plans
// that are used.
class VerifiedPlans {
 public:
  static constexpr uint32_t kSmallMax = 256;

  // Decodes and verifies plans for the team of `layout`. Errors: those of schedule::DecodePlan and VerifyPlans;
  // INVALID_ARGUMENT if `self` is not in the team.
  static absl::StatusOr<std::shared_ptr<const VerifiedPlans>> Verify(std::vector<std::string> encoded,
                                                                     const SharedLayout& layout, Incarnation self);
  // Takes plans that schedule::VerifyPlans has accepted for `shape`, of which they keep no reference.
  VerifiedPlans(std::vector<schedule::Plan> plans, const schedule::ShapeIndex& shape, NodeIndex self);

  const std::vector<schedule::Plan>& plans() const { return plans_; }
  const PortNeeds& needs() const { return needs_; }
  // Returns the plans as EncodePlan does.
  Shared<std::vector<std::string>> Encoded() const;
  // Return the index of plan number `place`, or null if it was not made.
  const schedule::TreeIndex* TreeOf(size_t place) const {
    return large_ == nullptr ? nullptr : large_->trees[place].get();
  }
  const PlanIndex* BlocksOf(size_t place) const { return large_ == nullptr ? nullptr : large_->blocks[place].get(); }

 private:
  // What is kept for large teams, by plan.
  struct Large {
    Shared<std::vector<std::string>> encoded;  // empty: not kept
    std::vector<std::shared_ptr<const schedule::TreeIndex>> trees;
    std::vector<std::unique_ptr<const PlanIndex>> blocks;  // null: not for blocks
  };

  void MakeIndices(const schedule::ShapeIndex& shape);

  const std::vector<schedule::Plan> plans_;
  PortNeeds needs_;
  std::unique_ptr<Large> large_;  // null in small teams
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_VERIFIED_PLANS_H_
