// SPDX-License-Identifier: Apache-2.0
//
// Sends arbitrary daemon messages, encoded as on their streams, to a coordinator with the planner's own plans, and then
// runs every query and change of administrators. The input is a list of steps: a stream begins or ends, a message
// arrives on one, time passes, the planner is restarted. Daemons must be able to read every message of the coordinator.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/testing/fake_clock.h"
#include "base/version.h"
#include "planner/admin/admin_rows.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/threads/cluster_plan_maker.h"
#include "proto/copse/v1/admin.pb.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"
#include "rpc/control_conversion.h"
#include "schedule/plan.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using coordinator::SessionId;

enum Step : uint8_t { kConnect, kMessage, kDisconnect, kTime, kRestart, kLoseStore, kStepCount };
constexpr size_t kHeadBytes = 4;  // step, stream or seconds, bytes of the message (two)
constexpr uint32_t kStreams = 3;

std::string Encoded(Step step, uint8_t number, std::string_view body = "") {
  std::string out = {static_cast<char>(step), static_cast<char>(number), static_cast<char>(body.size() & 0xff),
                     static_cast<char>(body.size() >> 8)};
  return out.append(body);
}

std::string Encoded(uint8_t stream, const schedule::FromDaemon& message) {
  v1::FromDaemon proto;
  rpc::ToProto(message, &proto);
  return Encoded(kMessage, stream, proto.SerializeAsString());
}

class Target : public coordinator::SessionSink {
 public:
  Target() { Restart(); }

  void Run(std::string_view input) {
    while (input.size() >= kHeadBytes) {
      const auto byte = [&](size_t i) { return static_cast<uint8_t>(input[i]); };
      const auto step = static_cast<Step>(byte(0) % kStepCount);
      const size_t bytes = std::min<size_t>(byte(2) | byte(3) << 8, input.size() - kHeadBytes);
      Take(step, byte(1), input.substr(kHeadBytes, bytes));
      input.remove_prefix(kHeadBytes + bytes);
    }
    Pass(absl::Seconds(60));
    Administrate();
  }

  void Send(SessionId, const schedule::ToDaemon& message) override {
    v1::ToDaemon proto;
    rpc::ToProto(message, &proto);
    CHECK(rpc::FromProto(proto).ok());
  }
  void Close(SessionId session, const std::string&) override {
    for (auto& [stream, open] : streams_) {
      if (open == session) open = 0;
    }
  }

 private:
  void Restart() {
    streams_.clear();
    coordinator_ = std::make_unique<coordinator::Coordinator>(&clock_, &store_, &plan_maker_, this,
                                                              coordinator::CoordinatorOptions{});
    CHECK(coordinator_->Start().ok());
  }

  void Take(Step step, uint8_t number, std::string_view body) {
    SessionId& session = streams_[number % kStreams];
    switch (step) {
      case kConnect:
        if (session != 0) return;
        session = ++sessions_;
        return coordinator_->OnConnected(session, "fuzz");
      case kMessage: {
        v1::FromDaemon proto;
        if (session == 0 || !proto.ParseFromArray(body.data(), static_cast<int>(body.size()))) return;
        const auto message = rpc::FromProto(proto);
        if (message.ok()) coordinator_->OnMessage(session, *message);
        return;
      }
      case kDisconnect:
        if (session != 0) coordinator_->OnDisconnected(std::exchange(session, 0));
        return;
      case kTime:
        return Pass(absl::Seconds(number));
      case kLoseStore:
        store_ = coordinator::MemoryStore();
        return Restart();
      case kRestart:
      case kStepCount:
        return Restart();
    }
  }

  void Pass(absl::Duration duration) {
    const absl::Time end = clock_.Now() + duration;
    for (int turns = 0; coordinator_->NextDeadline() < end && turns < 1000; ++turns) {
      clock_.Advance(std::max(coordinator_->NextDeadline() - clock_.Now(), absl::ZeroDuration()));
      coordinator_->Tick(clock_.Now());
    }
    clock_.Advance(std::max(end - clock_.Now(), absl::ZeroDuration()));
    coordinator_->Tick(clock_.Now());
  }

  void Administrate() {
    for (const coordinator::NodeInfo& node : coordinator_->view().Nodes()) {
      v1::NodeRow row;
      planner::FillNode(node, &row);
      (void)coordinator_->view().FindNode(node.announcement->name).ok();
    }
    for (const coordinator::PlanInfo& plan : coordinator_->view().Plans()) {
      v1::PlanRow row;
      planner::FillPlan(plan, {}, &row);
      coordinator_->view().Explain(plan.plan.id, std::nullopt, [](const auto&) {});
      coordinator_->view().CriticalPath(plan.plan.id, [](const auto&) {});
    }
    for (const coordinator::TeamInfo& team : coordinator_->view().Teams()) {
      v1::TeamRow row;
      planner::FillTeam(team, 0, &row);
      coordinator_->ReplanTeam(team.layout.id, {}, [](const absl::Status&) {});
      (void)coordinator_->BreakTeam(team.layout.id, "fuzz").ok();
    }
    coordinator_->queries().QueryStatus({}, absl::Seconds(1), [this](const coordinator::StatusAnswer& answer) {
      for (const coordinator::CollectiveInfo& info : coordinator_->view().MergeCalls(answer)) {
        v1::CollectiveRow row;
        planner::FillCollective(info, nullptr, &row);
      }
    });
    for (const coordinator::NodeInfo& node : coordinator_->view().Nodes()) {
      const std::string name = node.announcement->name;
      coordinator_->SetDraining(name, "why", [](const absl::Status&) {});
      (void)coordinator_->RemoveNode(name).ok();
    }
    Pass(absl::Hours(3));
  }

