// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/sent_memory.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_bytes.h"

namespace copse::tnbc {
bool SentMemory::Prepare(const Range& sent, bool is_reached) {
  if (remapped_ == nullptr || !remapped_->MaySendFrom(sent)) return false;
  sent_ = sent;
  // What else is on a page may be written to while the page is on its way.
  is_used_ = is_reached && RemappedMemory::WholePagesOf(sent) == sent && MayProtect(sent);
  if (is_reached) return is_used_;
  buffer_ = remapped_->Use(sent, /*may_remap=*/true);
  is_used_ = buffer_ != nullptr && remapped_->RemapToSend(buffer_.get(), sent);
  if (buffer_ != nullptr && !is_used_) remapped_->Regret(sent);
  return is_used_;
}

uint8_t* SentMemory::address() const {
  if (buffer_ == nullptr) return reinterpret_cast<uint8_t*>(sent_.begin);  // NOLINT: an address
  return buffer_->At(sent_.begin);
}

// They go to pages of the block that the program has not.
void SentMemory::CopySides() {
  if (buffer_ == nullptr) return;
  const Range pages = RemappedMemory::WholePagesOf(sent_);
  for (const Range& side : {Range{sent_.begin, pages.begin}, Range{pages.end, sent_.end}}) {
    memcpy(buffer_->At(side.begin), reinterpret_cast<const void*>(side.begin), side.bytes());  // NOLINT: an address
  }
}

bool SentMemory::Protect(const Fragmentation& fragmentation) {
  if (!is_used_) return true;
  // As if the calls brought what they send.
  Fragmentation sends;
  sends.receive_bytes = sent_.bytes();
  sends.runs = {{0, sent_.bytes()}};
  for (const SubCall& call : fragmentation.calls) {
    sends.calls.emplace_back();
    sends.calls.back().extents = SentBy(fragmentation, call);
  }
  granules_ = GranulesOf(sends, {.address = sent_.begin, .page = PageBytes()});
  std::vector<Range> ranges;
  for (const Granule& granule : granules_) ranges.push_back({granule.begin, granule.begin + granule.bytes});
  if (guard_->ProtectSent(ranges)) return true;
  granules_.clear();
  return false;
}

void SentMemory::EndCall(uint32_t index) {
  std::erase_if(granules_, [&](Granule& granule) {
    std::erase(granule.calls, index);
    if (!granule.calls.empty()) return false;
    guard_->Release({granule.begin, granule.begin + granule.bytes});
    return true;
  });
}

void SentMemory::Open() {
  for (const Granule& granule : granules_) guard_->Release({granule.begin, granule.begin + granule.bytes});
  granules_.clear();
}

void SentMemory::Spoil() {
  if (buffer_ != nullptr) remapped_->Spoil(buffer_);
}

}  // namespace copse::tnbc
