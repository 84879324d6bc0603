// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/circuit_breaker.h"

namespace copse::tnbc {
namespace {

// These numbers of calls are measured each way. Calls that return early come first, so that a program with few calls
// gets the asynchronous completion that it asked for.
constexpr uint64_t kEarlyCalls = 6;
constexpr uint64_t kBlockingCalls = 3;

}  // namespace

double CircuitBreaker::Mean::Take() {
  const uint64_t counted = calls.exchange(0, std::memory_order_relaxed);
  const uint64_t total = ns.exchange(0, std::memory_order_relaxed);
  return counted == 0 ? -1 : static_cast<double>(total) / static_cast<double>(counted);
}

void CircuitBreaker::TryAgain() {
  verdict_.Drop();
  call_ = 0;
  early_.Take();
  blocking_.Take();
}

bool CircuitBreaker::MayReturnEarly() {
  if (verdict_.holds()) {
    verdict_.CountCall();
    if (!verdict_.holds()) TryAgain();
    return !is_tripped();
  }
  if (call_ == kEarlyCalls + kBlockingCalls) {
    Decide();
    return !is_tripped();
  }
  return call_++ < kEarlyCalls;
}

// The former outcome stays if no call of one way was measured, since its data is still in flight or it could not return
// early.
void CircuitBreaker::Decide() {
  const double early = early_.Take(), blocking = blocking_.Take();
  const bool was_blown = is_tripped();
  verdict_.Find(early >= 0 && blocking >= 0 ? Verdict::IsPlainBetter(early, blocking) : was_blown);
  if (is_tripped() && !was_blown) ++trips_;
}

}  // namespace copse::tnbc
