// SPDX-License-Identifier: Apache-2.0
//
// What neighbors send, to a whole daemon core: a team with all its derived teams runs on three nodes, and this one has
// calls in flight. The input is a list of steps: a frame of a neighbor, time that passes, or a call of the own rank.
// Frames have good headers, since spoilt ones are offload_emu:engine_fuzz_test's. What neighbors say of counts is data
// to the engine, and comes in such frames.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/testing/fuzzed_core.h"
#include "daemon/core/testing/test_plan.h"
#include "offload_emu/packet.h"
#include "offload_emu/testing/fake_transport.h"
#include "schedule/plan.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using daemon::EncodeStep;
using daemon::FuzzedCore;
using daemon::PeerMessage;
using daemon::StepHead;

constexpr uint32_t kNodes = 3;
constexpr TeamId kTeam(7);
constexpr EpochId kEpoch(1);
constexpr uint32_t kRemoteLabel = 9000;
constexpr uint32_t kElements = 300;      // several packets
constexpr uint32_t kBlockElements = 10;  // of irregular collectives: a packet
constexpr uint16_t kInOrder = 16;        // of a call: reproducibly

// Its `number`, modulo kNodes, is the neighbor who sends; its `count` the records of a data frame, a control message's
// type, milliseconds, or a collective and kInOrder.
enum Step : uint8_t { kData, kControl, kTime, kCall, kStepCount };

CallArguments Arguments(Collective collective, bool in_order = false) {
  CallArguments arguments{.collective = collective,
                          .type = in_order ? ElementType::kFloat : ElementType::kInt32,
                          .op = ElementOp::kSum,
                          .count = collective == Collective::kBarrier ? 0 : kElements,
                          .root = 0};
  if (in_order) arguments.options = kReproducible;
  if (!IsIrregular(collective)) return arguments;
  arguments.count = 0;
  if (KnowsCounts(collective, arguments.options)) {
    arguments.count = kNodes * kBlockElements;
    arguments.counts_hash = HashCounts(std::vector<uint64_t>(kNodes, kBlockElements * sizeof(int32_t)));
  }
  return arguments;
}

// Around node 0; alltoall and half of the others along a cycle.
schedule::Plan PlanOf(Collective collective) {
  schedule::Plan plan = daemon::TestPlan(collective, {{1, 2}, {0}, {0}});
  if (collective == Collective::kAlltoall) {
    plan.kind = schedule::PlanKind::kCirculant;
    plan.neighbors = {{0, 1, 2}, {1, 2}};
  } else if (collective == Collective::kAllgather || collective == Collective::kScan) {
    plan.kind = schedule::PlanKind::kCirculant;
    plan.neighbors = {{0, 1, 2}, {1}};
  }
  return plan;
}

TeamId TeamOf(Family family) { return TeamId(kTeam.value() + static_cast<uint64_t>(family)); }

// A core whose team is committed, and one client of it.
class Target : public FuzzedCore {
 public:
  Target() {
    core().OnPlannerUp();
    core().OnPlannerMessage(schedule::Registered{.accepted = true, .features = {schedule::Feature::kDerivedTeams}});
    core().CreateTeam(client(), {.request = 1, .name = "fuzz", .rank = Rank(0), .size = kNodes});
    for (int f = 0; f < kFamilyCount; ++f) Form(static_cast<Family>(f));
    CHECK(handle() != 0);
    Call(Collective::kAllreduce, false);
  }

  uint32_t LabelFor(uint32_t neighbor, Family family) const {
    for (const schedule::EdgeLabel& edge : prepared_.at(TeamOf(family)).incoming) {
      if (edge.neighbor == NodeIndex(neighbor)) return edge.label;
    }
    return 0;
  }

  void RunToEnd(std::string_view input) {
    Run(input);
    // Whatever they sent: the team can be broken, and then every call has been answered.
    core().OnPlannerMessage(schedule::BreakTeam{kTeam, {schedule::Failure::kMemberLost, "the end"}});
    Turn();
    CHECK(unanswered() == 0);
    CHECK(core().Idle());
    End();
  }

  void Send(const schedule::FromDaemon& message) override {
    if (const auto* join = std::get_if<schedule::JoinTeam>(&message)) join_ = join->request;
    if (const auto* reply = std::get_if<schedule::PrepareReply>(&message)) prepared_[reply->team] = *reply;
  }
  void OnTeamFailed(uint64_t, const schedule::FailureReport&) override { CHECK(false); }
  void OnTeamDestroyed(uint64_t, const schedule::FailureReport&) override { CHECK(false); }

