// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "schedule/verify.h"

namespace copse::daemon {
namespace {

using schedule::Failure;
using schedule::FailureCause;
using schedule::FailureReport;
using schedule::ReportOf;

}  // namespace

Team::Team(emu::Engine* engine, TeamHost* host, schedule::TeamLayout layout, NodeIndex self, ReadyTeams* ready)
    : engine_(engine),
      host_(host),
      ready_(ready, this),
      layout_(std::move(layout)),
      self_(self),
      shape_(layout_.shape) {
  for (const Rank rank : shape_.RanksOf(self_)) members_.push_back({.rank = rank});
}

Team::~Team() {
  for (const auto& port : epochs_) ReleaseEdges(*port);
}

// --- Epochs ---

schedule::PrepareReply Team::Prepare(EpochId epoch, const std::vector<std::string>& encoded_plans) {
  schedule::PrepareReply reply{.team = id(), .epoch = epoch};
  reply.started = Started();
  if (broken_) {
    reply.why = *broken_;
    return reply;
  }
  if (prepared_ == nullptr || prepared_->epoch() != epoch) {
    std::vector<schedule::Plan> plans;
    plans.reserve(encoded_plans.size());
    for (const std::string& encoded : encoded_plans) {
      absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
      if (!plan.ok()) {
        reply.why = ReportOf(plan.status(), "plans refused");
        return reply;
      }
      plans.push_back(*std::move(plan));
    }
    if (const absl::Status verified = schedule::VerifyPlans(plans, layout_.shape); !verified.ok()) {
      reply.why = ReportOf(verified, "plans refused");
      return reply;
    }
    auto port =
        EpochPort::Open(engine_, &shape_, layout_, self_, epoch, std::move(plans), &ready_, host_->instruments());
    if (!port.ok()) {
      reply.why = ReportOf(port.status(), "no room for the team");
      return reply;
    }
    prepared_ = *std::move(port);
    prepared_at_ = host_->Now();
    hold_from_ = CallSeq(Started().value() + layout_.window);
    decided_first_call_.reset();
  }
  reply.accepted = true;
  reply.incoming = prepared_->IncomingLabels();
  return reply;
}

absl::Status Team::Commit(EpochId epoch, CallSeq first_call, const std::vector<schedule::EdgeLabel>& outgoing) {
  if (!epochs_.empty() && epochs_.back()->epoch() == epoch) return absl::OkStatus();  // said again
  if (prepared_ == nullptr || prepared_->epoch() != epoch) {
    return absl::FailedPreconditionError(
        absl::StrCat("team ", id().value(), ": commit of an epoch that is not prepared (epoch=", epoch.value(),
                     ", prepared=", prepared_epoch().value(), ")"));
  }
  AcquireEdges(*prepared_);  // connected first: a label lets the engine send
  for (const schedule::EdgeLabel& edge : outgoing) {
    const absl::Status set = prepared_->SetRemoteLabel(edge.neighbour, edge.label);
    if (set.ok()) continue;
    ReleaseEdges(*prepared_);
    return set;
  }
  prepared_->SetFirstCall(first_call);
  if (Instruments* const instruments = host_->instruments()) instruments->EpochSwitched(id(), epoch, first_call);
  epochs_.push_back(std::move(prepared_));
  decided_first_call_.reset();
  RetireEpochs();
  StartPending();
  return absl::OkStatus();
}

void Team::Abort(EpochId epoch) {
  if (prepared_ == nullptr || prepared_->epoch() != epoch) return;
  prepared_.reset();
  decided_first_call_.reset();
  StartPending();
}

std::vector<std::string> Team::EncodedPlans() const {
  std::vector<std::string> encoded;
  if (epochs_.empty()) return encoded;
  for (const schedule::Plan& plan : epochs_.back()->plans()) encoded.push_back(schedule::EncodePlan(plan));
  return encoded;
}

bool Team::AskForDecision(absl::Duration age) {
  if (prepared_ == nullptr || broken_ || host_->Now() - prepared_at_ < age) return false;
  prepared_at_ = host_->Now();  // asks again after the same time
  // Every neighbour of the new epoch knows the label that it issued for us, and perhaps the decision. Those of the
  // running epoch may know it too, and are connected.
  for (const uint32_t node : prepared_->neighbours()) {
    const schedule::TeamNode& neighbour = layout_.nodes[node];
    if (!host_->AcquireNeighbour(neighbour).ok()) continue;
    host_->SendToPeer(neighbour.incarnation, EpochAskMessage{.team = id(), .epoch = prepared_->epoch()});
    host_->ReleaseNeighbour(neighbour.incarnation);
  }
  return !epochs_.empty();
}

bool Team::IsHeld() const {
  return prepared_ != nullptr && std::any_of(members_.begin(), members_.end(), [this](const Member& member) {
           return !member.pending.empty() && member.next >= hold_from_;
         });
}

EpochPort& Team::PortFor(CallSeq sequence) const {
  for (size_t i = epochs_.size(); i-- > 1;) {
    if (epochs_[i]->first_call() <= sequence) return *epochs_[i];
  }
  return *epochs_[0];
}

CallSeq Team::Started() const {
  CallSeq started{0};
  for (const Member& member : members_) started = std::max(started, member.next);
  return started;
}

void Team::RetireEpochs() {
  while (epochs_.size() > 1 && epochs_[0]->FinishedBelow() >= epochs_[1]->first_call()) {
    const bool used = std::any_of(long_calls_.begin(), long_calls_.end(),
                                  [&](const auto& run) { return run.second.port == epochs_[0].get(); });
    if (used) return;
    // All its calls are over here, so every neighbour has sent what it had to send for them: nobody needs its credit.
    ReleaseEdges(*epochs_[0]);
    epochs_.erase(epochs_.begin());
  }
}

void Team::AcquireEdges(const EpochPort& port) {
  for (const uint32_t node : port.neighbours()) {
    if (HasLeft(node)) continue;
    const absl::Status acquired = host_->AcquireNeighbour(layout_.nodes[node]);
    if (!acquired.ok()) {
      COPSE_LOG(kWarning, "team ", id().value(), ": no connection to node ", layout_.nodes[node].name, ": ",
                acquired.message());
      continue;
    }
    if (++acquired_[node] > 1) continue;
    if (const auto left = left_.find(self_.value()); left != left_.end()) {
      host_->SendToPeer(layout_.nodes[node].incarnation, left->second);
    }
  }
}

void Team::ReleaseEdges(const EpochPort& port) {
  for (const uint32_t node : port.neighbours()) {
    const auto it = acquired_.find(node);
    if (it == acquired_.end()) continue;
    host_->ReleaseNeighbour(layout_.nodes[node].incarnation);
    if (--it->second == 0) acquired_.erase(it);
  }
}

// --- Members ---

void Team::Join(Rank rank, ClientId client) { members_[LocalIndex(rank)].client = client; }

bool Team::Leave(Rank rank) {
  Member& member = members_[LocalIndex(rank)];
  member.client.reset();
  member.pending.clear();
  const bool all = std::none_of(members_.begin(), members_.end(), [](const Member& m) { return m.client.has_value(); });
  if (broken_) return all;
  const auto [it, is_first] = left_.try_emplace(self_.value(), LeftMessage{id(), member.next, rank});
  LeftMessage& left = it->second;
  const bool is_earlier = member.next < left.calls;
  if (is_earlier) left = {id(), member.next, rank};
  left.all = all;
  if (is_first || is_earlier || all) {
    for (const auto& [node, edges] : acquired_) host_->SendToPeer(layout_.nodes[node].incarnation, left);
  }
  CheckLeavers();
  return all;
}

std::optional<ClientId> Team::ClientOf(Rank rank) const {
  if (rank.value() >= shape_.size() || shape_.NodeOf(rank) != self_) return std::nullopt;
  return members_[LocalIndex(rank)].client;
}

// --- Calls ---

void Team::NoteEnd(const Member& member, CallSeq sequence, const CallArguments& arguments, Failure failure) {
  Instruments* const instruments = host_->instruments();
  if (instruments == nullptr || !member.client) return;
  instruments->CallEnded(id(), sequence, member.rank, *member.client, arguments, failure);
}

void Team::TellFailure(const Member& member, uint64_t value, CallSeq sequence, const CallArguments& arguments,
                       const FailureReport& why) {
  NoteEnd(member, sequence, arguments, why.failure);
  if (member.client) host_->Tell(*member.client, {.value = value, .sequence = sequence, .failure = why});
}

void Team::Post(Rank rank, const CallPost& post, uint32_t pending_max) {
  Member& member = members_[LocalIndex(rank)];
  if (broken_) return TellFailure(member, post.value, member.next, post.arguments, *broken_);
  if (member.pending.size() >= pending_max) {
    return TellFailure(
        member, post.value, member.next, post.arguments,
        {Failure::kNoResource,
         absl::StrCat("team ", DescribeTeam(layout_.identity), ": rank ", rank.value(),
                      " has too many calls waiting (calls=", member.pending.size() + 1, ", limit=", pending_max, ")"),
         FailureCause::kQuota, layout_.nodes[self_.value()].name, rank, pending_max});
  }
  HeldPost held{.post = post, .posted = host_->Now()};
  if (Instruments* const instruments = host_->instruments()) {
    instruments->CallPosted(id(), CallSeq(member.next.value() + member.pending.size()), rank, member.client.value_or(0),
                            post.arguments, held.posted);
  }
  if (post.send_is_inline && post.send != nullptr) {
    CHECK(post.send_bytes <= kInlineBytesMax);
    std::memcpy(held.inline_data.data(), post.send, post.send_bytes);
    held.post.send = nullptr;  // it lives in inline_data from here on
  }
  // The usual case waits for nothing, and allocates nothing.
  const bool is_long = LongCall::Needed(post.arguments);
  if (!is_long && member.pending.empty() && MayStart(LocalIndex(rank), post)) {
    return Start(LocalIndex(rank), held, held.posted);
  }
  member.pending.push_back(held);
  if (is_long && member.pending.size() == 1) StartPending();
}

bool Team::MayStart(uint32_t local, const CallPost& next) const {
  if (broken_ || epochs_.empty()) return false;
  const Member& member = members_[local];
  const CallSeq sequence = member.next;
  if (prepared_ != nullptr && sequence >= hold_from_) return false;
  if (!member.long_call) {
    const bool waits = next.under_way_max > 0 && member.under_way >= next.under_way_max;
    return !waits && PortFor(sequence).HasSlot(sequence);
  }
  const LongRun& run = long_calls_.at(*member.long_call);
  return run.call->ranks[local].next < run.call->chunk_count() && run.port->HasSlot(sequence);
}

bool Team::Remember(CallSeq sequence, const CallArguments& arguments, Rank rank, uint64_t chunk) {
  // A neighbour is at most a window behind or ahead. It grows with the calls: many teams make few.
  const size_t place = sequence.value() % (size_t{layout_.window} * 2);
  if (place >= history_.size()) history_.resize(place + 1);
  Remembered& remembered = history_[place];
  if (remembered.known && remembered.sequence == sequence) return false;
  remembered = {sequence, arguments, rank, static_cast<uint32_t>(chunk), 1};
  return true;
}

void Team::Start(uint32_t local, const HeldPost& held, absl::Time now) {
  Member& member = members_[local];
  const CallSeq sequence = member.next++;
  Remember(sequence, held.post.arguments, member.rank);
  CheckLeavers();
  if (broken_) {
    return TellFailure(member, held.post.value, sequence, held.post.arguments, *broken_);
  }
  const absl::Status started = PortFor(sequence).Start(sequence, local, held, now);
  if (started.ok()) {
    ++member.under_way;
    return;
  }
  // Break tells whom the call had begun for; a rank that it had not must be told here.
  const EpochPort::Call* call = PortFor(sequence).Find(sequence);
  const bool begun = call != nullptr && call->members[local].posted;
  RefuseStart(local, held, sequence, started);
  if (!begun) TellFailure(member, held.post.value, sequence, held.post.arguments, *broken_);
}

// Breaks the team: `why` a rank here could not start the call.
void Team::RefuseStart(uint32_t local, const HeldPost& held, CallSeq sequence, const absl::Status& why) {
  const Remembered remembered = history_[sequence.value() % (size_t{layout_.window} * 2)];
  if (!(remembered.arguments == held.post.arguments)) {
    BreakMismatch(remembered.Call(), remembered.rank, layout_.nodes[self_.value()].name, remembered.arguments,
                  members_[local].rank, layout_.nodes[self_.value()].name, held.post.arguments);
  } else {
    Break(ReportOf(why, absl::StrCat("call ", sequence.value(), " of team ", DescribeTeam(layout_.identity), " at ",
                                     DescribeNode(self_))));
  }
}

void Team::StartPending() {
  for (uint32_t local = 0; local < members_.size(); ++local) {
    std::list<HeldPost>& pending = members_[local].pending;
    while (!pending.empty() && MayStart(local, pending.front().post)) {
      if (LongCall::Needed(pending.front().post.arguments)) {
        StartChunk(local, host_->Now());
        continue;
      }
      const HeldPost held = pending.front();
      pending.pop_front();
      Start(local, held, host_->Now());
    }
  }
}

bool Team::Pump() {
  thread_local std::vector<PortEvent> taken;  // one for all teams of a thread, kept for its memory
  bool any = false;
  // Starting a pending call may bring further events: until there are none.
  for (bool more = true; more && !broken_;) {
    more = false;
    for (size_t i = 0; i < epochs_.size() && !broken_; ++i) {
      EpochPort* port = epochs_[i].get();
      port->TakeEvents(&taken);
      for (const PortEvent& event : taken) {
        more = any = true;
        Handle(port, event);
        if (broken_) break;
      }
    }
    if (more && !broken_) {
      RetireEpochs();
      StartPending();
    }
  }
  return any;
}

void Team::Handle(EpochPort* port, const PortEvent& event) {
  switch (event.kind) {
    case PortEvent::Kind::kRankDone: {
      const EpochPort::Call* call = port->Find(event.sequence);
      CHECK(call != nullptr);
      if (call->long_call != nullptr) {
        LongCall* const long_call = call->long_call;
        port->RankTold(event.sequence, event.local, host_->EventTime(), event.failed);
        OnChunkDone(long_call, event.local, event.failed);
        FinishIfDone(port, event.sequence);
        break;
      }
      Member& member = members_[event.local];
      ClientEvent told{.value = call->members[event.local].value, .sequence = event.sequence};
      if (event.failed) {
        told.failure = {Failure::kInternal,
                        absl::StrCat("call ", event.sequence.value(), " of team ", DescribeTeam(layout_.identity), " (",
                                     DescribeArguments(call->arguments), "): an operation on its way failed, seen at ",
                                     DescribeNode(self_))};
      }
      NoteEnd(member, event.sequence, call->arguments, told.failure.failure);
      --member.under_way;
      port->RankTold(event.sequence, event.local, host_->EventTime(), event.failed);
      if (member.client) host_->Tell(*member.client, told);
      FinishIfDone(port, event.sequence);
      break;
    }
    case PortEvent::Kind::kNodeDone:
      FinishIfDone(port, event.sequence);
      break;
    case PortEvent::Kind::kMismatch: {
      const Remembered* ours = Recall(event.sequence);
      if (ours == nullptr) break;
      host_->SendToPeer(
          layout_.nodes[event.neighbour.value()].incarnation,
          ArgumentsMessage{id(), event.sequence, ours->rank, layout_.nodes[self_.value()].name, ours->arguments});
      unlike_.emplace(event.neighbour.value(), event.sequence);
      CheckLeavers();
      break;
    }
  }
}

void Team::FinishIfDone(EpochPort* port, CallSeq sequence) {
  const EpochPort::Call* call = port->Find(sequence);
  const LongCall* const long_call = call == nullptr ? nullptr : call->long_call;
  const uint64_t chunk = long_call == nullptr ? 0 : call->chunk();
  if (!port->FinishIfDone(sequence, host_->EventTime())) return;
  if (long_call != nullptr) OnChunkOver(long_call->first(), chunk);
  if (Instruments* const instruments = host_->instruments()) instruments->CallOver(id(), sequence);
}

const Team::Remembered* Team::Recall(CallSeq sequence) const {
  const size_t place = sequence.value() % (size_t{layout_.window} * 2);
  if (place >= history_.size()) return nullptr;
  const Remembered& remembered = history_[place];
  return remembered.known && remembered.sequence == sequence ? &remembered : nullptr;
}

bool Team::ProbeStalled(absl::Duration age) {
  const absl::Time now = host_->Now();
  bool any = false;
  for (const auto& port : epochs_) {
    for (const EpochPort::Call* call : port->InFlight()) {
      if (now - call->probed < age) continue;
      any = true;
      port->MarkProbed(call->sequence, now);
      const Remembered* ours = Recall(call->sequence);
      if (ours == nullptr) continue;
      for (const NodeIndex node : port->NeighboursOfCall(*call)) {
        host_->SendToPeer(
            layout_.nodes[node.value()].incarnation,
            ArgumentsMessage{id(), call->sequence, ours->rank, layout_.nodes[self_.value()].name, ours->arguments});
      }
    }
  }
  return any;
}

bool Team::HasCallInFlight() const {
  for (const auto& port : epochs_) {
    if (!port->InFlight().empty()) return true;
  }
  return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return !m.pending.empty(); });
}

