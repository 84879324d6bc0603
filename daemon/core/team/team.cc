// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/team.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "protocol/log_subject.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;
using schedule::ReportOf;

Team::Team(emu::Engine* engine, TeamHost* host, SharedLayout layout, NodeIndex self, ReadyTeams* ready,
           Account::Holding held)
    : host_(host),
      first_record_(host->instruments() == nullptr ? 0 : host->instruments()->next_record()),
      held_(std::move(held)),
      ready_(ready, this),
      members_(std::move(layout), self),
      edges_(host, &members_),
      epochs_({.engine = engine,
               .members = &members_,
               .edges = &edges_,
               .ready = &ready_,
               .instruments = host->instruments(),
               .owner = held_.account()}),
      leavers_(&members_, &epochs_),
      calls_({.host = host, .members = &members_, .epochs = &epochs_, .leavers = &leavers_, .breaker = this}) {}

// --- The planner's decisions ---

schedule::PrepareReply Team::Prepare(EpochId epoch, const absl::StatusOr<std::shared_ptr<const VerifiedPlans>>& plans,
                                     const PortEdges* like) {
  if (broken()) {
    schedule::PrepareReply reply{.team = id(), .epoch = epoch};
    reply.started = calls_.Started();
    reply.why = *broken();
    return reply;
  }
  return epochs_.Prepare(epoch, plans, calls_.Started(), host_->Now(), like);
}

absl::Status Team::Commit(EpochId epoch, CallSeq first_call, const std::vector<schedule::EdgeLabel>& outgoing) {
  RETURN_IF_ERROR(epochs_.Commit(epoch, first_call, calls_.Started(), outgoing));
  calls_.StartPending();
  return absl::OkStatus();
}

const PortEdges* Team::LabeledEdges() const {
  if (!ready()) return nullptr;
  const PortEdges& edges = epochs_.ports().back()->edges();
  return edges.HasAllRemoteLabels() ? &edges : nullptr;
}

void Team::Abort(EpochId epoch) {
  if (epochs_.Abort(epoch)) calls_.StartPending();
}

bool Team::AskForDecision(absl::Duration age) {
  if (broken()) return false;
  const std::optional<std::vector<uint32_t>> nodes = epochs_.TakeNodesToAsk(host_->Now(), age);
  if (!nodes) return false;
  // The nodes may not be neighbors in a committed epoch, so this connects to them if necessary.
  for (const uint32_t index : *nodes) {
    const schedule::TeamNode& node = members_.node(index);
    if (!host_->AcquireNeighbor(node).ok()) continue;
    host_->SendToPeer(node.incarnation, EpochAskMessage{.team = id(), .epoch = epochs_.prepared_epoch()});
    host_->ReleaseNeighbor(node.incarnation);
  }
  return ready();
}

// --- Members ---

bool Team::Leave(Rank rank) {
  const uint32_t local = members_.LocalIndex(rank);
  members_.RemoveClient(rank);
  calls_.Leave(local);
  if (!broken()) {
    if (const std::optional<LeftMessage> left = members_.Leave(rank, calls_.next(local))) edges_.SendToAll(*left);
    CheckLeavers();
  }
  return !members_.HasClients();
}

void Team::CheckLeavers() {
  const uint32_t foremost = calls_.Foremost();
  if (const auto why = leavers_.Check(members_.ranks()[foremost], calls_.next(foremost))) Break(*why);
}

// --- Calls ---

bool Team::Pump() {
  thread_local std::vector<PortEvent> taken;  // shared by all teams of a thread, so that idle ones need no memory
  bool any = false;
  // The start of a pending call may produce further events, so this loops until there are none.
  for (bool more = true; more && !broken();) {
    more = false;
    for (size_t i = 0; i < epochs_.ports().size() && !broken(); ++i) {
      EpochPort* const port = epochs_.ports()[i].get();
      port->TakeEvents(&taken);
      for (const PortEvent& event : taken) {
        more = any = true;
        if (event.kind == PortEvent::Kind::kMismatch) {
          OnMismatch(event);
        } else if (event.kind == PortEvent::Kind::kWrongArrival) {
          OnWrongArrival(event, port->wrong_arrival());
        } else {
          calls_.OnEvent(port, event);
        }
        if (broken()) break;  // the port is gone
      }
    }
    if (more && !broken()) {
      epochs_.Retire();
      calls_.StartPending();
    }
  }
  return any;
}

void Team::OnMismatch(const PortEvent& event) {
  const CallRecord* const ours = epochs_.Find(event.sequence);
  if (ours == nullptr) return;
  SendArguments(event.neighbor, *ours);
  leavers_.OnMismatch(event.neighbor, event.sequence);
  CheckLeavers();
}

