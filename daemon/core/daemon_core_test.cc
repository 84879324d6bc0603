// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/daemon_core.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/testing/team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;
using schedule::FailureReport;
using schedule::Feature;

constexpr absl::Duration kHeartbeat = absl::Seconds(1);
constexpr absl::Duration kNodeTimeout = absl::Seconds(10);

class DaemonCoreTest : public TeamFixture {
 protected:
  static constexpr Incarnation kNeighbor{kSelf + 1};

  DaemonCoreTest() { core_.SetTimeouts(kHeartbeat, kNodeTimeout); }

  void Turn() {
    while (core_.Progress()) {
    }
    core_.CheckInvariants();
  }
  // Lets time pass in steps that are no pauses of the daemon's own.
  void RunFor(absl::Duration time) {
    for (const absl::Time end = clock_.Now() + time; clock_.Now() < end;) {
      clock_.Advance(kHeartbeat / 2);
      Turn();
    }
  }
  void ReceiveFromNeighbor() {
    transport_.to_deliver.push_back(emu::MakeDataFrame(kNeighbor, Incarnation(kSelf), {}));
    Turn();
  }
  void ExpectEnd(uint32_t rank, uint64_t call, FailureCause cause) {
    EXPECT_EQ(EndOf(rank, call).failure, Failure::kMemberLost);
    EXPECT_EQ(EndOf(rank, call).cause, cause);
  }
};

TEST_F(DaemonCoreTest, ThePlannerHearsEachMinuteWhichTeamsAreHere) {
  const auto lists = [this] {
    return std::erase_if(sent_, [](const schedule::FromDaemon& message) {
      return std::holds_alternative<schedule::TeamsHeld>(message);
    });
  };
  RunFor(absl::Minutes(1));
  EXPECT_EQ(lists(), 0u);  // the planner would not know what to do with it
  Registered({Feature::kTeamsHeld});
  FormTeam();
  sent_.clear();
  RunFor(kHeartbeat);
  EXPECT_EQ(Take<schedule::TeamsHeld>(), schedule::TeamsHeld{{kTeam}});
  // The ranks leave a broken team: it is the planner's to end.
  core_.OnPlannerMessage(schedule::BreakTeam{.team = kTeam, .why = {Failure::kCanceled, "enough"}});
  for (const Process& process : processes_) core_.DestroyTeam(process.id, 1, process.handle);
  sent_.clear();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(Take<schedule::TeamsHeld>(), schedule::TeamsHeld{{kTeam}});
  core_.OnPlannerMessage(schedule::EndTeam{.team = kTeam});
  RunFor(absl::Minutes(1));
  EXPECT_EQ(Take<schedule::TeamsHeld>(), schedule::TeamsHeld{});
  RunFor(absl::Minutes(2));
  EXPECT_EQ(lists(), 2u);
}

// --- Joins ---

TEST_F(DaemonCoreTest, JoinsOfATurnAreOneMessage) {
  Registered({Feature::kJoinsByNode});
  for (uint32_t r = 0; r < 2; ++r) {
    processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
    core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
  }
  EXPECT_TRUE(sent_.empty());
  EXPECT_LE(core_.NextDeadline(), clock_.Now());
  Turn();
  const auto join = Take<schedule::JoinTeam>();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(join.rank, Rank(0));
  ASSERT_EQ(join.more.size(), 1u);
  EXPECT_EQ(join.more[0].second, Rank(1));
  core_.OnPlannerMessage(schedule::Abort{
      .epoch = EpochId(1), .why = {Failure::kTimedOut, "late"}, .requests = {join.request, join.more[0].first}});
  for (const Process& process : processes_) EXPECT_EQ(process.refused.failure, Failure::kTimedOut);
}

