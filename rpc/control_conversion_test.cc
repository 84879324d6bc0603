// SPDX-License-Identifier: Apache-2.0
#include "rpc/control_conversion.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"
#include "rpc/status_report.h"

namespace copse::rpc {
namespace {

using schedule::Failure;
using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const schedule::FailureReport kLost{Failure::kMemberLost, "rank 3", FailureCause::kNodeSilent, "n2", Rank{3}, 10};

schedule::TeamLayout Layout() {
  schedule::TeamLayout layout;
  layout.id = TeamId{1ull << 40};
  layout.identity = {1000, "job\xff", 7, "n\xc3\xbc", Family::kSpread};
  layout.parent = TeamId{3};
  layout.shape.node_of_rank = {NodeIndex{0}, NodeIndex{1}, NodeIndex{0}};
  layout.shape.node_count = 2;
  layout.nodes = {{"n1", Incarnation{~0ull}, std::string("a\0b", 3)}, {"n2", Incarnation{2}, ""}};
  layout.window = 16;
  return layout;
}

schedule::Register Registration() {
  schedule::Register message;
  message.node.name = "n1";
  message.node.incarnation = Incarnation{5};
  message.node.worker_address = std::string("\0\xff", 2);
  message.node.version = "0.1.0";
  message.node.formats = {1, 2, 3, 4};
  message.node.cores = 8;
  message.node.memory_limit_bytes = 1ull << 33;
  message.node.admin_address = "127.0.0.1:7471";
  message.node.join_token = "\xfe";
  message.node.features = {schedule::Feature::kDerivedTeams, static_cast<schedule::Feature>(77)};
  message.node.machine = "m1";
  schedule::RunningTeam team;
  team.layout = Layout();
  team.epoch = EpochId{2};
  team.plans = std::vector<std::string>{"p", std::string("\0q", 2)};
  team.broken = true;
  team.why = kLost;
  team.prepared_epoch = EpochId{3};
  message.teams = {team};
  message.term = 1ull << 20;
  message.cluster = "c1";
  return message;
}

schedule::StatusReply Status() {
  schedule::StatusReply message;
  message.query = 9;
  schedule::CallStatus call;
  call.team = TeamId{4};
  call.sequence = CallSeq{77};
  call.arguments = {Collective::kReduce, ElementType::kDouble, ElementOp::kMax, 6, 2};
  call.age_s = 1.5;
  call.joined = {Rank{0}, Rank{2}};
  call.missing = {Rank{1}};
  call.waits_for = Family::kSpread;
  message.status = {"n1",
                    Incarnation{5},
                    "ready",
                    1,
                    2,
                    3,
                    {call},
                    {{TeamId{4}, Rank{1}, CallSeq{76}}},
                    {{"puts", 12}},
                    {{.collective = Collective::kReduce,
                      .bytes_min = 32,
                      .bytes_max = 63,
                      .part = schedule::CallPart::kNetwork,
                      .sum_ns = 30,
                      .min_ns = 10,
                      .max_ns = 20,
                      .buckets = {{9, 1}, {16, 1}}}},
                    {{PlanId{5'000'001}, 9}, {PlanId{5'000'002}, 1}},
                    {{.uid = 1000,
                      .job = "slurm-17",
                      .weight = 4,
                      .claimed = {"17", "other"},
                      .holdings = {{"teams", 3, 896}, {"posts", 0, UINT64_MAX}}}}};
  return message;
}

schedule::StatusReport Report() {
  schedule::DaemonStatus status = Status().status;
  status.calls[0].age_s = absl::ToDoubleSeconds(schedule::kLongCall);
  return ReportOf(std::move(status));
}

schedule::Register Reported() {
  schedule::Register message = Registration();
  message.report = Report();
  return message;
}

schedule::TraceReply Trace() {
  return {.query = 6,
          .clock = "boot",
          .now_ns = 77,
          .wall_ns = -1,
          .first = 4,
          .next = 9,
          .off = false,
          .records = std::string(2 * schedule::kTraceRecordBytes, 'r'),
          .end = 7};
}

schedule::TeamFormed LikeItsParent() {
  schedule::TeamFormed formed{Layout(), EpochId{2}, {}};
  formed.layout.shape = {};
  formed.layout.nodes.clear();
  return formed;
}

std::vector<schedule::FromDaemon> AllFromDaemon() {
  schedule::JoinTeam join{11, Layout().identity, TeamId{3}, Rank{1}, 4, kLost};
  schedule::JoinTeam joins = join;
  joins.identity.family = Family::kCommon;
  joins.more = {{12, Rank{3}}, {13, Rank{0}}};
  schedule::PrepareReply reply{TeamId{1}, EpochId{2}, true, {}, {{NodeIndex{1}, ~0u}, {NodeIndex{0}, 5}}, CallSeq{99}};
  schedule::PrepareReply refusal{TeamId{1}, EpochId{2}, false, {Failure::kNoMemory, "full"}, {}, {}};
  return {Registration(),
          join,
          joins,
          schedule::CancelJoin{11, {Failure::kTimedOut, "gave up"}},
          reply,
          refusal,
          schedule::CommitReply{TeamId{1}, EpochId{2}},
          schedule::LeaveTeam{TeamId{1}},
          schedule::TeamBroken{TeamId{1}, kLost},
          schedule::EpochQuery{TeamId{1}, EpochId{2}},
          Status(),
          Trace(),
          schedule::MeasureReply{.query = 3,
                                 .why = {Failure::kTimedOut, "late"},
                                 .pings = 20,
                                 .round_trip_ns = 21,
                                 .round_trip_median_ns = 22,
                                 .send_ns = 23,
                                 .receive_ns = 24,
                                 .peer_send_ns = 25,
                                 .peer_receive_ns = 26,
                                 .bulk_bytes = 27,
                                 .bulk_ns = 28,
                                 .bulk_steady = true},
          schedule::NeighborSilent{Incarnation{1ull << 63}, true, 2, {TeamId{3}, TeamId{4}}, 10000, 1000},
          schedule::Stopping{true},
          schedule::TeamIdsRequest{},
          schedule::TeamFormed{Layout(), EpochId{0}, {"p"}},
          LikeItsParent(),
          schedule::TeamsHeld{{TeamId{1}, TeamId{1ull << 52}}, std::nullopt},
          schedule::TeamsHeld{{}, Report()},
          Reported(),
          schedule::Pong{},
          schedule::DataAddress{std::string("\0\xff", 2)},
          schedule::DataAddress{"", kLost},
          schedule::TeamPlans{TeamId{7}, EpochId{2}, std::vector<std::string>{"plan", ""}}};
}

std::vector<schedule::ToDaemon> AllToDaemon() {
  schedule::Prepare prepare{Layout(), EpochId{1}, {"p"}, 0x123456789abcdef0, {{8, Rank{2}}}, kLost, true};
  schedule::Commit commit{TeamId{1}, EpochId{2}, CallSeq{113}, {{NodeIndex{1}, 7}}};
  return {
      schedule::Registered{false, {Failure::kVersion, "x"}, {TeamId{4}}, {schedule::Feature::kSilence}, true, 7, "c2"},
      prepare,
      commit,
      schedule::Abort{TeamId{1}, EpochId{1}, {Failure::kMismatch, "y"}, {1, 2}, true},
      schedule::BreakTeam{TeamId{1}, {Failure::kCanceled, "z"}},
      schedule::EndTeam{TeamId{1}},
      schedule::StatusQuery{5, true},
      schedule::StatusQuery{5, false, TeamId{6}},
      schedule::TraceQuery{5, 6, 7, 8},
      schedule::TraceQuery{5, 6, 7, 0},
      schedule::TraceQuery{5, 6, 7, -1},
      schedule::TraceQuery{5, 6, 7, -1, 0},
      schedule::TraceQuery{5, 6, 7, 8, 1000},
      schedule::Drain{true},
      schedule::Cluster{"c3"},
      schedule::Ping{},
      schedule::AddressQuery{},
      schedule::PlansQuery{TeamId{7}},
      schedule::TeamIds{TeamId{3000001}, 1024},
      schedule::MeasureQuery{.query = 3,
                             .peer = {"n2", Incarnation{4}, "address"},
                             .active = true,
                             .pings = 5,
                             .ping_ns_max = 6,
                             .bulk_bytes_max = 7,
                             .bulk_ns_max = 8,
                             .timeout_ns = 9}};
}

template <typename Proto, typename Message>
void ExpectRoundTrip(const Message& message) {
  Proto proto;
  ToProto(message, &proto);
  Proto parsed;
  ASSERT_TRUE(parsed.ParseFromString(proto.SerializeAsString()));
  const absl::StatusOr<Message> back = FromProto(parsed);
  ASSERT_TRUE(back.ok()) << back.status() << proto.DebugString();
  EXPECT_TRUE(*back == message) << proto.DebugString();
}

TEST(ControlConversionTest, EveryKindComesBackWithEveryField) {
  for (const schedule::FromDaemon& message : AllFromDaemon()) ExpectRoundTrip<v1::FromDaemon>(message);
  for (const schedule::ToDaemon& message : AllToDaemon()) ExpectRoundTrip<v1::ToDaemon>(message);
}

TEST(ControlConversionTest, TracesAndLatenciesThatAreNone) {
  v1::FromDaemon proto;
  ToProto(schedule::FromDaemon(Trace()), &proto);
  proto.mutable_trace_reply()->mutable_records()->pop_back();
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "trace_reply", "bytes=63", "record_bytes=32"));
  proto.mutable_trace_reply()->set_records(std::string((schedule::kTracePieceRecordsMax + 1) * 32, 'r'));
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "trace_reply", "records: 262176", "limit 262144"));
  ToProto(schedule::FromDaemon(Status()), &proto);
  proto.mutable_status_reply()->mutable_status()->mutable_latencies(0)->add_count(1);
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "status_reply", "buckets=2", "counts=3"));
  ToProto(schedule::FromDaemon(Status()), &proto);
  auto* const account = proto.mutable_status_reply()->mutable_status()->mutable_accounts(0);
  for (uint32_t i = 0; i < kHoldingsMax; ++i) account->add_holdings();
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "status_reply: holdings"));
}

