// SPDX-License-Identifier: Apache-2.0
//
// Keeps which nodes are to take no new teams.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_DRAINS_H_
#define COPSE_PLANNER_COORDINATOR_STATE_DRAINS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "planner/coordinator/state/outbox.h"

namespace copse::coordinator {

// A Drains applies a change at once, and takes it back if it cannot be stored. Thread-compatible.
class Drains {
 public:
  explicit Drains(Outbox* outbox) : outbox_(outbox) {}  // `outbox` must outlive this object
  void Load(std::map<std::string, std::string> draining) { draining_ = std::move(draining); }

  bool Has(const std::string& node) const { return draining_.count(node) != 0; }
  // Returns why the node drains, or nullptr if it does not.
  const std::string* Find(const std::string& node) const;
  // Returns whether the node drains, or a change of that waits for the store.
  bool Knows(const std::string& node) const { return Has(node) || changes_.count(node) != 0; }

  // `why`: why the node drains from now on; nullopt: it does not. `done` is called once, maybe before this returns,
  // with the outcome of the store.
  void Set(const std::string& node, const std::optional<std::string>& why,
           std::function<void(const absl::Status&)> done);
  // The node is removed: it drains no longer.
  void Forget(const std::string& node);

 private:
  // The changes of a node that wait for the store.
  struct Changes {
    std::optional<std::string> stored;  // what the store has: why; nullopt: it is not draining
    uint32_t waiting = 0;
  };

  void Apply(const std::string& node, const std::optional<std::string>& why);

  Outbox* const outbox_;
  std::map<std::string, std::string> draining_;  // why, by the nodes' names, as last requested
  std::map<std::string, Changes> changes_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_DRAINS_H_