bool Team::HasCallInFlight(Rank rank) const {
  const uint32_t local = LocalIndex(rank);
  for (const auto& port : epochs_) {
    for (const EpochPort::Call* call : port->InFlight()) {
      if (call->members[local].posted && !call->members[local].told) return true;
    }
  }
  for (const auto& [first, run] : long_calls_) {
    if (run.call->ranks[local].joined && !run.call->ranks[local].told) return true;
  }
  return !members_[local].pending.empty();
}

// --- The end ---

void Team::Break(const FailureReport& why, std::optional<Incarnation> from) {
  if (broken_) return;
  broken_ = why;
  COPSE_LOG(kWarning, "team ", id().value(), " ", DescribeTeam(layout_.identity), " is broken: ", why.text);
  if (Instruments* const instruments = host_->instruments()) instruments->TeamBroken(id(), why.failure);
  for (const auto& [node, edges] : acquired_) {
    const Incarnation peer = layout_.nodes[node].incarnation;
    if (peer != from) host_->SendToPeer(peer, BreakMessage{.team = id(), .why = why});
  }
  // What the engine has already finished is told as finished.
  for (const auto& port : epochs_) {
    std::vector<PortEvent> events;
    port->TakeEvents(&events);
    for (const PortEvent& event : events) {
      if (event.kind != PortEvent::Kind::kRankDone) continue;
      const EpochPort::Call* call = port->Find(event.sequence);
      if (call == nullptr) continue;
      if (call->long_call != nullptr) {
        port->RankTold(event.sequence, event.local, host_->EventTime(), event.failed);
        OnChunkDone(call->long_call, event.local, event.failed);
        continue;
      }
      const Member& member = members_[event.local];
      ClientEvent told{.value = call->members[event.local].value, .sequence = event.sequence};
      if (event.failed) told.failure = why;
      NoteEnd(member, event.sequence, call->arguments, told.failure.failure);
      port->RankTold(event.sequence, event.local, host_->EventTime(), event.failed);
      if (member.client) host_->Tell(*member.client, told);
    }
    for (const EpochPort::Call* call : port->InFlight()) {
      if (call->long_call != nullptr) continue;
      for (uint32_t local = 0; local < members_.size(); ++local) {
        const EpochPort::Call::Member& part = call->members[local];
        if (part.posted && !part.told) TellFailure(members_[local], part.value, call->sequence, call->arguments, why);
      }
    }
  }
  for (Member& member : members_) {
    CallSeq sequence = member.next;
    if (member.long_call) member.pending.pop_front();  // it has begun
    member.long_call.reset();
    for (const HeldPost& held : member.pending)
      TellFailure(member, held.post.value, sequence++, held.post.arguments, why);
    member.pending.clear();
  }
  for (const auto& [first, run] : long_calls_) {
    for (uint32_t local = 0; local < members_.size(); ++local) {
      const LongCall::Progress& rank = run.call->ranks[local];
      if (rank.joined && !rank.told) TellFailure(members_[local], rank.value, first, run.call->arguments(), why);
    }
  }
  for (const auto& port : epochs_) ReleaseEdges(*port);
  epochs_.clear();
  prepared_.reset();
  long_calls_.clear();
  host_->OnTeamBroken(id(), why);
}

