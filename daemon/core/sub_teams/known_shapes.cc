// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/known_shapes.h"

#include <algorithm>
#include <string>

#include "base/shared.h"
#include "schedule/plan.h"

namespace copse::daemon {

uint64_t HashOf(const VerifiedPlans& plans) {
  const Shared<std::vector<std::string>> encoded = plans.Encoded();
  std::string all;
  for (const std::string& plan : *encoded) all += plan;
  return schedule::PlanHash(all) | 1;
}

std::list<KnownShapes::Known>::iterator KnownShapes::Position(const std::vector<schedule::TeamNode>& nodes,
                                                              const schedule::TeamShape& shape) {
  return std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.layout->layout().shape == shape &&
           std::equal(nodes.begin(), nodes.end(), known.layout->layout().nodes.begin(),
                      known.layout->layout().nodes.end(),
                      [](const auto& a, const auto& b) { return a.incarnation == b.incarnation && a.name == b.name; });
  });
}

void KnownShapes::Add(const SharedLayout& layout, const std::shared_ptr<const VerifiedPlans>& plans,
                      const TreePlace& tree) {
  if (layout->layout().nodes.size() > kNodesMax) return;
  if (const auto it = Position(layout->layout().nodes, layout->layout().shape); it != known_.end()) {
    if (it->plans == plans || it->plans->plans() == plans->plans()) {
      return known_.splice(known_.begin(), known_, it);
    }
    known_.erase(it);
  }
  if (known_.size() >= kMax) known_.pop_back();
  known_.push_front({layout, plans, tree, HashOf(*plans)});
}

const KnownShapes::Known* KnownShapes::Find(const std::vector<schedule::TeamNode>& nodes,
                                            const schedule::TeamShape& shape) {
  const auto it = Position(nodes, shape);
  if (it == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, it);
  return &known_.front();
}

}  // namespace copse::daemon