 private:
  void Take(const StepHead& head, std::string_view body) override {
    switch (head.step % kStepCount) {
      case kData:
      case kControl: {
        emu::FrameHeader header{};
        header.version = 1;
        header.kind = static_cast<uint8_t>(head.step % kStepCount == kData ? emu::FrameKind::kData  //
                                                                           : emu::FrameKind::kControl);
        header.count = head.count;
        header.bytes = static_cast<uint32_t>(body.size());
        header.source_incarnation = FuzzedCore::kIncarnation + head.number % kNodes;
        header.destination_incarnation = FuzzedCore::kIncarnation;
        emu::Bytes frame(sizeof(header) + body.size());
        std::memcpy(frame.data(), &header, sizeof(header));
        if (!body.empty()) std::memcpy(frame.data() + sizeof(header), body.data(), body.size());
        transport().to_deliver.push_back(std::move(frame));
        return;
      }
      case kTime:
        clock().Advance(absl::Milliseconds(head.count));
        return;
      case kCall:
        Call(static_cast<Collective>(head.count % kCollectiveCount), (head.count & kInOrder) != 0);
        return;
    }
  }

  void Form(Family family) {
    schedule::Prepare prepare{.epoch = kEpoch};
    prepare.layout = {.id = TeamOf(family), .identity = {.uid = 1, .name = "fuzz"}, .shape = {.node_count = kNodes}};
    if (family == Family::kCommon) {
      prepare.requests = {{join_, Rank(0)}};
    } else {
      prepare.layout.identity.family = family;
      prepare.layout.parent = kTeam;
    }
    for (uint32_t n = 0; n < kNodes; ++n) {
      prepare.layout.shape.node_of_rank.push_back(NodeIndex(n));
      prepare.layout.nodes.push_back({"n" + std::to_string(n), Incarnation(FuzzedCore::kIncarnation + n), "fake"});
    }
    for (const Collective collective : CollectivesOf(family)) {
      prepare.plans.push_back(schedule::EncodePlan(PlanOf(collective)));
    }
    core().OnPlannerMessage(prepare);
    CHECK(prepared_.at(TeamOf(family)).accepted);
    schedule::Commit commit{.team = TeamOf(family), .epoch = kEpoch};
    for (uint32_t n = 1; n < kNodes; ++n) {
      if (LabelFor(n, family) != 0) commit.outgoing.push_back({NodeIndex(n), kRemoteLabel + n});
    }
    core().OnPlannerMessage(commit);
  }

  void Call(Collective collective, bool in_order) {
    daemon::CallPost post{.arguments = Arguments(collective, in_order)};
    const uint64_t block = (IsIrregular(collective) ? kBlockElements : kElements) * sizeof(int32_t);
    BlockList list;
    for (uint32_t n = 0; n < kNodes; ++n) list.push_back({n * block, block});
    const auto bytes = [&](BufferKind kind) {
      return kind == BufferKind::kNone ? 0 : kind == BufferKind::kOne ? block : kNodes * block;
    };
    post.send_bytes = bytes(SendBuffer(collective, 0, 0));
    post.receive_bytes = bytes(ReceiveBuffer(collective, 0, 0));
    const uint8_t options = post.arguments.options;
    if (GivesSendBlocks(collective, options, 0, 0)) {
      post.send_blocks = std::make_shared<const BlockList>(list);
    }
    if (GivesReceiveBlocks(collective, options, 0, 0)) {
      post.receive_blocks = std::make_shared<const BlockList>(list);
    }
    Post(post);
  }

  uint64_t join_ = 0;
  std::map<TeamId, schedule::PrepareReply> prepared_;
};

std::string Control(uint8_t neighbor, const PeerMessage& message) {
  const daemon::EncodedPeerMessage encoded = daemon::EncodePeerMessage(message);
  return EncodeStep({kControl, neighbor, encoded.type}, encoded.body);
}

// A neighbor's part in a first call, a packet.
std::string PacketTo(const Target& target, uint8_t neighbor, const CallArguments& call, uint32_t counter,
                     std::string payload) {
  emu::Record record{};
  // What is combined in order of ranks goes by alltoall's plan.
  const Family family = call.options == kReproducible ? Family::kAlltoall : FamilyOf(call.collective);
  record.header = {target.LabelFor(neighbor, family), 0, HashArguments(call)};
  record.kind = static_cast<uint8_t>(emu::RecordKind::kPacket);
  record.flags = emu::kRecordTrigger;
  payload.resize(std::min<size_t>(payload.size(), emu::kMpPayloadBytes));
  record.bytes = static_cast<uint32_t>(payload.size());
  record.counter = counter;
  std::string body(reinterpret_cast<const char*>(&record), sizeof(record));
  return EncodeStep({kData, neighbor, 1}, body + payload);
}