template <typename Change>
absl::Status Error(const schedule::FromDaemon& message, Change change) {
  v1::FromDaemon proto;
  ToProto(message, &proto);
  change(&proto);
  return FromProto(proto).status();
}

TEST(ControlConversionTest, ErrorsNameMessageAndField) {
  const auto in_team = [](auto change) {
    return Error(Registration(), [&](auto* p) { change(p->mutable_register_()->mutable_teams(0)); });
  };
  const auto in_layout = [&](auto change) { return in_team([&](auto* team) { change(team->mutable_layout()); }); };
  const auto in_node = [](auto change) {
    return Error(Registration(), [&](auto* p) { change(p->mutable_register_()->mutable_node()); });
  };
  const auto in_join = [](auto change) {
    return Error(AllFromDaemon()[1], [&](auto* p) { change(p->mutable_join_team()->mutable_identity()); });
  };
  const auto add_joins = [](auto* p) {
    for (int i = 0; i < 254; ++i) p->mutable_join_team()->add_more()->set_rank(1);
  };
  EXPECT_THAT(Error(AllFromDaemon()[2], add_joins), FailsWith(kInvalid, "join_team: more: 256", "limit 255"));
  const auto derive = [](auto* p) { p->mutable_join_team()->mutable_identity()->set_family(1); };
  EXPECT_THAT(Error(AllFromDaemon()[2], derive), FailsWith(kInvalid, "join_team: more: 2", "limit 0"));
  EXPECT_THAT(Error(Registration(), [](auto* p) { p->Clear(); }), FailsWith(kInvalid, "kind=0"));
  EXPECT_THAT(in_layout([](auto* l) { l->set_id(0); }), FailsWith(kInvalid, "register", "layout", "id: 0"));
  EXPECT_THAT(in_layout([](auto* l) { l->clear_nodes(); }), FailsWith(kInvalid, "register", "layout", "nodes: 0"));
  EXPECT_THAT(in_layout([](auto* l) { l->clear_node_of_rank(); }),
              FailsWith(kInvalid, "register", "layout", "ranks: 0"));
  EXPECT_THAT(in_layout([](auto* l) { l->set_node_of_rank(1, 2); }),
              FailsWith(kInvalid, "register", "layout", "index 2", "nodes 2"));
  EXPECT_THAT(in_layout([](auto* l) { l->set_window(12); }), FailsWith(kInvalid, "register", "layout", "window: 12"));
  EXPECT_THAT(in_layout([](auto* l) { l->mutable_nodes(0)->set_name("a\nb"); }),
              FailsWith(kInvalid, "register", "layout", "name"));
  EXPECT_THAT(in_layout([](auto* l) { l->mutable_nodes(0)->set_worker_address(std::string(65537, 'x')); }),
              FailsWith(kInvalid, "register", "layout", "bytes: 65537", "limit 65536"));
  EXPECT_THAT(in_layout([](auto* l) { l->mutable_identity()->set_job(std::string(65, 'x')); }),
              FailsWith(kInvalid, "register", "job", "bytes: 65", "limit 64"));
  const auto add_plans = [](auto* team) {
    for (int i = 0; i < 1024; ++i) team->add_plans("p");
  };
  EXPECT_THAT(in_team(add_plans), FailsWith(kInvalid, "register", "plans: 1026", "limit 1024"));
  EXPECT_THAT(in_node([](auto* n) { n->set_name(std::string(254, 'n')); }),
              FailsWith(kInvalid, "register", "name", "bytes: 254", "limit 253"));
  EXPECT_THAT(in_node([](auto* n) { n->set_version(std::string(129, 'n')); }),
              FailsWith(kInvalid, "register", "version", "bytes: 129", "limit 128"));
  EXPECT_THAT(in_node([](auto* n) { n->set_admin_address(std::string(257, 'n')); }),
              FailsWith(kInvalid, "register", "bytes: 257", "limit 256"));
  EXPECT_THAT(in_node([](auto* n) { n->set_machine(std::string(129, 'n')); }),
              FailsWith(kInvalid, "register", "machine", "bytes: 129", "limit 128"));
  const auto add_features = [](auto* node) {
    for (uint32_t i = 0; i < 255; ++i) node->add_features(i);
  };
  EXPECT_THAT(in_node(add_features), FailsWith(kInvalid, "register", "features: 257", "limit 256"));
  EXPECT_THAT(in_node([](auto* n) { n->set_worker_address(std::string(65537, 'n')); }),
              FailsWith(kInvalid, "register", "bytes: 65537", "limit 65536"));
  EXPECT_THAT(in_join([](auto* i) { i->set_name(std::string(129, 'x')); }),
              FailsWith(kInvalid, "join_team", "bytes: 129", "limit 128"));
  EXPECT_THAT(in_join([](auto* i) { i->set_name("\x7f"); }), FailsWith(kInvalid, "join_team", "name"));
  EXPECT_THAT(in_join([](auto* i) { i->set_family(4); }), FailsWith(kInvalid, "join_team", "family: 4", "limit 3"));
}

