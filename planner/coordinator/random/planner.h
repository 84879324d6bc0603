// SPDX-License-Identifier: Apache-2.0
//
// Runs a coordinator as a process of a random run: its store fails, and it dies between any two of its messages.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_PLANNER_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_PLANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/testing/fake_plan_maker.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct World;

// A Planner is a coordinator, with its view of the shared store and its side of the streams.
struct Planner : SessionSink, Store {
  // Starts the coordinator. `*world` must outlive this object.
  Planner(World* world, uint64_t fence);

  // --- Store ---
  // A commit is made in the store at once or later, and answered at once or later. It may fail, with the changes made
  // or not, and the planner may die right after one: no message sent afterwards leaves it.
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override;
  absl::StatusOr<Snapshot> Load() override;
  // Makes the commit in flight, if this planner leads.
  void Make();
  // Answers the commit that was made or refused.
  void Answer();
  // Makes or answers the commit in flight. Returns false if there is none, or it cannot be answered now.
  bool ProceedCommit();
  // Another planner is elected: the commit in flight is made now, or never; one of many changes may be made in part.
  void LoseLead();

  // --- SessionSink ---
  void Send(SessionId session, const schedule::ToDaemon& message) override;
  void Close(SessionId session, const std::string& why) override;

  struct InFlight {
    std::vector<StoreChange> changes;
    std::function<void(const absl::Status&)> done;
    std::optional<absl::Status> outcome;  // nullopt: not made yet
  };

  World* const world;
  const uint64_t fence;
  std::optional<InFlight> commit;
  FakePlanMaker plan_maker;
  std::unique_ptr<Coordinator> coordinator;
  bool dead = false;
  bool paused = false;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_PLANNER_H_
