// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/call_recorder.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>

namespace copse::tnbc {
namespace {

// These limits are a process's; the records take some ten MiB.
constexpr size_t kCallsMax = 16384;
constexpr uint64_t kPiecesMax = 131072;
// These limit the ranges that stay protected after their data has arrived, so that their first access is seen: the
// number of calls, and their share of the index of ranges.
constexpr size_t kCallsLookedAtMax = 16;
constexpr size_t kPiecesLookedAtMax = PendingRanges::kRangesMax / 4;

TraceSite SiteAt(const void* address) {
  TraceSite site;
  Dl_info info{};
  if (dladdr(address, &info) == 0) {
    site.offset = reinterpret_cast<uintptr_t>(address);
    return site;
  }
  const std::string_view path = info.dli_fname == nullptr ? "" : info.dli_fname;
  // A path without a slash is taken whole, as npos + 1 is 0.
  site.object = path.substr(path.rfind('/') + 1);
  site.offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (info.dli_sname != nullptr) site.function = info.dli_sname;
  return site;
}

uint64_t Since(uint64_t start, uint64_t end) { return end - std::min(start, end); }

}  // namespace

uint32_t CallRecorder::IndexOfKind(const TraceKind& kind) {
  const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
  const auto index = static_cast<uint32_t>(found - kinds_.begin());
  if (found == kinds_.end()) kinds_.push_back(kind);
  return index;
}

// The symbol is looked up now, since its library may be unloaded before the trace is written.
uint32_t CallRecorder::IndexOfSite(const void* site) {
  const auto [found, is_new] = site_indices_.try_emplace(site, static_cast<uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(SiteAt(site));
  return found->second;
}

RecordedCall* CallRecorder::Begin(const TraceKind& kind, const void* site, uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= kCallsMax || pieces_ >= kPiecesMax) {
    ++left_out_;
    return nullptr;
  }
  RecordedCall& recorded = calls_.emplace_back();
  recorded.recorder = this;
  recorded.call.kind = IndexOfKind(kind);
  recorded.call.site = IndexOfSite(site);
  recorded.call.number = number;
  return &recorded;
}

void CallRecorder::LookAt(RecordedCall* call) {
  const std::lock_guard lock(mutex_);
  looked_at_.push_back(call);
  pieces_ += call->pieces.size();
  size_t pieces = 0;
  for (const RecordedCall* each : looked_at_) pieces += each->pieces.size();
  while (looked_at_.size() > 1 && (looked_at_.size() > kCallsLookedAtMax || pieces > kPiecesLookedAtMax)) {
    RecordedCall* const oldest = looked_at_.front();
    for (const RecordedCall::ClosedRange& piece : oldest->pieces) {
      guard_->StopLooking(reinterpret_cast<const void*>(piece.range.begin), piece.range.bytes(),
                          &piece.access);  // NOLINT
    }
    pieces -= oldest->pieces.size();
    looked_at_.pop_front();
  }
}

TraceFile CallRecorder::Finish() {
  guard_->StopLooking(nullptr, UINTPTR_MAX);
  const std::lock_guard lock(mutex_);
  TraceFile trace;
  trace.launch = launch_;
  trace.left_out = left_out_;
  trace.kinds = kinds_;
  trace.sites = sites_;
  for (const RecordedCall& recorded : calls_) {
    TraceCall& call = trace.calls.emplace_back(recorded.call);
    if (!call.early) continue;  // its pages could not be closed
    for (const RecordedCall::ClosedRange& piece : recorded.pieces) {
      TracePiece& written = call.pieces.emplace_back();
      written.offset = piece.offset;
      written.bytes = piece.range.bytes();
      written.parts = piece.parts;
      if (piece.there_ns != 0) written.there = Since(call.returned, piece.there_ns);
      const uint64_t touch_ns = piece.access.ns;
      if (touch_ns != 0) written.touch = Since(call.returned, touch_ns);
      written.waited = piece.access.waited_ns;
      written.by_call = piece.access.by_call;
    }
  }
  return trace;
}

}  // namespace copse::tnbc
