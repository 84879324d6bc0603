// SPDX-License-Identifier: Apache-2.0
//
// A coordinator whose daemon sessions are played by a test, with a clock and a store of its own.
#ifndef COPSE_PLANNER_COORDINATOR_TESTING_FAKE_SESSIONS_H_
#define COPSE_PLANNER_COORDINATOR_TESTING_FAKE_SESSIONS_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/testing/fake_clock.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/testing/fake_plan_maker.h"

namespace copse::coordinator {

// RecordingSink keeps the messages sent, by session.
class RecordingSink : public SessionSink {
 public:
  void Send(SessionId session, const schedule::ToDaemon& message) override { sent[session].push_back(message); }
  void Close(SessionId session, const std::string& why) override { closed[session] = why; }

  // Takes the oldest message to `session`, which must be a T.
  template <typename T>
  T Take(SessionId session) {
    auto& queue = sent[session];
    if (queue.empty() || !std::holds_alternative<T>(queue.front())) {
      ADD_FAILURE() << "session " << session << ": "
                    << (queue.empty() ? "nothing was sent" : absl::StrCat("message kind ", queue.front().index()));
      return T{};
    }
    T message = std::get<T>(queue.front());
    queue.erase(queue.begin());
    return message;
  }

  std::map<SessionId, std::vector<schedule::ToDaemon>> sent;
  std::map<SessionId, std::string> closed;
};

// Returns what a FailingStore names the content of a team with these plans.
inline std::string ContentOf(const std::vector<std::string>& plans) {
  return absl::StrCat("content of ", absl::StrJoin(plans, ""));
}

// A FailingStore names contents, as stores of files do.
class FailingStore : public MemoryStore {
 public:
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    for (StoreChange& change : changes) {
      auto* put = std::get_if<PutTeam>(&change);
      if (put == nullptr || put->record->plans.empty()) continue;
      TeamRecord record = *put->record;
      record.content = ContentOf(record.plans);
      put->record = std::make_shared<const TeamRecord>(std::move(record));
    }
    if (later) {
      held_.emplace_back(std::move(changes), std::move(done));
    } else if (!error.ok()) {
      done(error);
    } else {
      MemoryStore::Commit(std::move(changes), std::move(done));
    }
  }
  // Ends the commit in flight.
  void Finish(const absl::Status& status) {
    auto [changes, done] = std::move(held_.front());
    held_.pop_front();
    if (!status.ok()) return done(status);
    MemoryStore::Commit(std::move(changes), std::move(done));
  }

  absl::Status error;
  bool later = false;  // commits end when Finish is called

 private:
  std::deque<std::pair<std::vector<StoreChange>, std::function<void(const absl::Status&)>>> held_;
};

// Returns the code and the text of a failure.
inline std::pair<schedule::Failure, std::string> Brief(const schedule::FailureReport& why) {
  return {why.failure, why.text};
}

inline schedule::NodeAnnouncement Announce(const std::string& name, uint64_t incarnation) {
  schedule::NodeAnnouncement node;
  node.name = name;
  node.incarnation = Incarnation{incarnation};
  node.worker_address = absl::StrCat("address of ", name);
  node.version = kVersion;
  node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  node.features = {schedule::Feature::kDerivedTeams, schedule::Feature::kPlanCalls};
  node.machine = absl::StrCat("machine of ", name);
  return node;
}

