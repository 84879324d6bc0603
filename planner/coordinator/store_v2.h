// SPDX-License-Identifier: Apache-2.0
//
// Defines the store whose commits end later, for the coordinator that waits for them.
#ifndef COPSE_PLANNER_COORDINATOR_STORE_V2_H_
#define COPSE_PLANNER_COORDINATOR_STORE_V2_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/store.h"

namespace copse::coordinator::v2 {

struct PutTeam {
  std::shared_ptr<const TeamRecord> record;  // shared with the coordinator, which goes on while it is written
};
struct DropTeam {
  TeamId team;
};
struct PutDraining {
  std::string node;
  bool draining;
};
struct PutTerm {
  uint64_t term;
};
struct PutAborted {
  TeamId team;
};
using StoreChange = std::variant<PutTeam, DropTeam, PutDraining, PutTerm, PutAborted>;

// A Store keeps a Snapshot. Only the planner's thread calls it.
class Store {
 public:
  virtual ~Store() = default;
  // Blocks. It is called once, before the first Commit.
  virtual absl::StatusOr<Snapshot> Load() = 0;
  // Makes all changes or none, in their order, and calls `done` later on the thread that runs the planner's tasks. At
  // most one commit is in flight. Errors: ABORTED: another planner leads, nothing was changed and nothing ever will be;
  // any other: it is not known whether they were made, and the same changes may be committed again.
  virtual void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) = 0;
};

}  // namespace copse::coordinator::v2

#endif  // COPSE_PLANNER_COORDINATOR_STORE_V2_H_
