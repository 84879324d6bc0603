// SPDX-License-Identifier: Apache-2.0
//
// What other daemons say, and what their silence means.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "daemon/core/daemon_core_impl.h"

namespace copse::daemon {
namespace {

// In heartbeats: until all neighbours of a silent node have noticed it (the last heartbeat may have reached one and not
// the next, and daemons look twice a heartbeat), and how long the planner's verdict is waited for.
constexpr int kOthersNotice = 2;
constexpr int kVerdictWait = 4;

// Which team a message is about; 0: none.
struct TeamOf {
  template <typename Message>
  TeamId operator()(const Message& m) const {
    if constexpr (requires { m.team; }) {
      return m.team;
    } else {
      return TeamId(0);
    }
  }
};

}  // namespace

void DaemonCore::Impl::OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) {
  absl::StatusOr<PeerMessage> decoded =
      DecodePeerMessage(type, std::string_view(reinterpret_cast<const char*>(message.data()), message.size()));
  if (!decoded.ok()) {
    COPSE_LOG(kWarning, "from daemon ", from.value(), ": ", decoded.status().message());
    return;
  }
  peer_messages_.emplace_back(from, *std::move(decoded));
}

void DaemonCore::Impl::OnPeerDown(Incarnation peer, const absl::Status& why) {
  COPSE_LOG(kInfo, "neighbour ", peer.value(), ": ", why.message());
  peers_down_.push_back(peer);
}

absl::Status DaemonCore::Impl::SendMessage(Incarnation peer, const PeerMessage& message, emu::ControlPlace place) {
  const EncodedPeerMessage encoded = EncodePeerMessage(message);
  return engine_.SendControl(
      peer, encoded.type,
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(encoded.body.data()), encoded.body.size()), place);
}

void DaemonCore::Impl::SendToPeer(Incarnation peer, const PeerMessage& message) {
  // Who has left is not listened to any more: what it sent before has to come first.
  const bool is_last = std::holds_alternative<LeftMessage>(message);
  const absl::Status sent =
      SendMessage(peer, message, is_last ? emu::ControlPlace::kBehind : emu::ControlPlace::kAhead);
  if (!sent.ok()) COPSE_LOG(kDebug, "to daemon ", peer.value(), ": ", sent.message());
}

absl::Status DaemonCore::Impl::AcquireNeighbour(const schedule::TeamNode& node) {
  return neighbours_.Acquire(node, clock_->Now());
}

absl::Status DaemonCore::Impl::ConnectForMeasuring(const schedule::TeamNode& peer) {
  if (peer.incarnation == options_.node.incarnation) return absl::InvalidArgumentError("that is this daemon itself");
  return neighbours_.AcquireGuest(peer, clock_->Now());
}

bool DaemonCore::Impl::HandlePeers() {
  const auto down = std::exchange(peers_down_, {});
  const auto messages = std::exchange(peer_messages_, {});
  for (const auto& [from, message] : messages) {
    if (std::holds_alternative<HeartbeatMessage>(message)) {  // OnPeerHeard has noted it
      ++heartbeats_received_;
      continue;
    }
    if (const std::optional<MeterMessage> meter = AsMeterMessage(message)) {
      meters_.OnMessage(from, *meter, turn_cost_);
      continue;
    }
    if (const auto* calls = std::get_if<CallsMessage>(&message)) {
      OnCalls(from, *calls);
      continue;
    }
    if (const auto* differ = std::get_if<CallsDifferMessage>(&message)) {
      if (const Team* team = FindTeam(differ->team); team != nullptr && team->HasEdgeTo(from)) OnCallsDiffer(*differ);
      continue;
    }
    const TeamId id = std::visit(TeamOf{}, message);
    Team* team = FindTeam(id);
    if (team == nullptr) continue;
    const bool was_ready = team->ready();
    const EpochId before = team->epoch();
    team->OnPeerMessage(from, message);
    // A neighbor knew what the planner had decided; the planner may have lost that.
    if (team->epoch() != before) SendToPlanner(schedule::CommitReply{.team = id, .epoch = team->epoch()});
    if (!was_ready && team->ready()) TellFormed(team);
  }
  for (const Incarnation peer : down) {
    // For people; the log has the transport's words.
    const std::string why = "its daemon's connection was reset";
    // What is known of a node from measuring alone must not break a team that reaches it on another way.
    const bool guest = neighbours_.OnlyGuest(peer);
    meters_.OnPeerDown(peer, why);
    if (guest) {
      neighbours_.Lost(peer);
    } else if (WasGivenUp()) {
      for (const auto& [id, team] : teams_) {
        team->OnSelfLost(peer, stood_still_);
      }
      LoseNode(peer, {schedule::Failure::kMemberLost, why, FailureCause::kConnectionLost});
    } else {
      LoseNode(peer, {schedule::Failure::kMemberLost, why, FailureCause::kConnectionLost});
    }
  }
  FailBrokenFormations();
  return !down.empty() || !messages.empty();
}

