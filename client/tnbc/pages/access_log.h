// SPDX-License-Identifier: Apache-2.0
//
// Logs accesses to pending memory: the latest ones, and the cost of all.
#ifndef COPSE_CLIENT_TNBC_PAGES_ACCESS_LOG_H_
#define COPSE_CLIENT_TNBC_PAGES_ACCESS_LOG_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace copse::tnbc {

// FaultCounters hold the cost of a process's accesses to pending memory. Thread-safe.
struct FaultCounters {
  std::atomic<uint64_t> faults{0};   // accesses to pending memory, also by system calls and MPI
  std::atomic<uint64_t> wait_ns{0};  // time for which the accessing threads waited
  std::atomic<uint64_t> copies{0};   // snapshots copied by the threads that accessed them
};

// An AccessLog keeps the latest kKept accesses and counts all. A reader may see an entry that is being written, or that
// a later access has replaced, so it must tolerate a wrong address or time. Thread-safe and async-signal-safe.
class AccessLog {
 public:
  static constexpr uint64_t kKept = 4096;
  struct LoggedAccess {
    uintptr_t address = 0;
    uint64_t ns = 0;  // CLOCK_MONOTONIC
  };

  // Returns the number of accesses so far. Acquire: pairs with Add, which however stores the entry after counting it.
  uint64_t count() const { return count_.load(std::memory_order_acquire); }
  LoggedAccess At(uint64_t index) const {
    const AtomicAccess& entry = entries_[index % kKept];
    return {entry.address.load(std::memory_order_relaxed), entry.ns.load(std::memory_order_relaxed)};
  }
  void Add(uintptr_t address, uint64_t ns) {
    counters_.faults.fetch_add(1, std::memory_order_relaxed);
    // acq_rel: pairs with count().
    AtomicAccess& entry = entries_[count_.fetch_add(1, std::memory_order_acq_rel) % kKept];
    entry.address.store(address, std::memory_order_relaxed);
    entry.ns.store(ns, std::memory_order_relaxed);
  }
  void AddWait(uint64_t ns) { counters_.wait_ns.fetch_add(ns, std::memory_order_relaxed); }
  void AddCopy() { counters_.copies.fetch_add(1, std::memory_order_relaxed); }

  const FaultCounters& counters() const { return counters_; }
  // Return the increase since the previous call by any thread.
  uint64_t TakeFaults() { return Take(counters_.faults, &faults_taken_); }
  uint64_t TakeWaitNs() { return Take(counters_.wait_ns, &wait_ns_taken_); }

 private:
  struct AtomicAccess {
    std::atomic<uintptr_t> address{0};
    std::atomic<uint64_t> ns{0};
  };

  static uint64_t Take(const std::atomic<uint64_t>& counter, std::atomic<uint64_t>* taken) {
    uint64_t before = taken->load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t now = counter.load(std::memory_order_relaxed);
      if (now <= before) return 0;
      if (taken->compare_exchange_weak(before, now, std::memory_order_relaxed)) return now - before;
    }
  }

  FaultCounters counters_;
  std::atomic<uint64_t> faults_taken_{0}, wait_ns_taken_{0};
  std::atomic<uint64_t> count_{0};
  AtomicAccess entries_[kKept];
};

// An AccessesSince shows what a log has recorded since this object was made.
class AccessesSince {
 public:
  // `*log` must outlive this object.
  explicit AccessesSince(const AccessLog* log) : log_(log), count_before_(log->count()), wait_ns_before_(WaitNs()) {}

  uint64_t wait_ns() const { return WaitNs() - wait_ns_before_; }
  // Calls `visit` with each access that the log has kept.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    const uint64_t end = log_->count();
    for (uint64_t i = std::max(count_before_, end - std::min(end, AccessLog::kKept)); i < end; ++i) visit(log_->At(i));
  }

 private:
  uint64_t WaitNs() const { return log_->counters().wait_ns.load(std::memory_order_relaxed); }

  const AccessLog* log_;
  uint64_t count_before_, wait_ns_before_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_ACCESS_LOG_H_
