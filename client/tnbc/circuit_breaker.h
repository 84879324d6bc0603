// SPDX-License-Identifier: Apache-2.0
//
// Decides whether calls of a kind return early, by measuring whether that pays.
#ifndef COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_
#define COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_

#include <atomic>
#include <cstdint>

#include "client/tnbc/verdict.h"

namespace copse::tnbc {

// A CircuitBreaker compares what calls of one kind, made at one place, cost the program if they block and if they
// return early: the time in the call, and the time for which threads wait for its data later. Some calls are measured
// each way; then all are made in the better way, and both are measured again after a number of calls that grows while
// the outcome stays the same (Verdict). Each rank has its own, since other ranks do not see whether this one returns
// early.
//
// Only the thread that makes the calls uses it, except CountBlocking and CountEarly, which any thread may call.
class CircuitBreaker {
 public:
  // Counts the next call and returns whether it may return early.
  bool MayReturnEarly();
  // Ends the present verdict, so that both ways are measured from the next call on.
  void TryAgain();
  // Count the cost of a call that blocked, or of one that returned early, once all its data has arrived.
  void CountBlocking(uint64_t nanoseconds) { blocking_.Count(nanoseconds); }
  void CountEarly(uint64_t nanoseconds) { early_.Count(nanoseconds); }

  bool is_tripped() const { return verdict_.is_plain(); }
  // Returns how often the verdict has changed from asynchronous completion to blocking.
  uint64_t trips() const { return trips_; }

 private:
  struct Mean {
    void Count(uint64_t nanoseconds) {
      ns.fetch_add(nanoseconds, std::memory_order_relaxed);
      calls.fetch_add(1, std::memory_order_relaxed);
    }
    // Returns the mean of the samples and discards them; -1: there were none.
    double Take();

    std::atomic<uint64_t> ns{0}, calls{0};
  };

  void Decide();

  Mean blocking_, early_;
  Verdict verdict_;
  uint64_t call_ = 0;  // calls that were admitted to the present measurement
  uint64_t trips_ = 0;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CIRCUIT_BREAKER_H_
