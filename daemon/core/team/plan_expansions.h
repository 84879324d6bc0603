// SPDX-License-Identifier: Apache-2.0
//
// Keeps the plans of one epoch at one node, and the sequences that they expand to.
#ifndef COPSE_DAEMON_CORE_TEAM_PLAN_EXPANSIONS_H_
#define COPSE_DAEMON_CORE_TEAM_PLAN_EXPANSIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/team/long_call.h"
#include "daemon/core/team/verified_plans.h"
#include "protocol/control.h"
#include "schedule/expand.h"
#include "schedule/lower.h"
#include "schedule/plan.h"

namespace copse::daemon {

// PlanExpansions caches what a plan's first call computes, for later calls. An idle epoch of a small team has memory
// only for its plans. Thread-compatible; `*shape` must outlive it.
class PlanExpansions {
 public:
  // Limits the roots for which a plan's expansions are kept. A program that rotates the root through a larger team
  // recomputes them.
  static constexpr size_t kExpansionsMax = 64;

  PlanExpansions(const schedule::ShapeIndex* shape, NodeIndex self, std::shared_ptr<const VerifiedPlans> plans);

  const std::vector<schedule::Plan>& plans() const { return verified_->plans(); }
  const std::shared_ptr<const VerifiedPlans>& verified() const { return verified_; }
  // Returns the plan that a call uses; null if no plan is for its collective and size.
  const schedule::Plan* PlanFor(const CallArguments& arguments) const;
  // Returns the plan's index, which a small team makes at the first call. `plan` must be one of plans().
  const PlanIndex& IndexOf(const schedule::Plan& plan);
  // Returns the node's sequences for all segments of a call, or of its chunk number `chunk`, as LowerNode takes them.
  // They are valid until the next SequencesOf of any PlanExpansions on this thread. `plan` must be one of plans().
  // Errors are those of schedule::Expand.
  absl::StatusOr<schedule::Sequences> SequencesOf(const schedule::Plan& plan, const CallArguments& arguments,
                                                  uint64_t chunk);
  // Counts a call that begins by the plan, which must be one of plans().
  void CountCall(const schedule::Plan& plan) { ++PreparedOf(plan).calls; }
  // Appends the counts of the plans that calls have used.
  void AppendCalls(std::vector<schedule::PlanCalls>* counts) const;

 private:
  struct PreparedPlan {
    const schedule::TreeIndex* index = nullptr;
    const PlanIndex* blocks = nullptr;  // null before the first block collective
    // Small teams own their indices here.
    std::unique_ptr<const schedule::TreeIndex> own_index;
    std::unique_ptr<const PlanIndex> own_blocks;
    // It holds expansions by root, or by rotation for collectives without a root.
    std::map<uint32_t, std::unique_ptr<schedule::NodeSequence>> by_root;
    uint64_t calls = 0;
  };

  // Returns the plan's place in plans().
  size_t PlaceOf(const schedule::Plan& plan) const;
  PreparedPlan& PreparedOf(const schedule::Plan& plan);
  // Returns the cached expansion, after making it if necessary. `rotation` is that of schedule::ViewOf.
  absl::StatusOr<const schedule::NodeSequence*> Expand(const schedule::Plan& plan, const CallArguments& arguments,
                                                       uint32_t rotation);

  const schedule::ShapeIndex* const shape_;
  const NodeIndex self_;
  const std::shared_ptr<const VerifiedPlans> verified_;
  std::vector<std::unique_ptr<PreparedPlan>> prepared_;  // parallel to plans(); null before the first call
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_PLAN_EXPANSIONS_H_
