// SPDX-License-Identifier: Apache-2.0
//
// A coordinator whose daemon sessions are played by a test, with a clock and a store of its own.
#ifndef COPSE_PLANNER_COORDINATOR_TESTING_FAKE_SESSIONS_H_
#define COPSE_PLANNER_COORDINATOR_TESTING_FAKE_SESSIONS_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/testing/fake_plan_maker.h"

namespace copse::coordinator {

// RecordingSink keeps the messages sent, by session.
class RecordingSink : public SessionSink {
 public:
  void Send(SessionId session, const schedule::ToDaemon& message) override;
  void Close(SessionId session, const std::string& why) override;

  // Takes the oldest message to `session`, which must be a T.
  template <typename T>
  T Take(SessionId session) {
    const std::shared_ptr<const schedule::ToDaemon> message = TakeOldest(session, schedule::ToDaemon(T{}).index());
    return message == nullptr ? T{} : *std::get_if<T>(message.get());
  }

  std::map<SessionId, std::vector<schedule::ToDaemon>> sent;
  std::map<SessionId, std::string> closed;

 private:
  // Takes the oldest message to `session`. Fails, and returns null, if there is none of the alternative `kind`.
  std::shared_ptr<const schedule::ToDaemon> TakeOldest(SessionId session, size_t kind);
};

// Returns what a FailingStore names the content of a team with these plans.
std::string ContentOf(const std::vector<std::string>& plans);

// A FailingStore names contents, as stores of files do.
class FailingStore : public MemoryStore {
 public:
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override;
  // Ends the commit in flight.
  void Finish(const absl::Status& status);

  absl::Status error;
  bool later = false;  // commits end when Finish is called

 private:
  std::deque<std::pair<std::vector<StoreChange>, std::function<void(const absl::Status&)>>> held_;
};

// Returns the code and the text of a failure.
std::pair<schedule::Failure, std::string> Brief(const schedule::FailureReport& why);

schedule::NodeAnnouncement Announce(const std::string& name, uint64_t incarnation);

class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest();
  ~CoordinatorTest() override;

  void Restart();

  // Advances the clock as in a planner that is otherwise idle.
  void Advance(absl::Duration duration);
  // Advances the clock as in a process that was stopped.
  void Stall(absl::Duration duration);

  // Returns UNAVAILABLE if the store has not taken it.
  absl::Status SetDraining(const std::string& node, bool draining, const std::string& why = "");

  // Ends the planner's process and loses its store.
  void LoseStore();

  // Connects and registers `name`; the Registered message is taken.
  schedule::Registered Register(SessionId session, const std::string& name, uint64_t incarnation = 1,
                                std::vector<schedule::RunningTeam> teams = {});
  // Registers a daemon that may be on another machine, or know a term.
  schedule::Registered RegisterFrom(SessionId session, const std::string& name, uint64_t incarnation,
                                    const std::string& machine, std::vector<schedule::RunningTeam> teams = {},
                                    uint64_t term = 0);
  schedule::Registered RegisterAs(SessionId session, const schedule::Register& message);

  void Join(SessionId session, uint32_t rank, uint32_t size, uint64_t request, const std::string& name = "t",
            uint64_t parent = 0);

  // Joins for several ranks by one message; the requests are `request` + rank.
  void JoinAll(SessionId session, const std::vector<uint32_t>& ranks, uint32_t size, uint64_t request);

  static schedule::PrepareReply Accept(const schedule::Prepare& prepare, uint32_t node, uint64_t started = 0);

  // Takes the oldest messages to n1 and n2, sessions 1 and 2; returns that to n1.
  template <typename T>
  T TakeBoth() {
    const T first = sink.Take<T>(1);
    sink.Take<T>(2);
    return first;
  }
  void AcceptBoth(const schedule::Prepare& prepare);

  // Forms and commits a team of ranks 0 and 1 on nodes n1 and n2, sessions 1 and 2; returns the Prepare of n1.
  schedule::Prepare FormTeam(const std::string& name = "t", uint64_t parent = 0);
  // Starts a team like FormTeam, by the requests 11 and 21; returns the Prepare of n1.
  schedule::Prepare StartTeam();
  void RegisterTwo(const std::vector<schedule::RunningTeam>& teams = {});
  static schedule::RunningTeam Running(const schedule::Prepare& prepare, uint32_t epoch, uint32_t prepared = 0);
  std::string State(TeamId team);
  absl::StatusOr<PlanExplanation> Explained(PlanId plan) const;
  bool Silent() const;

  uint64_t request = 1000;
  FakeClock clock;
  FailingStore store;
  FakePlanMaker plan_maker;
  RecordingSink sink;
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
};

// TwoNodesTest begins with n1 and n2, of sessions 1 and 2.
class TwoNodesTest : public CoordinatorTest {
 protected:
  TwoNodesTest() { RegisterTwo(); }
};

// TeamTest begins with a team on n1 and n2.
class TeamTest : public TwoNodesTest {
 protected:
  schedule::Prepare team = FormTeam();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TESTING_FAKE_SESSIONS_H_
