// SPDX-License-Identifier: Apache-2.0
//
// A daemon's core and two processes of its node that are ranks of a team; the test plays planner and neighbor.
#ifndef COPSE_DAEMON_CORE_TESTING_TEAM_FIXTURE_H_
#define COPSE_DAEMON_CORE_TESTING_TEAM_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/testing/fake_clock.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/testing/test_plan.h"
#include "gtest/gtest.h"
#include "offload_emu/alu/alu.h"
#include "offload_emu/packet.h"
#include "offload_emu/testing/fake_transport.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// One process of the team.
struct Process : public ClientSink {
  void OnEvent(const ClientEvent& event) override { ends[event.value] = event.failure; }
  void OnTeamReady(uint64_t, uint32_t ready, const schedule::TeamLayout&) override { handle = ready; }
  void OnTeamFailed(uint64_t, const schedule::FailureReport& why) override { refused = why; }
  void OnTeamDestroyed(uint64_t, const schedule::FailureReport& why) override { destroyed = why; }
  void OnClosing(const std::string&) override {}

  ClientId id = 0;
  uint32_t handle = 0;
  std::map<uint64_t, schedule::FailureReport> ends;  // of calls, by value
  schedule::FailureReport destroyed{schedule::Failure::kInternal, "not yet"};
  schedule::FailureReport refused;
};

// What a call that has not ended ended with.
inline const schedule::FailureReport kWaits{schedule::Failure::kNone, "waits"};

// The team has ranks 0 and 1 on node 0, which is the core's, and rank 2 on node 1.
class TeamFixture : public ::testing::Test, public PlannerLink {
 protected:
  static constexpr TeamId kTeam{7};
  static constexpr uint32_t kNodes = 2;
  static constexpr uint64_t kSelf = 100;  // incarnation of node 0; the next one is node 1's

  TeamFixture()
      : core_(&clock_, &transport_, this,
              {.node = {.name = "n0", .incarnation = Incarnation(kSelf)},
               .node_timeout = absl::Hours(1),
               .pending_calls_max = 3,
               .instruments = &instruments_}) {
    SetLogLevel(LogLevel::kError);
    core_.OnPlannerUp();
    Registered();
    sent_.clear();
  }

  void PlannerRestarts() {
    core_.OnPlannerDown();
    core_.OnPlannerUp();
  }

  void TearDown() override { core_.CheckInvariants(); }

  void Registered(schedule::Features features = {schedule::Feature::kDerivedTeams}) {
    core_.OnPlannerMessage(schedule::Registered{.accepted = true, .features = std::move(features)});
  }
  static std::vector<std::string> PlansOf(Family family) {
    std::vector<std::string> plans;
    for (const Collective c : CollectivesOf(family)) plans.push_back(schedule::EncodePlan(TestPlan(c, {{1}, {0}})));
    return plans;
  }
  static schedule::TeamLayout Layout() {
    schedule::TeamLayout layout{.id = kTeam, .identity = {.uid = 1, .name = "t"}, .shape = {.node_count = kNodes}};
    layout.shape.node_of_rank = {NodeIndex(0), NodeIndex(0), NodeIndex(1)};
    for (uint32_t n = 0; n < kNodes; ++n)
      layout.nodes.push_back({"n" + std::to_string(n), Incarnation(kSelf + n), "fake"});
    return layout;
  }