TEST_F(DaemonCoreTest, ThePlannerIsToldTheAddressWhenItAsks) {
  transport_.opens = absl::UnavailableError("net_devices=eth9");
  core_.OnPlannerMessage(schedule::AddressQuery{});
  const auto refused = Take<schedule::DataAddress>();
  EXPECT_EQ(refused.worker_address, "");
  EXPECT_THAT(refused.why.text, Names("net_devices=eth9"));
  transport_.opens = absl::OkStatus();
  core_.OnPlannerMessage(schedule::AddressQuery{});
  EXPECT_EQ(Take<schedule::DataAddress>(), schedule::DataAddress{"fake"});
  PlannerRestarts();
  EXPECT_EQ(Take<schedule::Register>().node.worker_address, "fake");
}

TEST_F(DaemonCoreTest, ThePlannerHearsSoonerOfCallsThatAreInFlightForLong) {
  // Returns whether the planner hears a list within the time, in which the neighbor is heard.
  const auto hears_list = [this](absl::Duration most) {
    sent_.clear();
    const auto is_list = [](const auto& message) { return std::holds_alternative<schedule::TeamsHeld>(message); };
    for (absl::Duration passed; passed < most; passed += kHeartbeat) {
      ReceiveFromNeighbor();
      RunFor(kHeartbeat);
      if (std::any_of(sent_.begin(), sent_.end(), is_list)) return true;
    }
    return false;
  };
  Registered({Feature::kTeamsHeld});
  FormTeam();
  ASSERT_TRUE(hears_list(absl::Minutes(1)));  // the next one of its own is a minute away
  Post(0, Collective::kAllreduce);
  EXPECT_FALSE(hears_list(schedule::kLongCall - kHeartbeat));
  EXPECT_TRUE(hears_list(absl::Seconds(12)));
  EXPECT_FALSE(hears_list(absl::Seconds(20)));  // it is the same call
  core_.OnPlannerMessage(schedule::BreakTeam{.team = kTeam, .why = {Failure::kCanceled, "enough"}});
  EXPECT_TRUE(hears_list(absl::Seconds(12)));
}

// --- Silence ---

class SilenceTest : public DaemonCoreTest {
 protected:
  void FormTeamUnder(schedule::Features features) {
    Registered(std::move(features));
    FormTeam();
    call_ = Post(0, Collective::kAllreduce);
    Turn();
    sent_.clear();
  }
  uint64_t call_ = 0;
};