void Team::OnWrongArrival(const PortEvent& event, const WrongArrival& wrong) {
  const CallRecord* const ours = epochs_.Find(event.sequence);
  const CallSeq call = ours == nullptr ? event.sequence : ours->call();
  const std::string awaited =
      !wrong.awaited ? "nothing"
      : wrong.awaited->bytes != wrong.bytes
          ? absl::StrCat(wrong.awaited->bytes)
          : absl::StrCat(wrong.awaited->bytes, " at offset ", wrong.awaited->offset, " and not ", wrong.offset);
  const std::string& neighbor = members_.node(event.neighbor.value()).name;
  FailureReport why{Failure::kMismatch,
                    absl::StrCat("call ", call.value(), ": node ", neighbor, " sent what node ", members_.node_name(),
                                 " does not await, named by their first ranks (sender=",
                                 members_.shape().RanksOf(event.neighbor).front().value(), ", receiver=",
                                 members_.ranks().front().value(), ", bytes=", wrong.bytes, ", awaited=", awaited, ")"),
                    FailureCause::kRanksDiffer, neighbor};
  if (ours != nullptr) absl::StrAppend(&why.text, " in ", DescribeArguments(ours->arguments()));
  Break(why);
}

void Team::SendArguments(NodeIndex node, const CallRecord& call) {
  host_->SendToPeer(members_.node(node.value()).incarnation,
                    ArgumentsMessage{id(), call.sequence, call.first, members_.node_name()});
}

bool Team::ProbeStalled(absl::Duration age) {
  const absl::Time now = host_->Now();
  bool any = false;
  for (const auto& port : epochs_.ports()) {
    for (CallRecord* call : port->calls().InFlight()) {
      if (now - call->probed < age) continue;
      any = true;
      call->probed = now;
      for (const NodeIndex node : port->NeighborsOfCall(*call)) SendArguments(node, *call);
    }
  }
  return any;
}

// --- The end ---

void Team::Break(const FailureReport& why, std::optional<Incarnation> from) {
  if (broken()) return;
  COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(layout()), "team ", id().value(), " ", DescribeTeam(layout().identity),
                  " is broken: ", why.text);
  if (Instruments* const instruments = host_->instruments()) instruments->TeamBroken(id(), why.failure);
  edges_.SendToAll(BreakMessage{.team = id(), .why = why}, from);
  calls_.End(why);
  epochs_.Clear();
  host_->OnTeamBroken(id(), *broken());
}

void Team::OnNodeLost(Incarnation incarnation, const FailureReport& why) {
  const std::optional<NodeIndex> node = members_.OtherMember(incarnation);
  if (!node) return;
  FailureReport lost = why;
  lost.text = absl::StrCat(members_.DescribeNode(*node), " lost: ", why.text);
  lost.node = members_.node(node->value()).name;
  if (const auto ranks = members_.shape().RanksOf(*node); ranks.size() == 1) lost.rank = ranks.front();
  Break(lost);
}

void Team::OnSelfLost(Incarnation by, absl::Duration silent) {
  if (!members_.OtherMember(by)) return;
  FailureReport lost{Failure::kMemberLost,
                     absl::StrCat(members_.DescribeNode(members_.self()), " lost: its daemon stood still for ",
                                  absl::FormatDuration(absl::Trunc(silent, absl::Milliseconds(1)))),
                     FailureCause::kNodeSilent, members_.node_name()};
  lost.limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(silent));
  Break(lost);
}

// --- Neighbors ---

bool Team::HasEdgeTo(Incarnation incarnation) const {
  const std::optional<NodeIndex> node = members_.NodeOf(incarnation);
  return node && edges_.Has(*node);
}

void Team::OnPeerMessage(Incarnation from, const PeerMessage& message) {
  const std::optional<NodeIndex> node = members_.NodeOf(from);
  if (!node) return;
  std::visit([&](const auto& m) { On(*node, m); }, message);
}

void Team::On(NodeIndex from, const BreakMessage& message) {
  Break(message.why, members_.node(from.value()).incarnation);
}

void Team::On(NodeIndex, const ArgumentsMessage& message) {
  const CallRecord* const ours = epochs_.Find(message.sequence);
  if (ours == nullptr || ours->arguments() == message.given.arguments) return;
  Break(MismatchReport(ours->call().value(), ours->first, members_.node_name(), message.given, message.node));
}

void Team::On(NodeIndex from, const LeftMessage& message) {
  members_.OnLeft(from, message);
  if (message.all) edges_.Drop(from);
  CheckLeavers();
}

void Team::On(NodeIndex from, const EpochAskMessage& message) {
  host_->SendToPeer(members_.node(from.value()).incarnation, epochs_.Answer(message, from));
}

void Team::On(NodeIndex from, const EpochAnswerMessage& message) {
  const std::optional<CallSeq> first_call = epochs_.OnAnswer(message, from);
  if (!first_call) return;
  if (const absl::Status committed = Commit(message.epoch, *first_call, {}); !committed.ok()) {
    return Break(ReportOf(committed, absl::StrCat("as ", members_.DescribeNode(from), " says")));
  }
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(layout()), "team ", id().value(), ": epoch ", message.epoch.value(),
                  " begins at call ", first_call->value(), ", as a neighbor says");
}

void Team::CheckInvariants() const {
  epochs_.CheckInvariants();
  calls_.CheckInvariants();
  if (broken()) CHECK(!ready() && epochs_.prepared_epoch() == EpochId(0) && edges_.Neighbors().empty());
}

}  // namespace copse::daemon
