// SPDX-License-Identifier: Apache-2.0
//
// The team's calls that take several chunks: each is a call of the port with a number of its own.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "daemon/core/team.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

bool Team::BeginLong(uint32_t local) {
  Member& member = members_[local];
  const HeldPost& held = member.pending.front();
  const CallSeq first = member.next;
  LongRun& run = long_calls_[first];
  if (run.call == nullptr) {
    EpochPort& port = PortFor(first);
    const schedule::Plan* plan = port.PlanFor(held.post.arguments);
    if (plan == nullptr) {
      long_calls_.erase(first);
      Break({Failure::kNotSupported, absl::StrCat("call ", first.value(), " of team ", DescribeTeam(layout_.identity),
                                                  ": no plan for ", DescribeArguments(held.post.arguments))});
      return false;
    }
    run.port = &port;
    run.call = std::make_unique<LongCall>(&shape_, plan, &port.IndexOf(*plan), self_, first, held.post.arguments);
  } else if (!(run.call->arguments() == held.post.arguments)) {
    RefuseStart(local, held, first, absl::FailedPreconditionError("arguments differ on this node"));
    return false;
  }
  run.call->Join(local, held.post);
  run.call->ranks[local].posted = held.posted;
  ++member.under_way;
  member.long_call = first;
  if (run.call->chunk_count() > 0) return true;
  Break({Failure::kInvalidArgument,
         absl::StrCat(DescribeArguments(held.post.arguments), ": rank ", member.rank.value(), " gave no counts")});
  return false;
}

void Team::StartChunk(uint32_t local, absl::Time now) {
  Member& member = members_[local];
  if (!member.long_call && !BeginLong(local)) return;
  LongRun& run = long_calls_.at(*member.long_call);
  LongCall::Progress& rank = run.call->ranks[local];
  const CallSeq sequence = member.next++;
  const HeldPost& held = member.pending.front();
  const bool first_here = Remember(sequence, held.post.arguments, member.rank, rank.next);
  CheckLeavers();
  if (broken_) return;
  // A chunk beyond an epoch's end still runs where its call began; the next epoch does without its number.
  if (EpochPort& port = PortFor(sequence); first_here && &port != run.port) port.Skip(sequence);
  const absl::Status started = run.port->Start(sequence, local, held, now, run.call.get());
  if (!started.ok()) return RefuseStart(local, held, sequence, started);
  ++rank.next;
  if (!run.call->complete() || rank.next < run.call->chunk_count()) return;
  member.pending.pop_front();
  member.long_call.reset();
}

void Team::OnChunkDone(LongCall* call, uint32_t local, bool failed) {
  LongCall::Progress& rank = call->ranks[local];
  ++rank.done;
  rank.failed |= failed;
  TellLong(call, local);
}

// If the call is over for the rank.
void Team::TellLong(LongCall* call, uint32_t local) {
  LongCall::Progress& rank = call->ranks[local];
  if (!call->agreed() || rank.done < call->chunk_count() || rank.told) return;
  rank.told = true;
  Member& member = members_[local];
  --member.under_way;
  ClientEvent told{.value = rank.value, .sequence = call->first()};
  if (rank.failed) {
    told.failure = {Failure::kInternal,
                    absl::StrCat("call ", call->first().value(), " of team ", DescribeTeam(layout_.identity), " (",
                                 DescribeArguments(call->arguments()), "): an operation on its way failed, seen at ",
                                 DescribeNode(self_))};
  }
  NoteEnd(member, call->first(), call->arguments(), told.failure.failure);
  if (Instruments* const instruments = host_->instruments(); instruments != nullptr && !rank.failed) {
    instruments->latencies().Record(call->arguments().collective, call->arguments().bytes(), schedule::CallPart::kCall,
                                    host_->EventTime() - rank.posted);
  }
  if (member.client) host_->Tell(*member.client, told);
}

// The chunk's slot is free again.
void Team::OnChunkOver(CallSeq first, uint64_t chunk) {
  const auto it = long_calls_.find(first);
  CHECK(it != long_calls_.end());
  LongCall* const call = it->second.call.get();
  ++call->finished_chunks;
  const bool had_agreed = call->agreed();
  const bool failed = std::any_of(call->ranks.begin(), call->ranks.end(), [](const auto& r) { return r.failed; });
  if (!had_agreed) {
    const absl::Status agreed =
        failed ? absl::InternalError("an operation on its way failed") : call->OnChunkOver(chunk);
    if (!agreed.ok()) {
      return Break({failed ? Failure::kInternal : Failure::kMismatch,
                    absl::StrCat("call ", first.value(), ": ", agreed.message())});
    }
  }
  if (!call->complete()) return;
  if (!had_agreed) {
    for (uint32_t local = 0; local < members_.size(); ++local) {
      Member& member = members_[local];
      if (member.long_call == first && call->ranks[local].next == call->chunk_count()) {
        member.pending.pop_front();
        member.long_call.reset();
      }
      TellLong(call, local);
    }
  }
  if (call->finished_chunks == call->chunk_count()) long_calls_.erase(it);
}

}  // namespace copse::daemon