TEST_F(SilenceTest, ThePlannerWeighsASilentNeighborForAWhile) {
  FormTeamUnder({Feature::kSilence});
  RunFor(kNodeTimeout - kHeartbeat);
  EXPECT_TRUE(sent_.empty());
  RunFor(kHeartbeat);
  EXPECT_EQ(
      Take<schedule::NeighborSilent>(),
      (schedule::NeighborSilent{.neighbor = kNeighbor, .teams = {kTeam}, .silent_ms = 10'000, .others_due_ms = 2'000}));
  RunFor(3 * kHeartbeat);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(EndOf(0, call_), kWaits);
  RunFor(kHeartbeat);
  ExpectEnd(0, call_, FailureCause::kNodeSilent);
  EXPECT_EQ(EndOf(0, call_).limit, 10'000u);
}

TEST_F(SilenceTest, AReportIsTakenBackWhenTheNeighborIsHeard) {
  FormTeamUnder({Feature::kSilence});
  RunFor(kNodeTimeout);
  EXPECT_TRUE(Take<schedule::NeighborSilent>().silent);
  ReceiveFromNeighbor();
  RunFor(kNodeTimeout - kHeartbeat);
  EXPECT_EQ(Take<schedule::NeighborSilent>(), (schedule::NeighborSilent{.neighbor = kNeighbor, .silent = false}));
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(EndOf(0, call_), kWaits);
}

TEST_F(SilenceTest, ANeighborIsLostAtOnceIfNoPlannerWeighs) {
  FormTeamUnder({});
  RunFor(kNodeTimeout);
  ExpectEnd(0, call_, FailureCause::kNodeSilent);
  EXPECT_EQ(core_.Status().counters["daemon.neighbors.lost"], 1u);
}

TEST_F(SilenceTest, APauseOfTheDaemonItselfIsNotItsNeighborsSilence) {
  FormTeamUnder({});
  clock_.Advance(absl::Minutes(1));
  Turn();
  RunFor(kNodeTimeout - kHeartbeat);
  EXPECT_EQ(EndOf(0, call_), kWaits);
  RunFor(kHeartbeat);
  ExpectEnd(0, call_, FailureCause::kNodeSilent);
}

TEST_F(SilenceTest, WhatCameDuringAPauseDoesNotExcuseLaterSilence) {
  FormTeamUnder({});
  clock_.Advance(absl::Minutes(1));
  ReceiveFromNeighbor();
  RunFor(kNodeTimeout - kHeartbeat);
  EXPECT_EQ(EndOf(0, call_), kWaits);
  RunFor(kHeartbeat);
  ExpectEnd(0, call_, FailureCause::kNodeSilent);
}

TEST_F(SilenceTest, AConnectionThatEndsBreaksItsTeams) {
  FormTeamUnder({});
  transport_.to_lose.push_back(kNeighbor);
  Turn();
  ExpectEnd(0, call_, FailureCause::kConnectionLost);
  EXPECT_EQ(EndOf(0, call_).node, "n1");
}

TEST_F(SilenceTest, ADaemonThatStoodStillIsTheOneThatItsNeighborHasLost) {
  FormTeamUnder({});
  clock_.Advance(absl::Minutes(1));
  Turn();
  transport_.to_lose.push_back(kNeighbor);
  Turn();
  ExpectEnd(0, call_, FailureCause::kNodeSilent);
  EXPECT_EQ(EndOf(0, call_).node, "n0");
  EXPECT_EQ(EndOf(0, call_).limit, 60'000u);
}

// The loop may leave out every turn that NextDeadline does not ask for.
TEST_F(SilenceTest, ADaemonWithNothingToDoDidNotStandStill) {
  Turn();
  for (const absl::Time end = clock_.Now() + absl::Minutes(1); clock_.Now() < end;) {
    clock_.AdvanceTo(std::min(core_.NextDeadline(), end));
    Turn();
  }
  FormTeamUnder({});
  transport_.to_lose.push_back(kNeighbor);
  Turn();
  ExpectEnd(0, call_, FailureCause::kConnectionLost);
  EXPECT_EQ(EndOf(0, call_).node, "n1");
}

// --- Clients ---

TEST_F(DaemonCoreTest, UnknownHandlesAreRefused) {
  FormTeam();
  core_.DestroyTeam(processes_[0].id, 2, 99);
  EXPECT_EQ(processes_[0].destroyed.failure, Failure::kInvalidArgument);
  EXPECT_THAT(processes_[0].destroyed.text, Names("handle=99"));
  processes_[0].handle = 98;
  const uint64_t call = Post(0, Collective::kBarrier);
  EXPECT_EQ(EndOf(0, call).failure, Failure::kInvalidArgument);
  EXPECT_THAT(EndOf(0, call).text, Names("handle=98"));
}

TEST_F(DaemonCoreTest, ARankWithACallInFlightLeavesOnlyABrokenTeam) {
  FormTeam();
  Post(0, Collective::kAllreduce);
  Leave(0);
  EXPECT_EQ(processes_[0].destroyed.failure, Failure::kInvalidArgument);
  core_.OnPlannerMessage(schedule::BreakTeam{.team = kTeam, .why = {Failure::kCanceled, "broken"}});
  Leave(0);
  EXPECT_EQ(processes_[0].destroyed, FailureReport{});
}

TEST_F(DaemonCoreTest, AProcessThatDiesBreaksItsTeam) {
  FormTeam();
  const uint64_t call = Post(0, Collective::kAllreduce);
  core_.Detach(processes_[1].id, /*died=*/true, "it was killed");
  ExpectEnd(0, call, FailureCause::kProcessDied);
  EXPECT_EQ(EndOf(0, call).rank, Rank(1));
  EXPECT_EQ(EndOf(0, call).node, "n0");
}

TEST_F(DaemonCoreTest, AProcessThatDetachesFromItsCallBreaksItsTeam) {
  FormTeam();
  const uint64_t call = Post(0, Collective::kAllreduce);
  Post(1, Collective::kAllreduce);
  core_.Detach(processes_[1].id, /*died=*/false, "it detached");
  ExpectEnd(0, call, FailureCause::kMemberLeft);
  core_.Detach(processes_[1].id, /*died=*/true, "again");  // it is unknown by now
}

TEST_F(DaemonCoreTest, ACallThatDoesNothingEndsAndGivesItsRoomBack) {
  FormTeam();
  const ClientId id = processes_[0].id;
  const uint32_t room = core_.PostRoom(id);
  core_.PostNop(id, 55);
  EXPECT_EQ(core_.PostRoom(id), room - 1);
  EXPECT_EQ(EndOf(0, 55), kWaits);
  Turn();
  EXPECT_EQ(EndOf(0, 55), FailureReport{});
  EXPECT_EQ(core_.PostRoom(id), room);
  EXPECT_EQ(core_.PostRoom(999), 0u);
}

TEST_F(DaemonCoreTest, ACallThatDoesNothingIsRefusedAtOnceWhereTheClientsQueueIsFull) {
  FormTeam();
  const ClientId id = processes_[0].id;
  const uint32_t room = core_.PostRoom(id);
  for (uint32_t i = 0; i < room; ++i) core_.PostNop(id, 100 + i);
  EXPECT_EQ(core_.PostRoom(id), 0u);
  core_.PostNop(id, 55);
  EXPECT_EQ(EndOf(0, 55).failure, Failure::kNoResource);
  EXPECT_EQ(EndOf(0, 100), kWaits);
  Turn();
  EXPECT_EQ(EndOf(0, 100), FailureReport{});
  EXPECT_EQ(core_.PostRoom(id), room);
}

TEST_F(DaemonCoreTest, HeartbeatsAreCountedBothWays) {
  FormTeam();
  const auto counter = [this](const char* name) { return core_.Status().counters.at(name); };
  const uint64_t received = counter("daemon.heartbeats.received");
  for (int i = 0; i < 3; ++i) Receive(HeartbeatMessage{});
  EXPECT_EQ(counter("daemon.heartbeats.received"), received + 3);
  transport_.sent.clear();
  const uint64_t sent = counter("daemon.heartbeats.sent");
  RunFor(2 * kHeartbeat);
  const size_t on_wire = TakeFromWire<HeartbeatMessage>().size();
  EXPECT_GT(on_wire, 0u);
  EXPECT_EQ(counter("daemon.heartbeats.sent"), sent + on_wire);
}

// --- Accounts ---

class AccountsOfCoreTest : public DaemonCoreTest {
 protected:
  void Limit(Resource resource, uint64_t maximum) {
    QuotaRules rules;
    rules.everybody[static_cast<size_t>(resource)] = QuotaAmount{maximum};
    core_.accounts().SetRules(rules);
  }
  uint64_t Used(Resource resource) const { return core_.accounts().used_by(1, resource); }
};

TEST_F(AccountsOfCoreTest, TheEngineHasTheUsersWeight) {
  const auto weights = [this] {
    std::map<uint32_t, uint32_t> all;
    for (const schedule::AccountStatus& account : core_.Status().accounts) all[account.uid] = account.weight;
    return all;
  };
  QuotaRules rules;
  rules.users[1].weight = 4;
  core_.SetQuotas(rules);
  FormTeam();
  Process other;
  ASSERT_TRUE(core_.Attach({.uid = 2, .pid = 9}, &other).ok());
  EXPECT_EQ(weights(), (std::map<uint32_t, uint32_t>{{1, 4}, {2, 1}}));
  rules.users[1].weight = 2;
  rules.everybody.weight = 3;
  core_.SetQuotas(rules);
  EXPECT_EQ(weights(), (std::map<uint32_t, uint32_t>{{1, 2}, {2, 3}}));
}

TEST_F(AccountsOfCoreTest, AJobsTeamsPostsAndMemoryAreCounted) {
  FormTeam();
  const uint64_t call = Post(0, Collective::kBarrier);
  Turn();
  const schedule::DaemonStatus status = core_.Status();
  ASSERT_EQ(status.accounts.size(), 1u);
  EXPECT_EQ(status.accounts[0].uid, 1u);
  std::map<std::string, uint64_t> used;
  for (const auto& holding : status.accounts[0].holdings) used[holding.resource] = holding.used;
  EXPECT_EQ(used["teams"], 1u);
  EXPECT_EQ(used["posts"], 1u);
  EXPECT_GT(used["memory"], 0u);
  EXPECT_EQ(used["memory"], status.counters.at("engine.memory.reserved_bytes"));
  EXPECT_EQ(EndOf(0, call), kWaits);
  for (uint32_t r = 0; r < 2; ++r) core_.Detach(processes_[r].id, /*died=*/true, "killed");
  EXPECT_TRUE(core_.Status().accounts.empty()) << "nothing stays with a job that is gone";
}

TEST_F(AccountsOfCoreTest, APostTooManyIsRefusedAndTheOthersGoOn) {
  FormTeam();
  Limit(Resource::kPosts, 1);
  const uint64_t first = Post(0, Collective::kBarrier);
  const uint64_t second = Post(1, Collective::kBarrier);
  EXPECT_EQ(EndOf(0, first), kWaits);
  EXPECT_EQ(EndOf(1, second).failure, Failure::kNoResource);
  EXPECT_EQ(EndOf(1, second).cause, FailureCause::kQuota);
  EXPECT_THAT(EndOf(1, second).text, Names("uid=1", "used=1", "limit=1"));
  EXPECT_EQ(Used(Resource::kPosts), 1u);
  EXPECT_EQ(core_.Status().counters.at("quota.refused.posts"), 1u);
  Limit(Resource::kPosts, 2);
  EXPECT_EQ(EndOf(1, Post(1, Collective::kBarrier)), kWaits);
}

TEST_F(AccountsOfCoreTest, ATeamTooManyIsRefusedByUserUsedAndLimit) {
  FormTeam();
  Limit(Resource::kTeams, 1);
  core_.CreateTeam(processes_[0].id, {.request = 2, .name = "more", .rank = Rank(0), .size = 3});
  EXPECT_EQ(processes_[0].refused.failure, Failure::kNoResource);
  EXPECT_EQ(processes_[0].refused.cause, FailureCause::kQuota);
  EXPECT_THAT(processes_[0].refused.text, Names("uid=1", "used=1", "limit=1"));
  LeaveAll();
  EXPECT_EQ(Used(Resource::kTeams), 0u);
}

TEST_F(AccountsOfCoreTest, AQuarterOfTheMemoryIsKeptForOtherUsers) {
  const auto account = core_.accounts().Open(1, "");
  EXPECT_EQ(core_.accounts().LimitsOf(*account)[static_cast<size_t>(Resource::kMemory)],
            CoreOptions{}.memory_limit_bytes / 4 * 3);
}

TEST_F(AccountsOfCoreTest, ATeamThatNeedsMoreMemoryThanItsUserMayHaveIsRefused) {
  Limit(Resource::kMemory, 1000);
  schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1)};
  processes_[0].id = *core_.Attach({.uid = 1, .pid = 1}, &processes_[0]);
  processes_[1].id = *core_.Attach({.uid = 1, .pid = 2}, &processes_[1]);
  for (uint32_t r = 0; r < 2; ++r) {
    core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
    prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
  }
  prepare.plans = PlansOf(Family::kCommon);
  core_.OnPlannerMessage(prepare);
  const auto reply = Take<schedule::PrepareReply>();
  EXPECT_FALSE(reply.accepted);
  EXPECT_EQ(reply.why.failure, Failure::kNoResource);
  EXPECT_THAT(reply.why.text, Names("uid=1", "used=0", "limit=1000"));
  EXPECT_EQ(Used(Resource::kMemory), 0u);
  EXPECT_EQ(core_.Status().counters.at("engine.memory.reserved_bytes"), 0u);
}