  // --- The team's formation ---
  void PrepareTeam() {
    schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1)};
    for (uint32_t r = 0; r < 2; ++r) {
      processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
      core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
      prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
    }
    prepare.plans = PlansOf(Family::kCommon);
    prepare.has_sub_teams = has_sub_teams_;
    core_.OnPlannerMessage(prepare);
    const auto reply = Take<schedule::PrepareReply>();
    EXPECT_TRUE(reply.accepted);
    if (!reply.incoming.empty()) incoming_label_ = reply.incoming[0].label;
  }
  void CommitTeam() {
    core_.OnPlannerMessage(schedule::Commit{.team = kTeam, .epoch = EpochId(1), .outgoing = {{NodeIndex(1), 9000}}});
    Take<schedule::CommitReply>();
  }
  void FormTeam() {
    PrepareTeam();
    CommitTeam();
    EXPECT_NE(processes_[0].handle, 0u);
  }

  void Leave(uint32_t rank) { core_.DestroyTeam(processes_[rank].id, 2, processes_[rank].handle); }
  void LeaveAll() {
    for (uint32_t r = 0; r < 2; ++r) Leave(r);
  }

  // --- Calls ---
  // Returns the call's value.
  uint64_t Post(uint32_t rank, Collective collective, uint64_t count = 8) {
    CallPost post{.team = processes_[rank].handle, .value = ++calls_};
    post.arguments = {.collective = collective, .type = ElementType::kUint8, .count = count, .root = 2};
    post.send = post.receive = memory_;
    post.send_bytes = post.receive_bytes = sizeof(memory_);
    core_.Post(processes_[rank].id, std::move(post));
    core_.CheckInvariants();
    return calls_;
  }
  // What the call ended with; kWaits if it has not ended.
  schedule::FailureReport EndOf(uint32_t rank, uint64_t value) {
    const auto it = processes_[rank].ends.find(value);
    return it == processes_[rank].ends.end() ? kWaits : it->second;
  }

  // --- What the planner is told ---
  template <typename T>
  T Take() {
    if (sent_.empty() || !std::holds_alternative<T>(sent_.front())) {
      ADD_FAILURE() << (sent_.empty() ? "nothing was sent" : "another message was sent");
      return T{};
    }
    T message = std::get<T>(sent_.front());
    sent_.erase(sent_.begin());
    return message;
  }
  void Send(const schedule::FromDaemon& message) override { sent_.push_back(message); }

  // Handles a packet of the neighbor for call `sequence`, which counts on `counter`; `failed`: its operation did.
  void ReceivePacket(uint16_t sequence, uint16_t hash, uint32_t counter, std::vector<uint8_t> payload,
                     bool failed = false) {
    emu::RecordAndPayload packet;
    packet.record.header = {.label = incoming_label_, .sequence = sequence, .hash = hash};
    packet.record.kind = static_cast<uint8_t>(emu::RecordKind::kPacket);
    packet.record.flags = emu::kRecordTrigger | (failed ? emu::kRecordError : 0);
    packet.record.bytes = static_cast<uint32_t>(payload.size());
    packet.record.counter = counter;
    packet.record.region = emu::kCellOfEdge;
    packet.payload = std::move(payload);
    transport_.to_deliver.push_back(emu::MakeDataFrame(Incarnation(kSelf + 1), Incarnation(kSelf), {packet}));
    while (core_.Progress()) {
    }
    core_.CheckInvariants();
  }

  // Handles a message of the neighbor.
  void Receive(const PeerMessage& message) {
    const EncodedPeerMessage encoded = EncodePeerMessage(message);
    emu::FrameHeader header{};
    header.version = static_cast<uint8_t>(kPacketVersion);
    header.kind = static_cast<uint8_t>(emu::FrameKind::kControl);
    header.count = encoded.type;
    header.bytes = static_cast<uint32_t>(encoded.body.size());
    header.source_incarnation = kSelf + 1;
    header.destination_incarnation = kSelf;
    const auto* const head = reinterpret_cast<const uint8_t*>(&header);
    std::vector<uint8_t> frame(head, head + sizeof(header));
    frame.insert(frame.end(), encoded.body.begin(), encoded.body.end());
    transport_.to_deliver.push_back(std::move(frame));
    while (core_.Progress()) {
    }
    core_.CheckInvariants();
  }

  // --- What the neighbor is told ---
  // All messages of that kind, in order; forgets them, and all else that was sent.
  template <typename T>
  std::vector<T> TakeFromWire() {
    std::vector<T> taken;
    for (const auto& [peer, frame] : std::exchange(transport_.sent, {})) {
      emu::FrameHeader header;
      std::memcpy(&header, frame.data(), sizeof(header));
      if (header.kind != static_cast<uint8_t>(emu::FrameKind::kControl)) continue;
      const std::string_view body(reinterpret_cast<const char*>(frame.data()) + sizeof(header), header.bytes);
      const absl::StatusOr<PeerMessage> message = DecodePeerMessage(header.count, body);
      EXPECT_TRUE(message.ok()) << message.status();
      if (message.ok() && std::holds_alternative<T>(*message)) taken.push_back(std::get<T>(*message));
    }
    return taken;
  }

  FakeClock clock_;
  Instruments instruments_{&clock_, /*trace_records=*/1024};
  emu::FakeTransport transport_;
  std::vector<schedule::FromDaemon> sent_;
  Process processes_[2];
  uint8_t memory_[64] = {};
  uint64_t calls_ = 0;
  uint32_t incoming_label_ = 0;  // of the edge from node 1
  bool has_sub_teams_ = false;   // of the team's Prepare
  DaemonCore core_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TESTING_TEAM_FIXTURE_H_
