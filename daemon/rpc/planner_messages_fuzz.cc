// SPDX-License-Identifier: Apache-2.0
//
// Feeds a planner's messages, as they come from the stream, to a whole daemon core with a client: mostly plans, of
// teams and of their derived teams. The input is a list of steps: a message, time that passes, or an action of the
// client. The planner's side must be able to read all answers of the core.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/testing/fuzzed_core.h"
#include "daemon/core/testing/test_plan.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"
#include "rpc/control_conversion.h"
#include "schedule/plan.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using daemon::EncodeStep;
using daemon::FuzzedCore;
using daemon::StepHead;

constexpr TeamId kTeam(7);
constexpr uint32_t kNodes = 2;
constexpr uint64_t kElements = 10;

enum Step : uint8_t { kMessage, kTime, kCreate, kCall, kDestroy, kCancel, kDie, kStepCount };

// Encodes a step. `number` is a collective, a rank, a request, or seconds.
std::string Encoded(Step step, uint8_t number, std::string_view body = "") {
  return EncodeStep({.step = step, .number = number}, body);
}

std::string Encoded(const schedule::ToDaemon& message) {
  v1::ToDaemon proto;
  rpc::ToProto(message, &proto);
  return Encoded(kMessage, 0, proto.SerializeAsString());
}

class Target : public FuzzedCore {
 public:
  Target() { core().OnPlannerUp(); }

  void RunToEnd(std::string_view input) {
    Run(input);
    (void)core().Status(/*latencies=*/true);
    End();
  }

  void Send(const schedule::FromDaemon& message) override {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    CHECK(rpc::FromProto(proto).ok());
  }

 private:
  void Take(const StepHead& head, std::string_view body) override {
    switch (head.step % kStepCount) {
      case kMessage: {
        v1::ToDaemon proto;
        if (!proto.ParseFromArray(body.data(), static_cast<int>(body.size()))) return;
        const auto message = rpc::FromProto(proto);
        if (message.ok()) core().OnPlannerMessage(*message);
        return;
      }
      case kTime:
        clock().Advance(absl::Seconds(head.number));
        return;
      case kCreate:
        core().CreateTeam(client(),
                          {.request = ++requests_, .name = "fuzz", .rank = Rank(head.number), .size = kNodes});
        return;
      case kCall:
        return Call(PlanCollective(static_cast<Collective>(head.number % kCollectiveCount)));
      case kDestroy:
        core().DestroyTeam(client(), ++requests_, handle());
        return;
      case kCancel:
        core().CancelCreateTeam(client(), head.number, "it gave up");
        return;
      case kDie:
        End();
        Attach();
        return;
    }
  }

  void Call(Collective collective) {
    constexpr uint64_t kBytes = kNodes * kElements * sizeof(int32_t);
    daemon::CallPost post;
    post.arguments = {.collective = collective,
                      .type = ElementType::kInt32,
                      .count = collective == Collective::kBarrier ? 0 : kElements};
    post.send_bytes = post.receive_bytes = kBytes;
    Post(post);
  }

  uint64_t requests_ = 0;
};

schedule::Plan PlanOf(Collective collective, uint32_t nodes) {
  using Neighbors = std::vector<std::vector<uint32_t>>;
  schedule::Plan plan = daemon::TestPlan(collective, nodes == 1 ? Neighbors(1) : Neighbors{{1}, {0}});
  if (collective == Collective::kAlltoall) {
    plan.kind = schedule::PlanKind::kCirculant;
    plan.neighbors = nodes == 1 ? Neighbors{{0}, {}} : Neighbors{{0, 1}, {1}};
  }
  return plan;
}

// Returns a Prepare for two ranks on `nodes` nodes.
schedule::Prepare PrepareOf(Family family, uint32_t nodes) {
  schedule::Prepare prepare{.epoch = EpochId(1)};
  prepare.layout = {.id = TeamId(kTeam.value() + static_cast<uint64_t>(family)),
                    .identity = {.uid = 1, .name = "fuzz", .family = family},
                    .shape = {.node_of_rank = {NodeIndex(0), NodeIndex(nodes - 1)}, .node_count = nodes}};
  if (family != Family::kCommon) prepare.layout.parent = kTeam;
  for (uint32_t n = 0; n < nodes; ++n) {
    prepare.layout.nodes.push_back({"n" + std::to_string(n), Incarnation(FuzzedCore::kIncarnation + n), "fake"});
  }
  std::string all;
  for (const Collective collective : CollectivesOf(family)) {
    prepare.plans.push_back(schedule::EncodePlan(PlanOf(collective, nodes)));
    all += prepare.plans.back();
  }
  prepare.hash = schedule::PlanHash(all);
  if (family == Family::kCommon) {
    // The client's joins, as far as it has made them.
    prepare.requests = {{1, Rank(0)}};
    if (nodes == 1) prepare.requests.emplace_back(2, Rank(1));
  }
  return prepare;
}