// --- The trace ---

// A trace of team 7 of user 1, which the fixture forms, and of teams of user 2.
class OwnTraceTest : public DaemonCoreTest {
 protected:
  static constexpr uint32_t kUser = 1, kOther = 2;

  OwnTraceTest() { other_.id = *core_.Attach({.uid = kOther, .pid = 9}, &other_); }

  // Forms a team of user 2, with a rank here and one at the neighbor's, which makes a call.
  void CallOfTheOther(TeamId id) {
    core_.CreateTeam(other_.id, {.request = id.value(), .name = "o", .rank = Rank(0), .size = 2});
    schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
    prepare.layout.id = id;
    prepare.layout.identity = {.uid = kOther, .name = "o"};
    prepare.layout.shape.node_of_rank = {NodeIndex(0), NodeIndex(1)};
    prepare.requests.emplace_back(std::get<schedule::JoinTeam>(sent_.back()).request, Rank(0));
    core_.OnPlannerMessage(prepare);
    core_.OnPlannerMessage(schedule::Commit{.team = id, .epoch = EpochId(1), .outgoing = {{NodeIndex(1), 9001}}});
    CallPost post{.team = other_.handle, .value = ++calls_};
    post.arguments = {.collective = Collective::kBarrier};
    core_.Post(other_.id, std::move(post));
  }
  // Returns how many records of each team there are for the owner; nobody: for an operator.
  std::map<uint32_t, int> TeamsFor(std::optional<uint32_t> owner) {
    sent_.clear();
    core_.OnPlannerMessage(schedule::TraceQuery{.query = 1, .records = 1024, .owner = owner});
    const auto reply = Take<schedule::TraceReply>();
    EXPECT_EQ(reply.end, reply.next);
    std::map<uint32_t, int> teams;
    for (size_t at = 0; at < reply.records.size(); at += sizeof(emu::TraceRecord)) {
      emu::TraceRecord record;
      std::memcpy(&record, &reply.records[at], sizeof(record));
      ++teams[record.team];
    }
    return teams;
  }
  std::set<uint32_t> NamesFor(std::optional<uint32_t> owner) {
    std::set<uint32_t> names;
    for (const auto& [team, count] : TeamsFor(owner)) names.insert(team);
    return names;
  }