TEST(ControlConversionTest, ReportsHaveRowsOfAdministrators) {
  const auto in_report = [](auto change) {
    return Error(Reported(), [&](auto* p) { change(p->mutable_register_()->mutable_report()); });
  };
  EXPECT_EQ(in_report([](auto*) {}), absl::OkStatus());
  EXPECT_THAT(in_report([](auto* r) { r->set_counters("\xff"); }), FailsWith(kInvalid, "register: report: rows"));
  EXPECT_THAT(in_report([](auto* r) { r->set_accounts(std::string(kReportRowsBytesMax + 1, 'a')); }),
              FailsWith(kInvalid, "register: report", "rows: 1048577", "limit 1048576"));
  EXPECT_THAT(Error(schedule::TeamsHeld{{}, Report()},
                    [](auto* p) { p->mutable_teams_held()->mutable_report()->set_latencies("\x0a"); }),
              FailsWith(kInvalid, "teams_held: report: rows"));
}

TEST(ControlConversionTest, PreparesRequestsMustNameRanks) {
  v1::ToDaemon proto;
  ToProto(AllToDaemon()[1], &proto);
  proto.mutable_prepare()->mutable_requests(0)->set_rank(3);
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "prepare", "requests", "rank 3", "ranks 3"));
  proto.mutable_prepare()->mutable_requests(0)->set_rank(0);
  for (int i = 0; i < 3; ++i) proto.mutable_prepare()->add_requests();
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "prepare", "requests: 4", "limit 3"));
  proto.mutable_prepare()->set_epoch(0);
  EXPECT_THAT(FromProto(proto), FailsWith(kInvalid, "prepare", "epoch: 0"));
  EXPECT_THAT(FromProto(v1::ToDaemon()), FailsWith(kInvalid, "kind=0"));
}