void Team::OnNodeLost(Incarnation incarnation, const FailureReport& why) {
  const std::optional<NodeIndex> node = OtherMember(incarnation);
  if (!node) return;
  FailureReport lost = why;
  lost.text = absl::StrCat(DescribeNode(*node), " lost: ", why.text);
  lost.node = layout_.nodes[node->value()].name;
  if (const auto ranks = shape_.RanksOf(*node); ranks.size() == 1) lost.rank = ranks.front();
  Break(lost);
}

void Team::OnSelfLost(Incarnation by, absl::Duration silent) {
  if (!OtherMember(by)) return;
  FailureReport lost{Failure::kMemberLost,
                     absl::StrCat(DescribeNode(self_), " lost: its daemon stood still for ",
                                  absl::FormatDuration(absl::Trunc(silent, absl::Milliseconds(1)))),
                     FailureCause::kNodeSilent, layout_.nodes[self_.value()].name};
  lost.limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(silent));
  Break(lost);
}

std::string Team::DescribeNode(NodeIndex node) const {
  const absl::Span<const Rank> ranks = shape_.RanksOf(node);
  return schedule::DescribeMember({ranks.begin(), ranks.end()}, layout_.nodes[node.value()].name);
}

bool Team::HasEdgeTo(Incarnation incarnation) const {
  const std::optional<NodeIndex> node = NodeOf(incarnation);
  return node && acquired_.contains(node->value());
}