  Process other_;
};

TEST_F(OwnTraceTest, AnOwnerGetsTheTraceOfItsOwnTeamsAlone) {
  FormTeam();
  Post(0, Collective::kBarrier);
  CallOfTheOther(TeamId(9));
  Turn();
  instruments_.trace()->Record({.kind = emu::TraceKind::kLoopSleep});
  EXPECT_EQ(NamesFor(kUser), (std::set<uint32_t>{7}));
  EXPECT_EQ(NamesFor(kOther), (std::set<uint32_t>{9}));
  EXPECT_EQ(NamesFor(3), std::set<uint32_t>{});
  EXPECT_EQ(NamesFor(std::nullopt), (std::set<uint32_t>{0, 7, 9}));
  instruments_.ClientWoken(processes_[0].id);
  instruments_.ClientWoken(other_.id);
  EXPECT_EQ(TeamsFor(kUser)[0], 1) << "one of its processes was woken";
  EXPECT_EQ(TeamsFor(kOther)[0], 1);
}

TEST_F(OwnTraceTest, WhatIsLeftOfATeamThatHasEndedIsNobodys) {
  FormTeam();
  Post(0, Collective::kBarrier);
  Post(1, Collective::kBarrier);
  core_.OnPlannerMessage(schedule::BreakTeam{.team = kTeam, .why = {Failure::kCanceled, "enough"}});
  EXPECT_EQ(NamesFor(kUser), (std::set<uint32_t>{7}));
  LeaveAll();
  EXPECT_EQ(NamesFor(kUser), std::set<uint32_t>{});
  const int of_the_first = TeamsFor(std::nullopt)[7];
  ASSERT_GT(of_the_first, 0);
  // The records name the low 32 bits of ids.
  CallOfTheOther(TeamId(kTeam.value() + (uint64_t{1} << 32)));
  const int of_both = TeamsFor(std::nullopt)[7];
  ASSERT_GT(of_both, of_the_first);
  EXPECT_EQ(TeamsFor(kOther), (std::map<uint32_t, int>{{7, of_both - of_the_first}}));
}

