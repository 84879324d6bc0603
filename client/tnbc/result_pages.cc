// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/result_pages.h"

#include <algorithm>

#include "base/monotonic_ns.h"

namespace copse::tnbc {

void ResultPages::Set(const std::vector<Granule>& granules, uintptr_t result) {
  result_ = result;
  guarded_.clear();
  of_call_.assign(fragmentation_->calls.size() + 1, {});
  for (const Granule& granule : granules) {
    for (const uint32_t call : granule.calls) of_call_[call].push_back(static_cast<uint32_t>(guarded_.size()));
    guarded_.push_back({{granule.begin, granule.begin + granule.bytes}, static_cast<uint32_t>(granule.calls.size())});
  }
}

std::vector<Range> ResultPages::ranges() const {
  std::vector<Range> all;
  for (const Guarded& guarded : guarded_) all.push_back(guarded.range);
  return all;
}

uint64_t ResultPages::bytes() const {
  uint64_t bytes = 0;
  for (const Guarded& guarded : guarded_) bytes += guarded.range.bytes();
  return bytes;
}

bool ResultPages::Close() { return guard_->Protect(ranges(), Record()); }

// Returns where first accesses are recorded, by range, and prepares the record; empty without one.
std::vector<FirstAccess*> ResultPages::Record() {
  std::vector<FirstAccess*> accesses;
  if (record_ == nullptr) return accesses;
  record_->pieces = std::vector<RecordedCall::ClosedRange>(guarded_.size());
  for (uint32_t i = 0; i < guarded_.size(); ++i) {
    RecordedCall::ClosedRange& piece = record_->pieces[i];
    piece.range = guarded_[i].range;
    piece.offset = piece.range.begin - result_;
    accesses.push_back(&piece.access);
  }
  for (size_t call = 0; call < fragmentation_->calls.size(); ++call) {
    for (const uint32_t i : of_call_[call]) record_->pieces[i].parts.push_back(fragmentation_->calls[call].fragment);
  }
  record_->recorder->LookAt(record_);
  return accesses;
}

void ResultPages::EndCall(uint32_t index) {
  for (const uint32_t i : of_call_[index]) {
    if (--guarded_[i].missing == 0) Open(i);
  }
}

void ResultPages::Open(uint32_t index) {
  const Range& range = guarded_[index].range;
  if (record_ == nullptr) {
    guard_->Release(range);
  } else {
    record_->pieces[index].there_ns = MonotonicNs();
    guard_->ReleaseAtAccess(range);
  }
}

void ResultPages::MarkLost() {
  for (const Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->MarkLost(guarded.range);
  }
}

void ResultPages::OpenAll() {
  for (Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->Release(guarded.range);
    guarded.missing = 0;
  }
}

bool ResultPages::Brings(uint32_t index, uintptr_t address) const {
  return std::any_of(of_call_[index].begin(), of_call_[index].end(),
                     [&](uint32_t i) { return address >= guarded_[i].range.begin && address < guarded_[i].range.end; });
}

size_t ResultPages::closed() const {
  return static_cast<size_t>(
      std::count_if(guarded_.begin(), guarded_.end(), [](const Guarded& guarded) { return guarded.missing > 0; }));
}

}  // namespace copse::tnbc