std::vector<Incarnation> Team::Neighbours() const {
  std::vector<Incarnation> neighbours;
  for (const auto& [node, edges] : acquired_) neighbours.push_back(layout_.nodes[node].incarnation);
  return neighbours;
}

std::optional<NodeIndex> Team::NodeOf(Incarnation incarnation) const {
  for (uint32_t n = 0; n < layout_.nodes.size(); ++n) {
    if (layout_.nodes[n].incarnation == incarnation) return NodeIndex(n);
  }
  return std::nullopt;
}

std::optional<NodeIndex> Team::OtherMember(Incarnation incarnation) const {
  const std::optional<NodeIndex> node = NodeOf(incarnation);
  return node && *node != self_ && !HasLeft(node->value()) ? node : std::nullopt;
}

void Team::BreakMismatch(CallSeq sequence, Rank rank_a, const std::string& node_a, const CallArguments& a, Rank rank_b,
                         const std::string& node_b, const CallArguments& b) {
  if (rank_b < rank_a) return BreakMismatch(sequence, rank_b, node_b, b, rank_a, node_a, a);
  Break({Failure::kMismatch,
         absl::StrCat("call ", sequence.value(), ": arguments differ: rank ", rank_a.value(), " on node ", node_a,
                      " gave ", DescribeArguments(a), "; rank ", rank_b.value(), " on node ", node_b, " gave ",
                      DescribeArguments(b)),
         FailureCause::kRanksDiffer, node_b, rank_b});
}