TEST_F(OwnTraceTest, RecordsThatMayBeOfAnotherUsersTeamAreNobodys) {
  FormTeam();
  Post(0, Collective::kBarrier);
  CallOfTheOther(TeamId(kTeam.value() + (uint64_t{1} << 32)));
  EXPECT_EQ(NamesFor(kUser), std::set<uint32_t>{});
  EXPECT_EQ(NamesFor(kOther), std::set<uint32_t>{});
}

// --- Requests for teams ---

class FormationsTest : public DaemonCoreTest {
 protected:
  FormationsTest() { processes_[0].id = *core_.Attach({.uid = 1, .pid = 1}, &processes_[0]); }

  void Create(TeamRequest request = {.request = 1, .name = "t", .rank = Rank(0), .size = 3}) {
    processes_[0].refused = {};
    core_.CreateTeam(processes_[0].id, request);
  }
  const FailureReport& refused() const { return processes_[0].refused; }
  // The planner was told of the request and of its end.
  void ExpectJoinAndCancel(FailureCause cause) {
    const auto join = Take<schedule::JoinTeam>();
    const auto cancel = Take<schedule::CancelJoin>();
    EXPECT_EQ(cancel.request, join.request);
    EXPECT_EQ(cancel.why.cause, cause);
    EXPECT_TRUE(sent_.empty());
  }
};

