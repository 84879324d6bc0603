// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/plan_expansions.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "schedule/select_plan.h"

namespace copse::daemon {

PlanExpansions::PlanExpansions(const schedule::ShapeIndex* shape, NodeIndex self,
                               std::shared_ptr<const VerifiedPlans> plans)
    : shape_(shape), self_(self), verified_(std::move(plans)), prepared_(verified_->plans().size()) {}

const schedule::Plan* PlanExpansions::PlanFor(const CallArguments& arguments) const {
  return schedule::PlanFor(plans(), arguments, shape_->size());
}

size_t PlanExpansions::PlaceOf(const schedule::Plan& plan) const {
  const auto place = static_cast<size_t>(&plan - plans().data());
  DCHECK(place < plans().size());
  return place;
}

PlanExpansions::PreparedPlan& PlanExpansions::PreparedOf(const schedule::Plan& plan) {
  const size_t place = PlaceOf(plan);
  std::unique_ptr<PreparedPlan>& prepared = prepared_[place];
  if (prepared != nullptr) return *prepared;
  prepared = std::make_unique<PreparedPlan>();
  prepared->index = verified_->TreeOf(place);
  prepared->blocks = verified_->BlocksOf(place);
  if (prepared->index == nullptr) {
    prepared->own_index = std::make_unique<const schedule::TreeIndex>(plan);
    prepared->index = prepared->own_index.get();
  }
  return *prepared;
}

void PlanExpansions::AppendCalls(std::vector<schedule::PlanCalls>* counts) const {
  for (size_t i = 0; i < plans().size(); ++i) {
    if (prepared_[i] != nullptr && prepared_[i]->calls > 0) counts->push_back({plans()[i].id, prepared_[i]->calls});
  }
}

const PlanIndex& PlanExpansions::IndexOf(const schedule::Plan& plan) {
  PreparedPlan& prepared = PreparedOf(plan);
  if (prepared.blocks == nullptr) {
    prepared.own_blocks = std::make_unique<const PlanIndex>(*shape_, plan);
    prepared.blocks = prepared.own_blocks.get();
  }
  return *prepared.blocks;
}

absl::StatusOr<const schedule::NodeSequence*> PlanExpansions::Expand(const schedule::Plan& plan,
                                                                     const CallArguments& arguments,
                                                                     uint32_t rotation) {
  PreparedPlan& prepared = PreparedOf(plan);
  auto& cache = prepared.by_root;
  const uint32_t root = HasRoot(arguments.collective) ? arguments.root : rotation;
  const auto it = cache.find(root);
  if (it != cache.end()) return it->second.get();
  // Sequences do not depend on the size within the plan's class. Expand refuses sizes beyond the class, such as that of
  // a whole long call, so the chunks of a long call use ExpandAs.
  const schedule::NodeView view = schedule::ViewOf(*shape_, plan, self_, arguments, rotation);
  auto sequence = std::make_unique<schedule::NodeSequence>();
  if (LongCall::Needed(arguments)) {
    *sequence = schedule::ExpandAs(arguments.collective, plan, *prepared.index, view);
  } else {
    ASSIGN_OR_RETURN(*sequence, schedule::Expand(plan, *prepared.index, view, arguments));
  }
  // There are at most as many rotations as nodes, and one call uses several, so they are never dropped.
  if (cache.size() >= kExpansionsMax && HasRoot(arguments.collective)) cache.clear();
  return cache.emplace(root, std::move(sequence)).first->second.get();
}

absl::StatusOr<schedule::Sequences> PlanExpansions::SequencesOf(const schedule::Plan& plan,
                                                                const CallArguments& arguments, uint64_t chunk) {
  thread_local std::vector<const schedule::NodeSequence*> sequences;
  sequences.clear();
  const uint32_t rotations = schedule::RotationsOf(plan);
  const uint32_t count = rotations == 1 ? 1 : schedule::SegmentCount(plan, schedule::ChunkBytesMax(plan));
  for (uint32_t s = 0; s < count; ++s) {
    ASSIGN_OR_RETURN(const schedule::NodeSequence* sequence,
                     Expand(plan, arguments, static_cast<uint32_t>((chunk * count + s) % rotations)));
    sequences.push_back(sequence);
  }
  return schedule::Sequences(sequences);
}

}  // namespace copse::daemon