void DaemonCore::Impl::CompareCalls(const Team& team) {
  const auto it = histories_.find(team.id());
  if (it == histories_.end() || team.broken()) return;
  CallHistory::Summary summary = it->second.Summarize();
  const CallsMessage message{team.id(), summary.first, std::move(summary.hashes)};
  for (const Incarnation neighbour : team.Neighbours()) SendToPeer(neighbour, message);
}

void DaemonCore::Impl::OnCalls(Incarnation from, const CallsMessage& m) {
  const Team* team = FindTeam(m.team);
  const auto it = histories_.find(m.team);
  if (team == nullptr || team->broken() || !team->HasEdgeTo(from) || it == histories_.end()) return;
  const std::optional<uint64_t> number = it->second.FirstDifference(m.first, m.hashes);
  if (!number) return;
  const RankArguments& ours = *it->second.Find(*number);
  SendToPeer(from, CallsDifferMessage{m.team, *number, ours.rank, options_.node.name, ours.arguments});
}

void DaemonCore::Impl::OnCallsDiffer(const CallsDifferMessage& m) {
  const auto it = histories_.find(m.team);
  const RankArguments* ours = it == histories_.end() ? nullptr : it->second.Find(m.number);
  if (ours == nullptr || ours->arguments == m.arguments) return;
  FindTeam(m.team)->Break(MismatchReport(m.number, *ours, options_.node.name, {m.rank, m.arguments}, m.node));
}

// Neighbours close the connection to a daemon that they heard nothing from: it is not they who are lost.
bool DaemonCore::Impl::WasGivenUp() const {
  return stood_still_ >= options_.node_timeout && clock_->Now() - went_on_ < options_.node_timeout / 2;
}

void DaemonCore::Impl::LoseNode(Incarnation peer, const schedule::FailureReport& why) {
  COPSE_LOG(kInfo, "neighbour ", peer.value(), " lost: ", why.text);
  ++neighbours_lost_;
  for (const auto& [id, team] : teams_) team->OnNodeLost(peer, why);
  neighbours_.Lost(peer);
}

void DaemonCore::Impl::WeighSilence(absl::Time now) {
  const std::vector<schedule::TeamNode> silent = neighbours_.Silent(now, options_.node_timeout);
  for (auto it = accused_.begin(); it != accused_.end();) {
    const Incarnation peer = it->first;
    const bool still = std::any_of(silent.begin(), silent.end(),
                                   [&](const schedule::TeamNode& node) { return node.incarnation == peer; });
    if (still) {
      ++it;
      continue;
    }
    if (registered_) SendToPlanner(schedule::NeighbourSilent{.neighbour = peer, .silent = false});
    if (!neighbours_.InUse(peer)) {  // the verdict has come
      ++neighbours_lost_;
      neighbours_.Lost(peer);
    }
    it = accused_.erase(it);
  }
  const bool weighed = registered_ && weighs_silence_;
  for (const schedule::TeamNode& node : silent) {
    const auto [it, is_new] = accused_.try_emplace(node.incarnation, now);
    if (weighed && is_new) {
      Accuse(node.incarnation, now);
    } else if (!weighed || now - it->second >= kVerdictWait * options_.heartbeat) {
      accused_.erase(it);
      LoseNode(node.incarnation, {.failure = schedule::Failure::kMemberLost,
                                  .text = absl::StrCat("silent for ", absl::FormatDuration(options_.node_timeout)),
                                  .cause = FailureCause::kNodeSilent,
                                  .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.node_timeout))});
    }
  }
}

void DaemonCore::Impl::Accuse(Incarnation peer, absl::Time now) {
  // Of what is about to be silent too, nothing was heard for long.
  const absl::Duration lately = std::max(options_.node_timeout / 2, kOthersNotice * options_.heartbeat);
  schedule::NeighbourSilent message{.neighbour = peer, .living = neighbours_.HeardSince(now - lately)};
  message.silent_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.node_timeout));
  message.others_due_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(kOthersNotice * options_.heartbeat));
  for (const auto& [id, team] : teams_) {
    if (team->HasEdgeTo(peer)) message.teams.push_back(id);
  }
  SendToPlanner(message);
}

}  // namespace copse::daemon
