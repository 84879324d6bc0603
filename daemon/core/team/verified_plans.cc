// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/verified_plans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "collectives/collective.h"
#include "schedule/lower.h"
#include "schedule/verify.h"

namespace copse::daemon {
namespace {

using schedule::Plan;

PortNeeds NeedsOf(const std::vector<Plan>& plans, uint32_t local_ranks, uint32_t ranks) {
  PortNeeds needs;
  for (const Plan& plan : plans) {
    needs.blocks |= HasBlocks(plan.collective);
    needs.counters_per_slot = std::max(needs.counters_per_slot, schedule::CountersPerSlot(plan, local_ranks));
    needs.sequences = std::max(needs.sequences, schedule::SequencesPerCall(plan, local_ranks, ranks));
    if (plan.collective == Collective::kAlltoall) {
      needs.sequences = std::max(needs.sequences, schedule::SequencesPerFold(plan, local_ranks, ranks));
    }
    needs.cell_bytes = std::max(needs.cell_bytes, schedule::CellBytes(plan));
  }
  return needs;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const VerifiedPlans>> VerifiedPlans::Verify(std::vector<std::string> encoded,
                                                                           const SharedLayout& layout,
                                                                           Incarnation self) {
  const std::optional<NodeIndex> index = layout->NodeOf(self);
  if (!index) return absl::InvalidArgumentError("team layout does not name this daemon");
  std::vector<Plan> plans;
  plans.reserve(encoded.size());
  for (const std::string& bytes : encoded) {
    ASSIGN_OR_RETURN(plans.emplace_back(), schedule::DecodePlan(bytes));
  }
  RETURN_IF_ERROR(schedule::VerifyPlans(plans, layout->layout().shape));
  auto verified = std::make_shared<VerifiedPlans>(std::move(plans), layout->shape(), *index);
  if (verified->large_ != nullptr) verified->large_->encoded = std::move(encoded);
  return verified;
}

VerifiedPlans::VerifiedPlans(std::vector<Plan> plans, const schedule::ShapeIndex& shape, NodeIndex self)
    : plans_(std::move(plans)),
      needs_(NeedsOf(plans_, static_cast<uint32_t>(shape.RanksOf(self).size()), shape.size())) {
  if (shape.node_count() > kSmallMax) MakeIndices(shape);
}

void VerifiedPlans::MakeIndices(const schedule::ShapeIndex& shape) {
  large_ = std::make_unique<Large>();
  large_->trees.resize(plans_.size());
  large_->blocks.resize(plans_.size());
  for (size_t i = 0; i < plans_.size(); ++i) {
    const Plan& plan = plans_[i];
    const auto alike = std::find_if(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Plan& before) { return schedule::HaveSameTree(before, plan); });
    const auto place = static_cast<size_t>(alike - plans_.begin());
    large_->trees[i] = place < i ? large_->trees[place] : std::make_shared<const schedule::TreeIndex>(plan);
    if (HasBlocks(plan.collective)) large_->blocks[i] = std::make_unique<const PlanIndex>(shape, plan);
  }
}

Shared<std::vector<std::string>> VerifiedPlans::Encoded() const {
  if (large_ != nullptr && !large_->encoded->empty()) return large_->encoded;
  std::vector<std::string> encoded;
  encoded.reserve(plans_.size());
  for (const Plan& plan : plans_) encoded.push_back(schedule::EncodePlan(plan));
  return encoded;
}

}  // namespace copse::daemon
