// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/drains.h"

#include "planner/coordinator/interfaces/store.h"

namespace copse::coordinator {

const std::string* Drains::Find(const std::string& node) const {
  const auto it = draining_.find(node);
  return it == draining_.end() ? nullptr : &it->second;
}

void Drains::Apply(const std::string& node, const std::optional<std::string>& why) {
  if (why.has_value()) {
    draining_[node] = *why;
  } else {
    draining_.erase(node);
  }
}

void Drains::Set(const std::string& node, const std::optional<std::string>& why,
                 std::function<void(const absl::Status&)> done) {
  const std::string* before = Find(node);
  Changes stored_now{.stored = before == nullptr ? std::nullopt : std::optional(*before)};
  ++changes_.try_emplace(node, std::move(stored_now)).first->second.waiting;
  Apply(node, why);
  outbox_->Record(PutDraining{node, why.has_value(), why.value_or("")},
                  [this, node, why, done = std::move(done)](const absl::Status& stored) {
                    const auto changes = changes_.find(node);
                    if (stored.ok()) changes->second.stored = why;
                    // A later change decides, unless it fails, too.
                    if (--changes->second.waiting == 0) {
                      Apply(node, changes->second.stored);
                      changes_.erase(changes);
                    }
                    done(stored);
                  });
}

void Drains::Forget(const std::string& node) {
  if (changes_.count(node) != 0) return Set(node, std::nullopt, [](const absl::Status&) {});
  if (draining_.erase(node) != 0) outbox_->Record(PutDraining{node, false});
}

}  // namespace copse::coordinator
