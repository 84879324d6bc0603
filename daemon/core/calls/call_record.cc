// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/call_record.h"

#include <algorithm>

#include "base/check.h"
#include "daemon/core/calls/client_interface.h"

namespace copse::daemon {

void CallRecord::Post(uint32_t local, const CallPost& post) {
  DCHECK(state == State::kInFlight);
  Member& member = members[local];
  CHECK(member.state == Member::State::kAway);
  member = {Member::State::kPosted, post.value, post.posted};
  ++ranks_posted;
}

void CallRecord::Notified(uint32_t local, bool rank_failed) {
  DCHECK(state == State::kInFlight);
  CHECK(waits_for(local));
  members[local].state = Member::State::kNotified;
  ++ranks_notified;
  failed |= rank_failed;
}

// A rank that joins later may have posted earlier, and waited for the call's slot.
absl::Time CallRecord::first_posted() const {
  return std::min_element(members.begin(), members.end(),
                          [](const Member& a, const Member& b) { return a.posted < b.posted; })
      ->posted;
}

absl::Time CallRecord::last_posted() const {
  return std::max_element(members.begin(), members.end(),
                          [](const Member& a, const Member& b) { return a.posted < b.posted; })
      ->posted;
}

CallRecord* CallRecords::Begin(CallSeq sequence, uint32_t chunk, const RankArguments& first, LongCall* long_call,
                               absl::Time now) {
  // The vector grows with the calls, since many teams make only a few.
  const size_t place = sequence.value() & place_mask_;
  if (place >= records_.size()) records_.resize(place + 1);
  std::unique_ptr<CallRecord>& record = records_[place];
  if (record == nullptr) {
    record = std::make_unique<CallRecord>();
    record->members.resize(local_ranks_);
  } else {
    CHECK(record->state == CallRecord::State::kOver);
  }
  record->state = CallRecord::State::kInFlight;
  record->node_done = record->failed = false;
  record->sequence = sequence;
  record->chunk = chunk;
  record->ranks_posted = record->ranks_notified = 0;
  record->first = first;
  record->long_call = long_call;
  record->started = record->probed = now;
  std::fill(record->members.begin(), record->members.end(), CallRecord::Member{});
  ++in_flight_;
  return record.get();
}

CallRecord* CallRecords::Find(CallSeq sequence) const {
  const size_t place = sequence.value() & place_mask_;
  CallRecord* const record = place < records_.size() ? records_[place].get() : nullptr;
  return record != nullptr && record->sequence == sequence ? record : nullptr;
}

CallRecord* CallRecords::FindInFlight(CallSeq sequence) const {
  CallRecord* const record = Find(sequence);
  return record != nullptr && record->state == CallRecord::State::kInFlight ? record : nullptr;
}

std::vector<CallRecord*> CallRecords::InFlight() const {
  std::vector<CallRecord*> calls;
  for (const std::unique_ptr<CallRecord>& record : records_) {
    if (record != nullptr && record->state == CallRecord::State::kInFlight) calls.push_back(record.get());
  }
  std::sort(calls.begin(), calls.end(),
            [](const CallRecord* a, const CallRecord* b) { return a->sequence < b->sequence; });
  return calls;
}

void CallRecords::End(CallRecord* record) {
  DCHECK(record->done());
  CHECK(record->state == CallRecord::State::kInFlight);
  record->state = CallRecord::State::kOver;
  record->long_call = nullptr;
  --in_flight_;
}

void CallRecords::CheckInvariants() const {
  uint32_t in_flight = 0;
  CallSeq oldest = CallSeq(~uint64_t{0}), newest{0};
  for (size_t place = 0; place < records_.size(); ++place) {
    const CallRecord* const record = records_[place].get();
    if (record == nullptr) continue;
    CHECK_EQ(record->members.size(), local_ranks_);
    CHECK_EQ(record->sequence.value() & place_mask_, place);
    CHECK_LE(record->ranks_notified, record->ranks_posted);
    uint32_t posted = 0, notified = 0;
    for (const CallRecord::Member& member : record->members) {
      posted += member.state == CallRecord::Member::State::kAway ? 0 : 1;
      notified += member.state == CallRecord::Member::State::kNotified ? 1 : 0;
    }
    CHECK_EQ(record->ranks_posted, posted);
    CHECK_EQ(record->ranks_notified, notified);
    if (record->state == CallRecord::State::kOver) CHECK(record->done());
    if (record->state != CallRecord::State::kInFlight) continue;
    CHECK(!record->done());
    ++in_flight;
    oldest = std::min(oldest, record->sequence);
    newest = std::max(newest, record->sequence);
  }
  CHECK_EQ(in_flight_, in_flight);
  if (in_flight > 0) CHECK_LE(newest.value() - oldest.value(), place_mask_ / 2);
}

}  // namespace copse::daemon