std::string Contribution(const Target& target, uint8_t neighbor, uint32_t counter) {
  return PacketTo(target, neighbor, Arguments(Collective::kAllreduce), counter,
                  std::string(emu::kMpPayloadBytes, '\1'));
}

std::string CallOf(Collective collective, bool in_order = false) {
  return EncodeStep({kCall, 0, static_cast<uint16_t>(static_cast<int>(collective) + (in_order ? kInOrder : 0))});
}

// What both neighbors say of an alltoallv: as schedule::PairNote, bytes, a hash of the counts, the longest of all.
std::string NoteOfBlocks(uint64_t bytes_max) {
  const uint64_t block = kBlockElements * sizeof(int32_t);
  const uint64_t note[] = {block, HashCounts({block}), bytes_max};
  return std::string(reinterpret_cast<const char*>(note), sizeof(note)) + std::string(block, '\1');
}

// A call with what both neighbors may send first.
std::string CallWith(const Target& target, Collective collective, bool in_order, const std::string& payload) {
  const CallArguments arguments = Arguments(collective, in_order);
  std::string steps = CallOf(collective, in_order);
  for (uint8_t neighbor = 1; neighbor < kNodes; ++neighbor) {
    for (uint32_t counter = 0; counter < 2; ++counter) {
      steps += PacketTo(target, neighbor, arguments, counter, payload);
    }
  }
  return steps + CallOf(collective, in_order);
}

// One of every collective.
std::vector<std::string> Calls(const Target& target) {
  std::vector<std::string> calls;
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const bool in_order : {false, true}) {
      if (in_order && !Reduces(collective)) continue;
      const uint64_t block = kBlockElements * sizeof(int32_t);
      calls.push_back(CallWith(target, collective, in_order,
                               HasPairSizes(collective) ? NoteOfBlocks(block) : std::string(block, '\1')));
    }
  }
  return calls;
}

}  // namespace

std::vector<std::string> Seeds() {
  const Target target;
  const std::string call = CallOf(Collective::kBarrier);
  const std::string second = EncodeStep({kTime, 0, 1000});
  std::vector<std::string> seeds = {
      Contribution(target, 1, 0) + Contribution(target, 2, 0) + call,
      Contribution(target, 1, 0) + Contribution(target, 1, 1) + second + Contribution(target, 2, 1),
      Control(1, daemon::HeartbeatMessage{}) + second + Control(2, daemon::HeartbeatMessage{}) + second,
      Control(2, daemon::BreakMessage{kTeam, {schedule::Failure::kMemberLost, "rank 1 lost"}}),
      Control(1, daemon::ArgumentsMessage{kTeam, CallSeq(0), {Rank(1), Arguments(Collective::kAllreduce)}, "n1"}) +
          Control(2, daemon::ArgumentsMessage{kTeam, CallSeq(0), {Rank(2), Arguments(Collective::kReduce)}, "n2"}),
      call + Control(1, daemon::LeftMessage{kTeam, CallSeq(1), Rank(1), true}) + call,
      call + Control(1, daemon::LeftMessage{kTeam, CallSeq(1), Rank(1), false}) + call,
      Control(1, daemon::EpochAskMessage{kTeam, kEpoch}) +
          Control(2, daemon::EpochAnswerMessage{kTeam, kEpoch, true, CallSeq(40), kRemoteLabel}),
      Control(1, daemon::MeterPing{.query = 5, .number = 3}) + Control(1, daemon::MeterBulk{.query = 5}) +
          Control(1, daemon::MeterAck{.query = 5, .bytes = 9000, .at_ns = 77}) +
          Control(1, daemon::MeterEnd{.query = 5}),
      CallOf(Collective::kGather) + Control(1, daemon::CallsMessage{kTeam, 0, {1, 2}}) +
          Control(2, daemon::CallsDifferMessage{kTeam, 0, {Rank(2), Arguments(Collective::kScatter)}, "n2"}),
  };
  for (std::string& steps : Calls(target)) seeds.push_back(std::move(steps));
  // Others have more for one another than there is memory: this node waits for them, and is not busy.
  seeds.push_back(CallWith(target, Collective::kAlltoallv, false, NoteOfBlocks(schedule::kCallBytesMax)));
  return seeds;
}

void OneInput(std::string_view bytes) {
  Target target;
  target.RunToEnd(bytes);
}

}  // namespace copse::fuzzing