bool Team::HasLeft(uint32_t node) const {
  const auto it = left_.find(node);
  return it != left_.end() && it->second.all;
}

// A call that needs a rank which has left the team cannot end: better an error that says so than waiting for ever.
void Team::CheckLeavers() {
  for (const auto& [node, left] : left_) {
    // A node without ranks cannot say any more what its arguments were; that they differ, its packet has said.
    const auto unlike = left.all ? unlike_.find(node) : unlike_.end();
    if (const Remembered* ours = unlike == unlike_.end() ? nullptr : Recall(unlike->second); ours != nullptr) {
      return Break(
          {Failure::kMismatch,
           absl::StrCat("call ", ours->Call().value(), ": arguments differ: rank ", ours->rank.value(), " on node ",
                        layout_.nodes[self_.value()].name, " gave ", DescribeArguments(ours->arguments), "; ",
                        DescribeNode(NodeIndex(node)), ", which has left the team, gave others"),
           FailureCause::kRanksDiffer, layout_.nodes[node].name});
    }
    const auto ahead = std::max_element(members_.begin(), members_.end(),
                                        [](const Member& a, const Member& b) { return a.next < b.next; });
    if (ahead->next > left.calls) {
      return Break(
          {Failure::kMemberLost,
           absl::StrCat(schedule::DescribeMember({left.rank}, layout_.nodes[node].name), " left the team after ",
                        left.calls.value(), " calls, but call ", left.calls.value(), " was started by ",
                        schedule::DescribeMember({ahead->rank}, layout_.nodes[self_.value()].name)),
           FailureCause::kMemberLeft, layout_.nodes[node].name, left.rank});
    }
  }
}

