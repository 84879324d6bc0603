// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/call_window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;
using schedule::ReportOf;

CallWindow::CallWindow(const CallParts& parts) : parts_(parts), ranks_(parts.members->ranks().size()) {}

// --- Posts ---

void CallWindow::Notify(uint32_t local, const CallArguments& arguments, const ClientEvent& event) {
  const std::optional<ClientId> client = parts_.members->ClientAt(local);
  if (!client) return;
  if (Instruments* const instruments = parts_.host->instruments()) {
    instruments->CallEnded(id(), event.sequence, parts_.members->ranks()[local], *client, arguments,
                           event.failure.failure);
  }
  parts_.host->Notify(*client, event);
}

void CallWindow::Post(uint32_t local, CallPost&& post, uint32_t pending_max) {
  RankCalls& rank = ranks_[local];
  const Rank number = parts_.members->ranks()[local];
  if (end_) return Notify(local, post.arguments, {.value = post.value, .sequence = rank.next, .failure = *end_});
  if (!HasRoom(local, pending_max)) {
    FailureReport why{
        Failure::kNoResource,
        absl::StrCat("team ", DescribeTeam(parts_.members->layout().identity), ": rank ", number.value(),
                     " has too many calls waiting (calls=", rank.pending.size() + 1, ", limit=", pending_max, ")"),
        FailureCause::kQuota,
        parts_.members->node_name(),
        number,
        pending_max};
    return Notify(local, post.arguments, {.value = post.value, .sequence = rank.next, .failure = std::move(why)});
  }
  post.posted = parts_.host->Now();
  if (Instruments* const instruments = parts_.host->instruments()) {
    instruments->CallPosted(id(), CallSeq(rank.next.value() + rank.pending.size()), number,
                            parts_.members->ClientAt(local).value_or(0), post.arguments, post.posted);
  }
  // The usual call starts at once, and allocates nothing.
  const bool is_long = LongCall::Needed(post.arguments);
  if (!is_long && rank.pending.empty() && MayStart(local, post)) return Start(local, post, post.posted);
  rank.pending.push_back(std::move(post));
  if (is_long && rank.pending.size() == 1) StartPending();
}

// --- Starts ---

bool CallWindow::MayStart(uint32_t local, const CallPost& next) const {
  if (end_ || !parts_.epochs->ready()) return false;
  const RankCalls& rank = ranks_[local];
  if (parts_.epochs->Holds(rank.next)) return false;
  if (!rank.long_call) {
    const bool waits = next.under_way_max > 0 && rank.under_way >= next.under_way_max;
    return !waits && parts_.epochs->PortFor(rank.next).HasSlot(rank.next);
  }
  const LongRun& run = long_calls_.at(*rank.long_call);
  return run.call->progress().next(local) < run.call->chunk_count() && run.port->HasSlot(rank.next);
}

void CallWindow::StartPending() {
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    std::list<CallPost>& pending = ranks_[local].pending;
    while (!pending.empty() && MayStart(local, pending.front())) {
      if (LongCall::Needed(pending.front().arguments)) {
        StartChunk(local, parts_.host->Now());
        continue;
      }
      const CallPost post = std::move(pending.front());
      pending.pop_front();
      Start(local, post, parts_.host->Now());
    }
  }
}

uint32_t CallWindow::Foremost() const {
  return static_cast<uint32_t>(
      std::max_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) { return a.next < b.next; }) -
      ranks_.begin());
}

void CallWindow::CheckLeavers() {
  if (parts_.members->departures().empty()) return;
  const uint32_t foremost = Foremost();
  const auto why = parts_.leavers->Check(parts_.members->ranks()[foremost], next(foremost));
  if (why) parts_.breaker->Break(*why);
}

void CallWindow::Start(uint32_t local, const CallPost& post, absl::Time now) {
  RankCalls& rank = ranks_[local];
  const CallSeq sequence = rank.next++;
  EpochPort& port = parts_.epochs->PortFor(sequence);
  CallRecord* call = port.calls().Find(sequence);
  if (call == nullptr) call = port.Begin(sequence, {parts_.members->ranks()[local], post.arguments}, now);
  CheckLeavers();
  // If CheckLeavers broke the team, End has notified the ranks that had joined the call; this one had not.
  if (end_) return Notify(local, post.arguments, {.value = post.value, .sequence = sequence, .failure = *end_});
  ++rank.under_way;
  const absl::Status started = port.Start(call, local, post);
  if (started.ok()) return;
  const bool has_posted = call->waits_for(local);
  RefuseStart(local, *call, post, started);
  if (!has_posted) Notify(local, post.arguments, {.value = post.value, .sequence = sequence, .failure = *end_});
}