class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() {
    SetLogLevel(LogLevel::kError);
    Restart();
  }

  void Restart() {
    sink.sent.clear();
    coordinator = std::make_unique<Coordinator>(&clock, &store, &plan_maker, &sink, options);
    EXPECT_TRUE(coordinator->Start().ok());
  }

  // Advances the clock as in a planner that is otherwise idle.
  void Advance(absl::Duration duration) {
    const absl::Time end = clock.Now() + duration;
    for (absl::Time next = coordinator->NextDeadline(); next < end; next = coordinator->NextDeadline()) {
      clock.Advance(std::max(next - clock.Now(), absl::ZeroDuration()));
      coordinator->Tick(clock.Now());
    }
    clock.Advance(end - clock.Now());
    coordinator->Tick(clock.Now());
  }
  // Advances the clock as in a process that was stopped.
  void Stall(absl::Duration duration) {
    clock.Advance(duration);
    coordinator->Tick(clock.Now());
  }

  // Returns UNAVAILABLE if the store has not taken it.
  absl::Status SetDraining(const std::string& node, bool draining, const std::string& why = "") {
    absl::Status status = absl::UnavailableError("not stored");
    coordinator->SetDraining(node, draining ? std::optional(why) : std::nullopt,
                             [&](const absl::Status& stored) { status = stored; });
    return status;
  }

  // Ends the planner's process and loses its store.
  void LoseStore() {
    store = FailingStore();
    Restart();
  }

  // Connects and registers `name`; the Registered message is taken.
  schedule::Registered Register(SessionId session, const std::string& name, uint64_t incarnation = 1,
                                std::vector<schedule::RunningTeam> teams = {}) {
    return RegisterFrom(session, name, incarnation, absl::StrCat("machine of ", name), std::move(teams));
  }
  // Registers a daemon that may be on another machine, or know a term.
  schedule::Registered RegisterFrom(SessionId session, const std::string& name, uint64_t incarnation,
                                    const std::string& machine, std::vector<schedule::RunningTeam> teams = {},
                                    uint64_t term = 0) {
    schedule::Register message{Announce(name, incarnation), std::move(teams), term};
    message.node.machine = machine;
    return RegisterAs(session, message);
  }
  schedule::Registered RegisterAs(SessionId session, const schedule::Register& message) {
    coordinator->OnConnected(session, absl::StrCat("10.0.0.", session, ":1"));
    coordinator->OnMessage(session, message);
    return sink.Take<schedule::Registered>(session);
  }

  void Join(SessionId session, uint32_t rank, uint32_t size, uint64_t request, const std::string& name = "t",
            uint64_t parent = 0) {
    schedule::JoinTeam join;
    join.request = request;
    join.identity = {1000, "job", 0, name};
    join.parent = TeamId{parent};
    join.rank = Rank{rank};
    join.size = size;
    coordinator->OnMessage(session, join);
  }

  // Joins for several ranks by one message; the requests are `request` + rank.
  void JoinAll(SessionId session, const std::vector<uint32_t>& ranks, uint32_t size, uint64_t request) {
    schedule::JoinTeam join;
    join.request = request + ranks.front();
    join.identity = {1000, "job", 0, "t"};
    join.rank = Rank{ranks.front()};
    join.size = size;
    for (size_t i = 1; i < ranks.size(); ++i) join.more.emplace_back(request + ranks[i], Rank{ranks[i]});
    coordinator->OnMessage(session, join);
  }

  static schedule::PrepareReply Accept(const schedule::Prepare& prepare, uint32_t node, uint64_t started = 0) {
    schedule::PrepareReply reply;
    reply.team = prepare.layout.id;
    reply.epoch = prepare.epoch;
    reply.accepted = true;
    reply.started = CallSeq{started};
    for (uint32_t v = 0; v < prepare.layout.nodes.size(); ++v) {
      if (v != node) reply.incoming.push_back({NodeIndex{v}, 100 * prepare.epoch.value() + 10 * node + v});
    }
    return reply;
  }

  // Takes the oldest messages to n1 and n2, sessions 1 and 2; returns that to n1.
  template <typename T>
  T TakeBoth() {
    const T first = sink.Take<T>(1);
    sink.Take<T>(2);
    return first;
  }
  void AcceptBoth(const schedule::Prepare& prepare) {
    coordinator->OnMessage(1, Accept(prepare, 0));
    coordinator->OnMessage(2, Accept(prepare, 1));
  }

  // Forms and commits a team of ranks 0 and 1 on nodes n1 and n2, sessions 1 and 2; returns the Prepare of n1.
  schedule::Prepare FormTeam(const std::string& name = "t", uint64_t parent = 0) {
    Join(1, 0, 2, ++request, name, parent);
    Join(2, 1, 2, ++request, name, parent);
    const auto prepare = TakeBoth<schedule::Prepare>();
    AcceptBoth(prepare);
    TakeBoth<schedule::Commit>();
    for (const SessionId session : {1, 2}) {
      coordinator->OnMessage(session, schedule::CommitReply{prepare.layout.id, prepare.epoch});
    }
    return prepare;
  }
  // Starts a team like FormTeam, by the requests 11 and 21; returns the Prepare of n1.
  schedule::Prepare StartTeam() {
    Join(1, 0, 2, 11);
    Join(2, 1, 2, 21);
    EXPECT_EQ(sink.sent[2].size(), 1u);
    sink.sent[2].clear();
    return sink.Take<schedule::Prepare>(1);
  }
  void RegisterTwo(const std::vector<schedule::RunningTeam>& teams = {}) {
    EXPECT_TRUE(Register(1, "n1", 1, teams).accepted);
    EXPECT_TRUE(Register(2, "n2", 1, teams).accepted);
  }
  static schedule::RunningTeam Running(const schedule::Prepare& prepare, uint32_t epoch, uint32_t prepared = 0) {
    schedule::RunningTeam running;
    running.layout = prepare.layout;
    running.plans = prepare.plans;
    running.epoch = EpochId{epoch};
    running.prepared_epoch = EpochId{prepared};
    return running;
  }
  std::string State(TeamId team) {
    const auto info = coordinator->view().FindTeam(team);
    return info.ok() ? info->state : std::string(info.status().message());
  }
  absl::StatusOr<PlanExplanation> Explained(PlanId plan) const {
    absl::StatusOr<PlanExplanation> result = absl::UnknownError("not called");
    coordinator->view().Explain(plan, std::nullopt,
                                [&result](absl::StatusOr<PlanExplanation> given) { result = std::move(given); });
    return result;
  }
  bool Silent() const {
    for (const auto& [session, queue] : sink.sent) {
      if (!queue.empty()) return false;
    }
    return true;
  }

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
