// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/fuse.h"

#include <algorithm>

namespace copse::tnbc {
namespace {

// Calls of each way that are measured, early ones first: so a program of few calls has what it asked for.
constexpr uint64_t kEarlyCalls = 6;
constexpr uint64_t kBlockingCalls = 3;
// Early return has to save as much to be worth what it costs others: copies, faults, a thread.
constexpr double kWorth = 0.98;
constexpr uint64_t kIntervalMin = 64;
constexpr uint64_t kIntervalMax = 4096;

}  // namespace

double Fuse::Mean::Take() {
  const uint64_t counted = calls.exchange(0, std::memory_order_relaxed);
  const uint64_t total = ns.exchange(0, std::memory_order_relaxed);
  return counted == 0 ? -1 : static_cast<double>(total) / static_cast<double>(counted);
}

void Fuse::TryAgain() {
  call_ = settled_ = 0;
  early_.Take();
  blocking_.Take();
}

bool Fuse::MayReturnEarly() {
  if (settled_ > 0) {
    if (--settled_ == 0) TryAgain();
    return !is_blown_;
  }
  if (call_ == kEarlyCalls + kBlockingCalls) {
    Decide();
    return !is_blown_;
  }
  return call_++ < kEarlyCalls;
}

// What was not measured, since its data is still under way or it could not return early, says nothing.
void Fuse::Decide() {
  const double early = early_.Take(), blocking = blocking_.Take();
  const bool was_blown = is_blown_;
  if (early >= 0 && blocking >= 0) is_blown_ = early > kWorth * blocking;
  if (is_blown_ && !was_blown) ++blown_;
  interval_ = is_blown_ == was_blown ? std::clamp(2 * interval_, kIntervalMin, kIntervalMax) : kIntervalMin;
  settled_ = interval_;
}

}  // namespace copse::tnbc