// Breaks the team, since EpochPort has refused the rank's part of the call with `why`, or the arguments differ.
void CallWindow::RefuseStart(uint32_t local, const CallRecord& call, const CallPost& post, const absl::Status& why) {
  const TeamMembers& members = *parts_.members;
  if (!(call.arguments() == post.arguments)) {
    return parts_.breaker->Break(MismatchReport(call.call().value(), call.first, members.node_name(),
                                                {members.ranks()[local], post.arguments}, members.node_name()));
  }
  parts_.breaker->Break(
      ReportOf(why, absl::StrCat("call ", call.sequence.value(), " of team ", DescribeTeam(members.layout().identity),
                                 " at ", members.DescribeNode(members.self()))));
}

// --- Long calls ---

bool CallWindow::BeginLong(uint32_t local) {
  RankCalls& rank = ranks_[local];
  const CallPost& post = rank.pending.front();
  const CallSeq first = rank.next;
  LongRun& run = long_calls_[first];
  if (run.call == nullptr) {
    EpochPort& port = parts_.epochs->PortFor(first);
    const schedule::Plan* plan = port.plans().PlanFor(post.arguments);
    if (plan == nullptr) {
      long_calls_.erase(first);
      parts_.breaker->Break(
          {Failure::kNotSupported,
           absl::StrCat("call ", first.value(), " of team ", DescribeTeam(parts_.members->layout().identity),
                        ": no plan for ", DescribeArguments(post.arguments))});
      return false;
    }
    run.port = &port;
    run.started = parts_.host->Now();
    run.call = std::make_unique<LongCall>(&parts_.members->shape(), plan, &port.plans().IndexOf(*plan),
                                          parts_.members->self(), first, post.arguments);
    port.LongCallBegun();
  } else if (!(run.call->arguments() == post.arguments)) {
    RefuseStart(local, *run.port->calls().Find(first), post, absl::FailedPreconditionError("arguments differ"));
    return false;
  }
  run.call->Join(local, post);
  ++rank.under_way;
  rank.long_call = first;
  if (run.call->chunk_count() > 0) return true;
  parts_.breaker->Break(
      {Failure::kInvalidArgument, absl::StrCat(DescribeArguments(post.arguments), ": rank ",
                                               parts_.members->ranks()[local].value(), " gave no counts")});
  return false;
}

void CallWindow::StartChunk(uint32_t local, absl::Time now) {
  RankCalls& rank = ranks_[local];
  if (!rank.long_call && !BeginLong(local)) return;
  LongRun& run = long_calls_.at(*rank.long_call);
  ChunkProgress& progress = run.call->progress();
  const CallSeq sequence = rank.next++;
  const CallPost& post = rank.pending.front();
  CallRecord* call = run.port->calls().Find(sequence);
  const bool is_first = call == nullptr;
  if (is_first) {
    call = run.port->Begin(sequence, {parts_.members->ranks()[local], post.arguments}, now, run.call.get(),
                           static_cast<uint32_t>(progress.next(local)));
  }
  CheckLeavers();
  if (end_) return;
  // A chunk beyond an epoch's end still runs where its call began; the next epoch skips its number.
  if (EpochPort& port = parts_.epochs->PortFor(sequence); is_first && &port != run.port) port.Skip(sequence);
  const absl::Status started = run.port->Start(call, local, post);
  if (!started.ok()) return RefuseStart(local, *call, post, started);
  progress.Start(local);
  if (run.call->complete() && progress.next(local) == run.call->chunk_count()) EndPendingLong(local);
}

// Removes the rank's first pending call, of which all chunks have started, or no more will start.
void CallWindow::EndPendingLong(uint32_t local) {
  ranks_[local].pending.pop_front();
  ranks_[local].long_call.reset();
}

void CallWindow::NotifyLong(LongCall* call, uint32_t local) {
  ChunkProgress& progress = call->progress();
  if (!call->agreed() || progress.done(local) < call->chunk_count() || !progress.waits_for(local)) return;
  progress.Notify(local);
  --ranks_[local].under_way;
  ClientEvent event{.value = call->post(local).value, .sequence = call->first()};
  if (progress.failed(local)) {
    event.failure = OperationFailed(call->first(), call->arguments());
  } else if (Instruments* const instruments = parts_.host->instruments()) {
    instruments->latencies().Record(call->arguments().collective, call->arguments().bytes(), schedule::CallPart::kCall,
                                    parts_.host->EventTime() - call->post(local).posted);
  }
  Notify(local, call->arguments(), event);
}