std::string Formed(Family family, uint32_t nodes) {
  const schedule::Prepare prepare = PrepareOf(family, nodes);
  schedule::Commit commit{.team = prepare.layout.id, .epoch = EpochId(1)};
  if (nodes == 2) commit.outgoing = {{NodeIndex(1), 9000}};
  return Encoded(prepare) + Encoded(commit);
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  const std::string up =
      Encoded(schedule::Registered{.accepted = true, .features = {schedule::Feature::kDerivedTeams}});
  for (const uint32_t nodes : {1u, 2u}) {
    std::string team = up + Encoded(kCreate, 0);
    if (nodes == 1) team += Encoded(kCreate, 1);
    team += Formed(Family::kCommon, nodes);
    for (uint8_t c = 0; c < kCollectiveCount; ++c) {
      const Family family = FamilyOf(static_cast<Collective>(c));
      std::string steps = team + Encoded(kCall, c);
      if (family != Family::kCommon) steps += Formed(family, nodes);
      seeds.push_back(steps + Encoded(kCall, c) + Encoded(kTime, 3) + Encoded(schedule::BreakTeam{kTeam, {}}));
    }
    schedule::Prepare next = PrepareOf(Family::kCommon, nodes);
    next.epoch = EpochId(2);
    next.requests.clear();
    // These joins are over when the team that they made is committed.
    const std::string canceled = Encoded(kCancel, 1) + Encoded(kCancel, 2);
    for (const std::string& gone : {Encoded(kDie, 0), canceled}) {
      seeds.push_back(up + Encoded(kCreate, 0) + Encoded(kCreate, 1) + Encoded(PrepareOf(Family::kCommon, nodes)) +
                      gone + Formed(Family::kCommon, nodes));
    }
    // The derived team has the number of a team that is still prepared.
    schedule::Prepare renumbered = PrepareOf(Family::kRooted, nodes);
    renumbered.layout.id = kTeam;
    seeds.push_back(up + Encoded(kCreate, 0) + Encoded(kCreate, 1) + Encoded(PrepareOf(Family::kCommon, nodes)) +
                    Encoded(renumbered));
    if (nodes == 1) {  // one join is answered twice
      schedule::Prepare twice = PrepareOf(Family::kCommon, nodes);
      twice.requests = {{1, Rank(0)}, {1, Rank(0)}};
      seeds.push_back(up + Encoded(kCreate, 0) + Encoded(twice) +
                      Encoded(schedule::Commit{.team = kTeam, .epoch = EpochId(1)}) + Encoded(kCall, 1));
    }
    const schedule::Abort abort{.team = kTeam, .epoch = EpochId(2), .why = {schedule::Failure::kCanceled, "no"}};
    seeds.push_back(team + Encoded(next) + Encoded(kCall, 3) + Encoded(kTime, 5) + Encoded(abort));
    seeds.push_back(team + Encoded(next) +
                    Encoded(schedule::Commit{.team = kTeam, .epoch = EpochId(2), .first_call = CallSeq(8)}) +
                    Encoded(kDestroy, 0) + Encoded(schedule::EndTeam{kTeam}));
  }
  seeds.push_back(up + Encoded(schedule::StatusQuery{.query = 1, .latencies = true}) +
                  Encoded(schedule::TraceQuery{.query = 2, .records = 9}) +
                  Encoded(schedule::TraceQuery{.query = 2, .records = 9, .owner = 1}) + Encoded(schedule::Drain{true}) +
                  Encoded(kCreate, 0));
  schedule::MeasureQuery measure{
      .query = 3, .peer = {"n1", Incarnation(FuzzedCore::kIncarnation + 1), "fake"}, .active = true};
  measure.pings = 3;
  measure.ping_ns_max = measure.bulk_ns_max = measure.timeout_ns = 1'000'000'000;
  measure.bulk_bytes_max = 1 << 20;
  seeds.push_back(up + Encoded(measure) + Encoded(kTime, 2));
  schedule::Abort refused{.team = kTeam, .epoch = EpochId(1), .why = {schedule::Failure::kNoResource, "no room"}};
  refused.requests = {1};
  seeds.push_back(up + Encoded(kCreate, 0) + Encoded(refused));
  return seeds;
}

void OneInput(std::string_view bytes) {
  Target target;
  target.RunToEnd(bytes);
}

}  // namespace copse::fuzzing