  FakeClock clock_;
  coordinator::MemoryStore store_;
  planner::ClusterPlanMaker plan_maker_{planner::ClusterModel{}};
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::map<uint32_t, SessionId> streams_;
  SessionId sessions_ = 0;
};

schedule::Register RegisterOf(uint8_t stream, std::vector<schedule::RunningTeam> teams = {}, uint64_t term = 0) {
  schedule::Register message{.teams = std::move(teams), .term = term};
  message.node.name = "n" + std::to_string(stream);
  message.node.incarnation = Incarnation(100 + stream);
  message.node.worker_address = "address";
  message.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  message.node.features = {schedule::Feature::kDerivedTeams};
  return message;
}

std::string Registered(uint8_t stream, std::vector<schedule::RunningTeam> teams = {}, uint64_t term = 0) {
  return Encoded(kConnect, stream) + Encoded(stream, RegisterOf(stream, std::move(teams), term));
}

schedule::Plan PairPlan(Collective collective, uint64_t bytes_min, uint64_t bytes_max) {
  return {.id = PlanId(2'000'001),
          .collective = collective,
          .bytes_min = bytes_min,
          .bytes_max = bytes_max,
          .algorithm = "pair",
          .node_count = 2,
          .segment_bytes = schedule::kSegmentBytesUsual,
          .neighbors = {{1}, {0}}};
}

// Returns a team with one rank on each of two nodes.
schedule::RunningTeam Running(uint32_t epoch, uint32_t prepared,
                              const schedule::Plan& plan = PairPlan(Collective::kBarrier, 0, 0)) {
  schedule::RunningTeam team{.epoch = EpochId(epoch), .prepared_epoch = EpochId(prepared)};
  team.layout =
      schedule::TeamLayout{.id = TeamId(2'000'001),
                           .identity = {.uid = 1, .name = "fuzz"},
                           .shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1)}, .node_count = 2},
                           .nodes = {{"n0", Incarnation(100), "address"}, {"n1", Incarnation(101), "address"}}};
  team.plans = std::vector<std::string>{schedule::EncodePlan(plan)};
  return team;
}

}  // namespace

std::vector<std::string> Seeds() {
  SetLogLevel(LogLevel::kError);
  const auto join = [](uint8_t stream) {
    return Encoded(stream, schedule::JoinTeam{
                               .request = 1, .identity = {.uid = 1, .name = "new"}, .rank = Rank(stream), .size = 2});
  };
  const auto accepted = [](uint8_t stream) {
    return Encoded(stream, schedule::PrepareReply{.team = TeamId(1'000'001),
                                                  .epoch = EpochId(1),
                                                  .accepted = true,
                                                  .incoming = {{NodeIndex(1u - stream), 7u + stream}}});
  };
  const std::string both = Registered(0) + Registered(1);
  const std::string formed = both + join(0) + join(1) + accepted(0) + accepted(1);
  return {formed + Encoded(0, schedule::CommitReply{TeamId(1'000'001), EpochId(1)}) +
              Encoded(1, schedule::LeaveTeam{TeamId(1'000'001)}),
          formed + Encoded(kDisconnect, 1) + Encoded(kTime, 9) + Encoded(kRestart, 0) + both,
          both + join(0) + join(1) + accepted(0) + Encoded(kDisconnect, 1) + Registered(1),
          Registered(0, {Running(1, 0)}, 2) + Encoded(kTime, 7) + Registered(1, {Running(1, 2)}, 2),
          Registered(0, {Running(2, 0)}, 2) + Registered(1, {Running(1, 2)}, 2) +
              Encoded(1, schedule::EpochQuery{TeamId(2'000'001), EpochId(2)}),
          Registered(0, {Running(0, 1)}, 2) + Registered(1, {Running(1, 0)}, 2) + Encoded(kLoseStore, 0) +
              Registered(1, {Running(1, 0)}, 2) + Registered(0),
          Registered(0, {Running(1, 0)}, 2) + Registered(1, {Running(1, 0)}, 2) +
              Encoded(0, schedule::NeighborSilent{.neighbor = Incarnation(101), .teams = {TeamId(2'000'001)}}) +
              Encoded(1, schedule::TeamBroken{TeamId(2'000'001), {schedule::Failure::kMemberLost, "gone"}}) +
              Encoded(0, schedule::Stopping{.done = true}),
          Registered(0, {Running(1, 0, PairPlan(Collective::kReduce, uint64_t{1} << 32, schedule::kCallBytesMax))}, 2)};
}

void OneInput(std::string_view bytes) {
  Target target;
  target.Run(bytes);
}

}  // namespace copse::fuzzing