// Handles the end of a chunk at this node, whose slot is free again.
void CallWindow::OnChunkOver(CallSeq first, uint64_t chunk) {
  const auto it = long_calls_.find(first);
  CHECK(it != long_calls_.end());
  LongCall* const call = it->second.call.get();
  call->progress().Over();
  const bool had_agreed = call->agreed();
  if (!had_agreed) {
    const bool failed = call->progress().any_failed();
    const absl::Status agreed =
        failed ? absl::InternalError("an operation on its way failed") : call->OnChunkOver(chunk);
    if (!agreed.ok()) {
      return parts_.breaker->Break({failed ? Failure::kInternal : Failure::kMismatch,
                                    absl::StrCat("call ", first.value(), ": ", agreed.message())});
    }
  }
  if (!call->complete()) return;
  if (!had_agreed) {
    for (uint32_t local = 0; local < ranks_.size(); ++local) {
      if (ranks_[local].long_call == first && call->progress().next(local) == call->chunk_count())
        EndPendingLong(local);
      NotifyLong(call, local);
    }
  }
  if (call->progress().over() == call->chunk_count()) EndLong(it);
}

void CallWindow::EndLong(std::map<CallSeq, LongRun>::iterator it) {
  it->second.port->LongCallOver();
  long_calls_.erase(it);
}

// --- Ends ---

FailureReport CallWindow::OperationFailed(CallSeq sequence, const CallArguments& arguments) const {
  return {Failure::kInternal,
          absl::StrCat("call ", sequence.value(), " of team ", DescribeTeam(parts_.members->layout().identity), " (",
                       DescribeArguments(arguments), "): an operation on its way failed, seen at ",
                       parts_.members->DescribeNode(parts_.members->self()))};
}

void CallWindow::OnRankDone(EpochPort* port, CallRecord* call, uint32_t local, bool failed) {
  port->RankNotified(call, local, parts_.host->EventTime(), failed);
  if (LongCall* const long_call = call->long_call) {
    long_call->progress().Done(local, failed);
    return NotifyLong(long_call, local);
  }
  --ranks_[local].under_way;
  ClientEvent event{.value = call->members[local].value, .sequence = call->sequence};
  if (failed) event.failure = end_ ? *end_ : OperationFailed(call->sequence, call->arguments());
  Notify(local, call->arguments(), event);
}

void CallWindow::OnEvent(EpochPort* port, const PortEvent& event) {
  DCHECK(!end_);
  if (event.kind == PortEvent::Kind::kRankDone) {
    CallRecord* const call = port->calls().FindInFlight(event.sequence);
    CHECK(call != nullptr);
    OnRankDone(port, call, event.local, event.failed);
  }
  FinishIfDone(port, event.sequence);
}

void CallWindow::FinishIfDone(EpochPort* port, CallSeq sequence) {
  CallRecord* const call = port->calls().FindInFlight(sequence);
  if (call == nullptr) return;
  const LongCall* const long_call = call->long_call;
  if (!port->FinishIfDone(call, parts_.host->EventTime())) return;
  if (long_call != nullptr) OnChunkOver(long_call->first(), call->chunk);
  if (Instruments* const instruments = parts_.host->instruments()) instruments->CallOver(id(), sequence);
}

void CallWindow::End(const FailureReport& why) {
  DCHECK(!end_);
  end_ = why;
  for (const auto& port : parts_.epochs->ports()) {
    std::vector<PortEvent> events;
    port->TakeEvents(&events);
    for (const PortEvent& event : events) {
      CallRecord* const call = port->calls().FindInFlight(event.sequence);
      if (event.kind == PortEvent::Kind::kRankDone && call != nullptr) {
        OnRankDone(port.get(), call, event.local, event.failed);
      }
    }
    for (const CallRecord* call : port->calls().InFlight()) {
      if (call->long_call != nullptr) continue;
      for (uint32_t local = 0; local < ranks_.size(); ++local) {
        if (!call->waits_for(local)) continue;
        Notify(local, call->arguments(),
               {.value = call->members[local].value, .sequence = call->sequence, .failure = why});
      }
    }
  }
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    RankCalls& rank = ranks_[local];
    if (rank.long_call) EndPendingLong(local);  // the rank has joined it, and is notified below
    CallSeq sequence = rank.next;
    for (const CallPost& post : std::exchange(rank.pending, {})) {
      Notify(local, post.arguments, {.value = post.value, .sequence = sequence++, .failure = why});
    }
  }
  for (const auto& [first, run] : long_calls_) {
    for (uint32_t local = 0; local < ranks_.size(); ++local) {
      if (!run.call->progress().waits_for(local)) continue;
      Notify(local, run.call->arguments(), {.value = run.call->post(local).value, .sequence = first, .failure = why});
    }
  }
  long_calls_.clear();
}

