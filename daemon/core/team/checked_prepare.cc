// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/checked_prepare.h"

#include <algorithm>

#include "absl/status/status.h"

namespace copse::daemon {

CheckedPrepare PrepareChecker::Check(schedule::Prepare message) {
  CheckedPrepare checked{.head = {.id = message.layout.id,
                                  .identity = message.layout.identity,
                                  .parent = message.layout.parent,
                                  .shape = {},
                                  .nodes = {},
                                  .window = message.layout.window},
                         .epoch = message.epoch,
                         .requests = std::move(message.requests),
                         .last_failure = std::move(message.last_failure),
                         .layout = absl::UnknownError("not checked"),
                         .plans = absl::UnknownError("not checked"),
                         .tree = {}};
  if (const absl::Status valid = CheckLayout(message.layout); !valid.ok()) {
    checked.layout = valid;
    checked.plans = valid;
    return checked;
  }
  checked.layout = IndexLayout(std::move(message.layout), Find(checked.head.id), Find(checked.head.parent));
  checked.plans = VerifiedPlans::Verify(std::move(message.plans), *checked.layout, self_);
  if (message.has_sub_teams && checked.plans.ok()) {
    const IndexedLayout& layout = **checked.layout;
    checked.tree = PlaceInTree((*checked.plans)->plans(), layout.shape().node_count(), *layout.NodeOf(self_));
  }
  Remember(*checked.layout);
  return checked;
}

void PrepareChecker::Remember(const SharedLayout& layout) {
  layouts_[layout->layout().id] = layout;
  if (layouts_.size() < forget_at_) return;
  std::erase_if(layouts_, [](const auto& entry) { return entry.second.expired(); });
  forget_at_ = std::max<size_t>(64, 2 * layouts_.size());
}

SharedLayout PrepareChecker::Find(TeamId team) const {
  const auto it = layouts_.find(team);
  return it == layouts_.end() ? nullptr : it->second.lock();
}

}  // namespace copse::daemon
