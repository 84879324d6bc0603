// SPDX-License-Identifier: Apache-2.0
//
// Whether calls of a kind return early: only where that pays.
#ifndef COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_
#define COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_

#include <atomic>
#include <cstdint>

#include "client/tnbc/verdict.h"

namespace copse::tnbc {

// A CircuitBreaker compares what calls of one kind cost the program if they block and if they return early: the time in
// the call, and what threads wait for its data later. Some calls are measured each way; then all take the better one,
// and are measured again now and then, ever more seldom while that changes nothing. Each rank has its own, since others
// do not see whether this one returns early.
//
// Decisions are those of the thread that makes the calls; what an early call has cost in the end may be counted by any.
class CircuitBreaker {
 public:
  // Returns true if the next call may return early.
  bool MayReturnEarly();
  // Measures both ways from the next call on.
  void TryAgain();
  // What a call that blocked has taken, and an early one, once its data was there.
  void CountBlocking(uint64_t nanoseconds) { blocking_.Count(nanoseconds); }
  void CountEarly(uint64_t nanoseconds) { early_.Count(nanoseconds); }

  bool is_tripped() const { return verdict_.is_plain(); }
  // How often it has gone from early to blocking.
  uint64_t trips() const { return trips_; }

 private:
  struct Mean {
    void Count(uint64_t nanoseconds) {
      ns.fetch_add(nanoseconds, std::memory_order_relaxed);
      calls.fetch_add(1, std::memory_order_relaxed);
    }
    double Take();

    std::atomic<uint64_t> ns{0}, calls{0};
  };

  void Decide();

  Mean blocking_, early_;
  Verdict verdict_;
  uint64_t call_ = 0;  // since it was dropped
  uint64_t trips_ = 0;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_
