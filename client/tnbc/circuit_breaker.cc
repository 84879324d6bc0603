// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/circuit_breaker.h"

namespace copse::tnbc {
namespace {

// Calls of each way that are measured, early ones first: so a program of few calls has what it asked for.
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

// What was not measured, since its data is still under way or it could not return early, says nothing.
void CircuitBreaker::Decide() {
  const double early = early_.Take(), blocking = blocking_.Take();
  const bool was_blown = is_tripped();
  verdict_.Find(early >= 0 && blocking >= 0 ? Verdict::IsPlainBetter(early, blocking) : was_blown);
  if (is_tripped() && !was_blown) ++trips_;
}

}  // namespace copse::tnbc
