// SPDX-License-Identifier: Apache-2.0
//
// Replays what daemons of earlier versions sent: this planner accepts it, and says the same as the planner of their
// time.
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "planner/server/testing/planner_life.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "protocol/control.h"
#include "rpc/control_conversion.h"
#include "rpc/testing/recorded_stream.h"
#include "schedule/plan.h"
#include "schedule/verify.h"

namespace copse::planner {
namespace {

// Returns the message without what versions may word or choose otherwise: texts, plans, the planner's abilities.
std::string MeaningOf(v1::ToDaemon message) {
  if (message.has_registered()) {
    message.mutable_registered()->clear_features();
    message.mutable_registered()->clear_leader_number();
    message.mutable_registered()->clear_cluster();
  } else if (message.has_prepare()) {
    message.mutable_prepare()->clear_plans();
    message.mutable_prepare()->clear_hash();
  } else if (message.has_commit()) {
    auto* const labels = message.mutable_commit()->mutable_outgoing();
    std::sort(labels->begin(), labels->end(), [](const auto& a, const auto& b) { return a.neighbor() < b.neighbor(); });
  } else if (message.has_abort()) {
    message.mutable_abort()->mutable_why()->clear_text();
  } else if (message.has_break_team()) {
    message.mutable_break_team()->mutable_why()->clear_text();
  }
  return message.ShortDebugString();
}

// Administrators' questions come from outside of the recording.
bool IsQuery(const v1::ToDaemon& message) {
  return message.has_status_query() || message.has_trace_query() || message.has_measure_query();
}

class DaemonStream {
 public:
  explicit DaemonStream(const Life& life) : stub_(v1::DaemonService::NewStub(life.Channel())) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(40));
    stream_ = stub_->Attach(&context_);
  }
  ~DaemonStream() { context_.TryCancel(); }

  void Send(const v1::FromDaemon& message) { EXPECT_TRUE(stream_->Write(message)); }

  // Awaits a message with this meaning. Messages that follow each other in the recording may come in another order.
  void Await(const std::string& meaning) {
    while (true) {
      const auto found = std::find(received_.begin(), received_.end(), meaning);
      if (found != received_.end()) {
        received_.erase(found);
        return;
      }
      v1::ToDaemon message;
      if (!stream_->Read(&message)) {
        for (const std::string& other : received_) ADD_FAILURE() << "received: " << other;
        FAIL() << "not received: " << meaning;
      }
      if (message.has_prepare()) CheckPlans(message);
      if (!IsQuery(message)) received_.push_back(MeaningOf(message));
    }
  }
  // Returns the messages that were received, but not awaited.
  const std::vector<std::string>& rest() const { return received_; }

 private:
  static void CheckPlans(const v1::ToDaemon& message) {
    const auto decoded = rpc::FromProto(message);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    const auto& prepare = std::get<schedule::Prepare>(*decoded);
    std::vector<schedule::Plan> plans;
    for (const std::string& bytes : prepare.plans) plans.push_back(schedule::DecodePlan(bytes).value());
    EXPECT_EQ(schedule::VerifyPlans(plans, prepare.layout.shape), absl::OkStatus());
  }

  std::unique_ptr<v1::DaemonService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromDaemon, v1::ToDaemon>> stream_;
  std::vector<std::string> received_;
};

TEST(RecordedDaemonsTest, DaemonsOf020AreAnsweredAsByTheirPlanner) {
  Life life(TestFile("db"));
  std::map<std::string, std::unique_ptr<DaemonStream>> streams;
  std::vector<std::thread> administrators;
  std::map<uint64_t, uint32_t> epochs;
  // These daemons have reported these teams as broken. Whether a daemon is told by the planner what it has reported
  // itself depends on whose report comes first.
  std::set<std::pair<std::string, uint64_t>> reporters;
  for (const rpc::RecordedMessage& recorded : rpc::ReadRecording("rpc/testing/recordings/v0.2.0.txt")) {
    std::unique_ptr<DaemonStream>& stream = streams[recorded.node];
    if (const auto* sent = std::get_if<v1::FromDaemon>(&recorded.message)) {
      if (sent->has_register_()) stream = std::make_unique<DaemonStream>(life);
      if (!sent->has_status_reply() && !sent->has_trace_reply()) stream->Send(*sent);
      if (sent->has_team_broken()) reporters.emplace(recorded.node, sent->team_broken().team());
      // Queries were not repeated, so their answers are only read.
      EXPECT_TRUE(rpc::FromProto(*sent).ok());
      continue;
    }
    const auto& expected = std::get<v1::ToDaemon>(recorded.message);
    if (IsQuery(expected)) continue;
    if (expected.has_drain()) {
      v1::DrainNodeRequest request;
      v1::DrainNodeReply reply;
      request.set_node(recorded.node);
      request.set_off(!expected.drain().on());
      EXPECT_TRUE(Ask(life, &v1::AdminService::Stub::DrainNode, request, &reply).ok());
    }
    const uint64_t team = expected.prepare().layout().id();
    if (expected.has_prepare() && expected.prepare().epoch() == 2 && std::exchange(epochs[team], 2) != 2) {
      administrators.emplace_back([&life, team] {  // answered once the epoch is there
        v1::ReplanTeamRequest request;
        v1::ReplanTeamReply reply;
        request.set_team(team);
        request.set_algorithm("flat");
        EXPECT_TRUE(Ask(life, &v1::AdminService::Stub::ReplanTeam, request, &reply).ok());
      });
    }
    if (expected.has_break_team() && reporters.contains({recorded.node, expected.break_team().team()})) continue;
    stream->Await(MeaningOf(expected));
    if (HasFatalFailure()) break;
  }
  for (const auto& [node, stream] : streams) {
    for (const std::string& other : stream->rest()) {
      if (!other.starts_with("break_team")) ADD_FAILURE() << node << " received: " << other;
    }
  }
  streams.clear();
  for (std::thread& administrator : administrators) administrator.join();
}

}  // namespace
}  // namespace copse::planner