// --- Running calls ---

bool CallWindow::IsHeld() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [this](const RankCalls& rank) {
    return !rank.pending.empty() && parts_.epochs->Holds(rank.next);
  });
}

bool CallWindow::HasCallInFlight() const {
  const auto& ports = parts_.epochs->ports();
  return std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port->calls().HasCallInFlight(); }) ||
         std::any_of(ranks_.begin(), ranks_.end(), [](const RankCalls& rank) { return !rank.pending.empty(); });
}

bool CallWindow::HasCallInFlight(uint32_t local) const {
  for (const auto& port : parts_.epochs->ports()) {
    for (const CallRecord* call : port->calls().InFlight()) {
      if (call->waits_for(local)) return true;
    }
  }
  for (const auto& [first, run] : long_calls_) {
    if (run.call->progress().waits_for(local)) return true;
  }
  return !ranks_[local].pending.empty();
}

schedule::CallStatus CallWindow::StatusOf(CallSeq sequence, const CallArguments& arguments, absl::Time started,
                                          absl::FunctionRef<bool(uint32_t)> joined) const {
  schedule::CallStatus status{.team = id(), .sequence = sequence, .arguments = arguments};
  status.age_s = absl::ToDoubleSeconds(parts_.host->Now() - started);
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    (joined(local) ? status.joined : status.missing).push_back(parts_.members->ranks()[local]);
  }
  return status;
}

void CallWindow::AppendStatus(schedule::DaemonStatus* status) const {
  const absl::Span<const Rank> ranks = parts_.members->ranks();
  for (const auto& port : parts_.epochs->ports()) {
    for (const CallRecord* call : port->calls().InFlight()) {
      if (call->long_call != nullptr) continue;
      status->calls.push_back(StatusOf(call->sequence, call->arguments(), call->started, [call](uint32_t local) {
        return call->members[local].state != CallRecord::Member::State::kAway;
      }));
    }
  }
  // A long call is one call, whichever of its chunks are in flight.
  for (const auto& [first, run] : long_calls_) {
    status->calls.push_back(StatusOf(first, run.call->arguments(), run.started,
                                     [&call = *run.call](uint32_t local) { return call.progress().joined(local); }));
  }
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    if (parts_.members->ClientAt(local)) status->progress.push_back({id(), ranks[local], ranks_[local].next});
  }
}

void CallWindow::AppendPlanCalls(std::vector<schedule::PlanCalls>* counts) const {
  for (const auto& port : parts_.epochs->ports()) port->plans().AppendCalls(counts);
}

void CallWindow::CheckInvariants() const {
  if (end_) {
    CHECK(long_calls_.empty());
    CHECK(!HasCallInFlight());
    return;
  }
  std::vector<uint32_t> under_way(ranks_.size());
  for (const auto& port : parts_.epochs->ports()) {
    for (const CallRecord* call : port->calls().InFlight()) {
      CHECK(call->long_call == nullptr || long_calls_.at(call->call()).call.get() == call->long_call);
      for (uint32_t local = 0; local < ranks_.size(); ++local) {
        CHECK_EQ(call->members[local].state != CallRecord::Member::State::kAway, call->sequence < ranks_[local].next);
        if (call->long_call == nullptr && call->waits_for(local)) ++under_way[local];
      }
    }
  }
  for (const auto& [first, run] : long_calls_) {
    CHECK(run.call->first() == first);
    const ChunkProgress& progress = run.call->progress();
    CHECK_LE(progress.over(), run.call->chunk_count());
    for (uint32_t local = 0; local < ranks_.size(); ++local) {
      CHECK_LE(progress.done(local), progress.next(local));
      CHECK_LE(progress.next(local), run.call->chunk_count());
      if (progress.waits_for(local)) ++under_way[local];
    }
  }
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    const RankCalls& rank = ranks_[local];
    CHECK_EQ(rank.under_way, under_way[local]);
    // Every call that may start has started; calls behind a long call wait for its chunks.
    CHECK(rank.pending.empty() || !MayStart(local, rank.pending.front()));
    if (rank.long_call) CHECK(!rank.pending.empty() && LongCall::Needed(rank.pending.front().arguments));
  }
}

}  // namespace copse::daemon