TEST_F(FormationsTest, RequestsWithBadArgumentsAreRefused) {
  Create({.request = 1, .name = "t", .rank = Rank(3), .size = 3});
  EXPECT_EQ(refused().failure, Failure::kInvalidArgument);
  EXPECT_THAT(refused().text, Names("rank=3", "size=3"));
  Create({.request = 1, .name = "t", .rank = Rank(0), .size = 0});
  EXPECT_EQ(refused().failure, Failure::kInvalidArgument);
  Create({.request = 1, .parent = 55, .name = "t", .rank = Rank(0), .size = 3});
  EXPECT_EQ(refused().failure, Failure::kInvalidArgument);
  EXPECT_THAT(refused().text, Names("handle=55"));
  EXPECT_TRUE(sent_.empty());
}

TEST_F(FormationsTest, ADrainedNodeTakesNoNewTeamsAndTellsTheOtherMembers) {
  core_.OnPlannerMessage(schedule::Drain{.on = true});
  Create();
  EXPECT_EQ(refused().failure, Failure::kNoDaemon);
  EXPECT_EQ(refused().cause, FailureCause::kNodeDraining);
  ExpectJoinAndCancel(FailureCause::kNodeDraining);
  EXPECT_EQ(core_.Status().state, "draining");
  core_.OnPlannerMessage(schedule::Drain{.on = false});
  Create();
  EXPECT_EQ(refused(), FailureReport{});
  Take<schedule::JoinTeam>();
}