// --- From neighbours ---

void Team::OnPeerMessage(Incarnation from, const PeerMessage& message) {
  if (!NodeOf(from)) return;  // not a member of this team: what it says about it means nothing
  if (const auto* m = std::get_if<BreakMessage>(&message)) OnBreak(from, *m);
  if (const auto* m = std::get_if<ArgumentsMessage>(&message)) OnArguments(*m);
  if (const auto* m = std::get_if<LeftMessage>(&message)) OnLeft(from, *m);
  if (const auto* m = std::get_if<EpochAskMessage>(&message)) OnEpochAsk(from, *m);
  if (const auto* m = std::get_if<EpochAnswerMessage>(&message)) OnEpochAnswer(from, *m);
}

void Team::OnBreak(Incarnation from, const BreakMessage& message) { Break(message.why, from); }

void Team::OnArguments(const ArgumentsMessage& message) {
  const Remembered* ours = Recall(message.sequence);
  if (ours == nullptr || ours->arguments == message.arguments || broken_) return;
  BreakMismatch(ours->Call(), ours->rank, layout_.nodes[self_.value()].name, ours->arguments, message.rank,
                message.node, message.arguments);
}

void Team::OnLeft(Incarnation from, const LeftMessage& message) {
  const uint32_t node = NodeOf(from)->value();
  left_[node] = message;
  const auto it = acquired_.find(node);
  if (message.all && it != acquired_.end()) {
    // It sends no heartbeats for this team any more; its silence is not its death.
    for (uint32_t i = 0; i < it->second; ++i) host_->ReleaseNeighbour(from);
    acquired_.erase(it);
  }
  CheckLeavers();
}