TEST(ControlConversionTest, TextsAreMadeReadable) {
  v1::ToDaemon proto;
  ToProto(schedule::ToDaemon(schedule::BreakTeam{TeamId{1}, {Failure::kMismatch, "a\xff\nb"}}), &proto);
  EXPECT_EQ(proto.break_team().why().text(), "a? b");
  proto.mutable_break_team()->mutable_why()->set_failure(static_cast<v1::Failure>(99));
  EXPECT_EQ(std::get<schedule::BreakTeam>(*FromProto(proto)).why.failure, Failure::kInternal);
}

TEST(ControlConversionTest, CallsOfAnUnknownKindAreLeftOut) {
  v1::FromDaemon proto;
  const auto expect_left_out = [&](auto change) {
    ToProto(schedule::FromDaemon(Status()), &proto);
    change(proto.mutable_status_reply()->mutable_status()->mutable_calls(0)->mutable_arguments());
    EXPECT_TRUE(std::get<schedule::StatusReply>(*FromProto(proto)).status.calls.empty());
  };
  expect_left_out([](auto* arguments) { arguments->set_collective(99); });
  expect_left_out([](auto* arguments) { arguments->set_type(200); });
}

// Converts random bytes of a peer: there is no crash, and accepted messages can be sent again.
template <typename Proto, typename Message>
void Mutate(const std::vector<Message>& messages, uint64_t seed) {
  Prng prng(seed);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Proto proto;
    ToProto(messages[prng.Below(messages.size())], &proto);
    std::string bytes = proto.SerializeAsString();
    for (uint64_t n = prng.Below(4); n > 0 && !bytes.empty(); --n) {
      const size_t at = prng.Below(bytes.size());
      switch (prng.Below(3)) {
        case 0:
          bytes[at] = static_cast<char>(prng.Next());
          break;
        case 1:
          bytes.erase(at, 1 + prng.Below(8));
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(prng.Next()));
      }
    }
    Proto parsed;
    if (!parsed.ParseFromString(bytes)) continue;
    const auto message = FromProto(parsed);
    if (!message.ok()) continue;
    ++accepted;
    Proto again;
    ToProto(*message, &again);
    EXPECT_TRUE(FromProto(again).ok());
  }
  EXPECT_GT(accepted, 100);
}

TEST(ControlConversionTest, GarbageIsRefusedOrHarmless) {
  Mutate<v1::FromDaemon>(AllFromDaemon(), 1);
  Mutate<v1::ToDaemon>(AllToDaemon(), 2);
}

}  // namespace
}  // namespace copse::rpc