TEST_F(FormationsTest, ARequestEndsWithItsTimeOrItsProcess) {
  Create();
  core_.CancelCreateTeam(processes_[0].id, 2, "another request");
  core_.CancelCreateTeam(processes_[0].id, 1, "its time is over");
  ExpectJoinAndCancel(FailureCause::kNotFormedInTime);
  Create();
  core_.Detach(processes_[0].id, /*died=*/true, "it was killed");
  ExpectJoinAndCancel(FailureCause::kProcessDied);
}

TEST_F(FormationsTest, RequestsWaitForAPlannerThatRestarts) {
  PlannerRestarts();
  sent_.clear();
  Create();
  RunFor(absl::Seconds(4));
  EXPECT_EQ(refused(), FailureReport{});
  Registered();
  Take<schedule::JoinTeam>();
}

TEST_F(FormationsTest, RequestsFailWithoutAPlannerAndItsOtherMembersAreTold) {
  core_.OnPlannerDown();
  Create();
  RunFor(absl::Seconds(6));
  EXPECT_EQ(refused().cause, FailureCause::kNoPlanner);
  EXPECT_EQ(refused().node, "n0");
  EXPECT_THAT(refused().text, Names("team 't'"));
  Create();
  EXPECT_EQ(refused().cause, FailureCause::kNoPlanner);  // at once by now
  core_.OnPlannerUp();
  sent_.clear();
  Registered();
  ExpectJoinAndCancel(FailureCause::kNoPlanner);  // the two requests were for one rank
}

TEST_F(FormationsTest, AFailureIsNotToldWhenNobodyCanWaitForItAnyMore) {
  core_.OnPlannerDown();
  Create();
  RunFor(absl::Seconds(6));
  RunFor(absl::Seconds(30));
  core_.OnPlannerUp();
  sent_.clear();
  Registered();
  EXPECT_TRUE(sent_.empty());
}

TEST_F(FormationsTest, ARequestThatHasFailedEndsWithItsProcess) {
  core_.OnPlannerDown();
  Create();
  RunFor(absl::Seconds(6));
  EXPECT_EQ(refused().cause, FailureCause::kNoPlanner);
  core_.Detach(processes_[0].id, /*died=*/false, "it has ended");
  core_.OnPlannerUp();
  sent_.clear();
  Registered();
  EXPECT_TRUE(sent_.empty());
}

// The planner would form it, only to be told of the failure next.
TEST_F(FormationsTest, AFailureIsNotToldWhereThereAreNoOtherMembers) {
  core_.OnPlannerDown();
  Create({.request = 1, .name = "alone", .rank = Rank(0), .size = 1});
  RunFor(absl::Seconds(6));
  EXPECT_EQ(refused().cause, FailureCause::kNoPlanner);
  core_.OnPlannerUp();
  sent_.clear();
  Registered();
  EXPECT_TRUE(sent_.empty());
}

TEST_F(DaemonCoreTest, ATeamOfABrokenParentIsRefusedWithTheParentsReason) {
  FormTeam();
  core_.OnPlannerMessage(schedule::BreakTeam{.team = kTeam, .why = {Failure::kCanceled, "by=admin"}});
  core_.CreateTeam(processes_[0].id,
                   {.request = 3, .parent = processes_[0].handle, .name = "s", .rank = Rank(0), .size = 2});
  EXPECT_EQ(processes_[0].refused.failure, Failure::kCanceled);
  EXPECT_THAT(processes_[0].refused.text, Names("by=admin"));
}

// --- Measurements ---

TEST_F(DaemonCoreTest, ItDoesNotMeasureTheWayToItself) {
  core_.OnPlannerMessage(
      schedule::MeasureQuery{.query = 4, .peer = {"n0", Incarnation(kSelf), "fake"}, .active = true});
  const auto reply = Take<schedule::MeasureReply>();
  EXPECT_EQ(reply.query, 4u);
  EXPECT_EQ(reply.why.failure, Failure::kNoResource);
}

}  // namespace
}  // namespace copse::daemon