void Team::OnEpochAsk(Incarnation from, const EpochAskMessage& message) {
  const NodeIndex asker = *NodeOf(from);
  EpochAnswerMessage answer{.team = id(), .epoch = message.epoch};
  for (const auto& port : epochs_) {
    if (port->epoch() != message.epoch) continue;
    answer.committed = true;
    answer.first_call = port->first_call();
    answer.label = port->LabelFor(asker);
  }
  if (prepared_ != nullptr && prepared_->epoch() == message.epoch) answer.label = prepared_->LabelFor(asker);
  host_->SendToPeer(from, answer);
}

void Team::OnEpochAnswer(Incarnation from, const EpochAnswerMessage& message) {
  if (prepared_ == nullptr || prepared_->epoch() != message.epoch) return;
  if (message.label != 0) (void)prepared_->SetRemoteLabel(*NodeOf(from), message.label).ok();
  if (message.committed) decided_first_call_ = message.first_call;
  if (!decided_first_call_ || !prepared_->HasAllRemoteLabels()) return;
  const absl::Status committed = Commit(message.epoch, *decided_first_call_, {});
  CHECK(committed.ok());
  COPSE_LOG(kInfo, "team ", id().value(), ": epoch ", message.epoch.value(), " begins at call ",
            epochs_.back()->first_call().value(), ", as a neighbour says");
}

void Team::AppendStatus(schedule::DaemonStatus* status) const {
  const absl::Time now = host_->Now();
  for (const auto& port : epochs_) {
    for (const EpochPort::Call* call : port->InFlight()) {
      schedule::CallStatus entry{.team = id(), .sequence = call->sequence, .arguments = call->arguments};
      entry.age_s = absl::ToDoubleSeconds(now - call->started);
      for (uint32_t local = 0; local < members_.size(); ++local) {
        (call->members[local].posted ? entry.joined : entry.missing).push_back(members_[local].rank);
      }
      status->calls.push_back(std::move(entry));
    }
  }
  for (const Member& member : members_) {
    if (member.client) status->progress.push_back({id(), member.rank, member.next});
  }
}

}  // namespace copse::daemon
