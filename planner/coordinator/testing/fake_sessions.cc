// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/testing/fake_sessions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/version.h"

namespace copse::coordinator {

void RecordingSink::Send(SessionId session, const schedule::ToDaemon& message) { sent[session].push_back(message); }
void RecordingSink::Close(SessionId session, const std::string& why) { closed[session] = why; }

std::shared_ptr<const schedule::ToDaemon> RecordingSink::TakeOldest(SessionId session, size_t kind) {
  auto& queue = sent[session];
  if (queue.empty() || queue.front().index() != kind) {
    ADD_FAILURE() << "session " << session << ": "
                  << (queue.empty() ? "nothing was sent" : absl::StrCat("message kind ", queue.front().index()));
    return nullptr;
  }
  auto message = std::make_shared<const schedule::ToDaemon>(std::move(queue.front()));
  queue.erase(queue.begin());
  return message;
}

std::string ContentOf(const std::vector<std::string>& plans) {
  return absl::StrCat("content of ", absl::StrJoin(plans, ""));
}

void FailingStore::Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) {
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
void FailingStore::Finish(const absl::Status& status) {
  auto [changes, done] = std::move(held_.front());
  held_.pop_front();
  if (!status.ok()) return done(status);
  MemoryStore::Commit(std::move(changes), std::move(done));
}

std::pair<schedule::Failure, std::string> Brief(const schedule::FailureReport& why) { return {why.failure, why.text}; }

schedule::NodeAnnouncement Announce(const std::string& name, uint64_t incarnation) {
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

CoordinatorTest::CoordinatorTest() {
  SetLogLevel(LogLevel::kError);
  Restart();
}

CoordinatorTest::~CoordinatorTest() = default;

void CoordinatorTest::Restart() {
  sink.sent.clear();
  coordinator = std::make_unique<Coordinator>(&clock, &store, &plan_maker, &sink, options);
  EXPECT_TRUE(coordinator->Start().ok());
}

void CoordinatorTest::Advance(absl::Duration duration) {
  const absl::Time end = clock.Now() + duration;
  for (absl::Time next = coordinator->NextDeadline(); next < end; next = coordinator->NextDeadline()) {
    clock.Advance(std::max(next - clock.Now(), absl::ZeroDuration()));
    coordinator->Tick(clock.Now());
  }
  clock.Advance(end - clock.Now());
  coordinator->Tick(clock.Now());
}

void CoordinatorTest::Stall(absl::Duration duration) {
  clock.Advance(duration);
  coordinator->Tick(clock.Now());
}

absl::Status CoordinatorTest::SetDraining(const std::string& node, bool draining, const std::string& why) {
  absl::Status status = absl::UnavailableError("not stored");
  coordinator->SetDraining(node, draining ? std::optional(why) : std::nullopt,
                           [&](const absl::Status& stored) { status = stored; });
  return status;
}

void CoordinatorTest::LoseStore() {
  store = FailingStore();
  Restart();
}

schedule::Registered CoordinatorTest::Register(SessionId session, const std::string& name, uint64_t incarnation,
                                               std::vector<schedule::RunningTeam> teams) {
  return RegisterFrom(session, name, incarnation, absl::StrCat("machine of ", name), std::move(teams));
}

schedule::Registered CoordinatorTest::RegisterFrom(SessionId session, const std::string& name, uint64_t incarnation,
                                                   const std::string& machine, std::vector<schedule::RunningTeam> teams,
                                                   uint64_t term) {
  schedule::Register message{Announce(name, incarnation), std::move(teams), term};
  message.node.machine = machine;
  return RegisterAs(session, message);
}

schedule::Registered CoordinatorTest::RegisterAs(SessionId session, const schedule::Register& message) {
  coordinator->OnConnected(session, absl::StrCat("10.0.0.", session, ":1"));
  coordinator->OnMessage(session, message);
  return sink.Take<schedule::Registered>(session);
}

void CoordinatorTest::Join(SessionId session, uint32_t rank, uint32_t size, uint64_t request, const std::string& name,
                           uint64_t parent) {
  schedule::JoinTeam join;
  join.request = request;
  join.identity = {1000, "job", 0, name};
  join.parent = TeamId{parent};
  join.rank = Rank{rank};
  join.size = size;
  coordinator->OnMessage(session, join);
}

void CoordinatorTest::JoinAll(SessionId session, const std::vector<uint32_t>& ranks, uint32_t size, uint64_t request) {
  schedule::JoinTeam join;
  join.request = request + ranks.front();
  join.identity = {1000, "job", 0, "t"};
  join.rank = Rank{ranks.front()};
  join.size = size;
  for (size_t i = 1; i < ranks.size(); ++i) join.more.emplace_back(request + ranks[i], Rank{ranks[i]});
  coordinator->OnMessage(session, join);
}

schedule::PrepareReply CoordinatorTest::Accept(const schedule::Prepare& prepare, uint32_t node, uint64_t started) {
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

void CoordinatorTest::AcceptBoth(const schedule::Prepare& prepare) {
  coordinator->OnMessage(1, Accept(prepare, 0));
  coordinator->OnMessage(2, Accept(prepare, 1));
}

schedule::Prepare CoordinatorTest::FormTeam(const std::string& name, uint64_t parent) {
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

schedule::Prepare CoordinatorTest::StartTeam() {
  Join(1, 0, 2, 11);
  Join(2, 1, 2, 21);
  EXPECT_EQ(sink.sent[2].size(), 1u);
  sink.sent[2].clear();
  return sink.Take<schedule::Prepare>(1);
}

void CoordinatorTest::RegisterTwo(const std::vector<schedule::RunningTeam>& teams) {
  EXPECT_TRUE(Register(1, "n1", 1, teams).accepted);
  EXPECT_TRUE(Register(2, "n2", 1, teams).accepted);
}

schedule::RunningTeam CoordinatorTest::Running(const schedule::Prepare& prepare, uint32_t epoch, uint32_t prepared) {
  schedule::RunningTeam running;
  running.layout = prepare.layout;
  running.plans = prepare.plans;
  running.epoch = EpochId{epoch};
  running.prepared_epoch = EpochId{prepared};
  return running;
}

std::string CoordinatorTest::State(TeamId team) {
  const auto info = coordinator->view().FindTeam(team);
  return info.ok() ? info->state : std::string(info.status().message());
}

absl::StatusOr<PlanExplanation> CoordinatorTest::Explained(PlanId plan) const {
  absl::StatusOr<PlanExplanation> result = absl::UnknownError("not called");
  coordinator->view().Explain(plan, std::nullopt,
                              [&result](absl::StatusOr<PlanExplanation> given) { result = std::move(given); });
  return result;
}

bool CoordinatorTest::Silent() const {
  for (const auto& [session, queue] : sink.sent) {
    if (!queue.empty()) return false;
  }
  return true;
}

}  // namespace copse::coordinator
