// SPDX-License-Identifier: Apache-2.0
//
// Page protection of memory whose data is still on its way, and the fault handler that makes who touches it wait; and
// of memory that has yet to be sent, which is copied before it is written to.
#ifndef COPSE_CLIENT_TNBC_PAGE_GUARD_H_
#define COPSE_CLIENT_TNBC_PAGE_GUARD_H_

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "client/tnbc/pending_ranges.h"
#include "client/tnbc/turn_stack.h"

namespace copse::tnbc {

// What faults cost, of a process. Thread-safe.
struct FaultCounters {
  std::atomic<uint64_t> faults{0};   // touches of pending memory, system calls' included
  std::atomic<uint64_t> wait_ns{0};  // of the threads that touched it
  std::atomic<uint64_t> copies{0};   // of snapshots, by who was to change them
};

// The guard of this process. Pages of pending ranges are inaccessible: who touches one is stopped by SIGSEGV, waits in
// the handler until the range is released, and goes on. Faults elsewhere go to the program's own handler, or kill the
// process as they would without a guard. There is one guard, never destroyed, since a fault may come at any time.
// Thread-safe.
class PageGuard {
 public:
  // Called by the thread, in its fault handler, that touched data which never comes. Does not return.
  using OnLost = void (*)(uintptr_t address);
  // Called now and then by a thread that waits, perhaps in its fault handler: others may need what it has under way.
  // Callbacks are on a stack of the guard's own, one at a time, where their caller may have little room.
  using OnWait = void (*)();
  struct Callbacks {
    OnLost on_lost = nullptr;
    OnWait on_wait = nullptr;
  };
  using Sigaction = int (*)(int signal, const struct sigaction* next, struct sigaction* previous);

  // Installs the handler. Null if this system does not let memory be written through /proc/self/mem while it is
  // inaccessible to the program, or a page be protected; *why says so.
  static PageGuard* Start(const Callbacks& callbacks, const char** why);
  // Null before Start.
  static PageGuard* Get();

  // Makes ranges of whole pages, in order, inaccessible. False, changing nothing, if there is no room for more or the
  // kernel refuses. `touches`, one a range, or none: who wants to know when they are touched; never freed.
  bool Protect(std::span<const Range> ranges, std::span<FirstTouch* const> touches = {});
  // Writes into memory, accessible or not, of mappings that are private. False if the kernel refuses.
  bool Write(uintptr_t to, const void* from, uint64_t bytes) const;
  // Reads memory, accessible or not. False if the kernel refuses.
  bool Read(void* to, uintptr_t from, uint64_t bytes) const;
  // The range's data is there: makes it accessible and wakes who waits. Where the kernel has no room for another
  // mapping (vm.max_map_count) that waits until it has, or until what lies beside it is released, too.
  void Release(const Range& range);
  // The same, of one whose first touch has yet to be seen: it stays closed until then, and who touches it goes on at
  // once.
  void ReleaseAtTouch(const Range& range) { ranges_.MarkThere(range.begin); }
  // Opens what is left of such ranges in this memory (`touch`: of the one that has it), and looks no longer who touches
  // them.
  void StopLooking(const void* address, uint64_t bytes, const FirstTouch* touch = nullptr);

  // Makes snapshots of whole pages, in order, of which `range` and `copy` are given, read-only: until it is settled,
  // each has in it what it has now. False, changing nothing, as Protect.
  bool ProtectSnapshots(std::span<PendingRanges::Found> snapshots);
  // Copies it, unless somebody has, and makes it writable. Not for handlers.
  void SettleSnapshot(const PendingRanges::Found& snapshot);
  // Makes it writable without a copy. Nobody writes to `copy` any more.
  void DropSnapshot(const PendingRanges::Found& snapshot);

  // Makes ranges of whole pages, in order, read-only: who writes to one waits until it is released. False, changing
  // nothing, as Protect.
  bool ProtectSent(std::span<const Range> ranges);

  // The range's data will never come. It stays inaccessible until it is released.
  void MarkLost(const Range& range) { ranges_.MarkFailed(range.begin); }

  // Until nothing of the memory is pending but what is lost. Returns whether nothing is. Snapshots of it are copied.
  // `on_wait`: if not as in handlers. Without, what is lost is touched.
  bool Await(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  bool AwaitAll(OnWait on_wait = nullptr) { return Await(nullptr, UINTPTR_MAX, on_wait); }
  // As Await, of memory that is to be written over: it is no touch where the data is there.
  bool AwaitUnused(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  // Whether anything of it is.
  bool IsPending(const void* address, uint64_t bytes) const {
    return ranges_.Find(reinterpret_cast<uintptr_t>(address), bytes).has_value();
  }
  const std::atomic<uint32_t>& pending() const { return ranges_.count(); }
  const FaultCounters& counters() const { return counters_; }
  // What was counted since the last call, by whomever.
  uint64_t TakeFaults() { return Take(counters_.faults, &faults_taken_); }
  uint64_t TakeWaitNs() { return Take(counters_.wait_ns, &wait_ns_taken_); }

  // What was touched while it was pending, the latest of all.
  struct Touch {
    uintptr_t address = 0;
    uint64_t ns = 0;  // of CLOCK_MONOTONIC
  };
  static constexpr uint64_t kTouchesKept = 4096;
  uint64_t touches() const { return touches_.load(std::memory_order_acquire); }
  Touch TouchAt(uint64_t index) const;

  // Where sigaction itself leads to ActOnFault: the kernel's.
  void SetSigaction(Sigaction kernels) { sigaction_ = kernels; }
  // Before a fork: until nothing is pending but what is lost, and keeps other threads from closing more until it is
  // over: nobody would open that in the child. In parent and child, EndFork follows.
  void BeginFork(OnWait on_wait);
  void EndFork() { closing_.unlock(); }
  // In a child of fork: what it writes to is its own memory, not its parent's. Async-signal-safe.
  void OnForked();

  // Of who stops the program's system calls while memory is pending (PendingRanges::SetSelector). Called while none is.
  void SetSelector(std::atomic<uint8_t>* selector) { ranges_.SetSelector(selector); }
  // What takes the place of sigaction for SIGSEGV and SIGBUS: the program's action is for faults that are its own.
  int ActOnFault(int signal, const struct sigaction* next, struct sigaction* previous);

 private:
  PageGuard() = default;
  static void OnSignal(int signal, siginfo_t* info, void* context);
  // Whether the fault is over: the access may be tried again.
  bool Handle(uintptr_t address);
  bool IsSecondMiss(uintptr_t address);
  void Chain(int signal, siginfo_t* info, void* context);
  bool Add(std::span<const Range> ranges, std::span<FirstTouch* const> touches);
  void CountTouch(uintptr_t address, uint64_t ns);
  bool HasOnlyLost() const;
  void TellLost(uintptr_t address);
  void GiveTurn(OnWait on_wait);
  bool CanWriteProtected();
  enum class Toucher : uint8_t { kNobody, kAccess, kCall };
  void AwaitFound(const PendingRanges::Found& found, uintptr_t address, OnWait on_wait, Toucher toucher);
  bool AwaitMemory(const void* address, uint64_t bytes, OnWait on_wait, Toucher toucher);
  bool TryOpen(const PendingRanges::Found& found);
  // False if it stays closed for now.
  bool Open(const Range& range);
  void OpenLeft();
  void TryOpenLeft();
  bool HasOpenedAll();
  bool IsLeft(uintptr_t address);
  void StopLookingAt(const Range& range);
  // Whether it was this thread that opened it.
  bool Settle(const PendingRanges::Found& snapshot, bool wanted);

  bool IsMemory(int file) const;
  int OpenMemory() const;
  // By pread64 or pwrite64 of /proc/self/mem, all of it.
  bool Transfer(long call, char* data, uintptr_t address, uint64_t bytes) const;
  static uint64_t Take(const std::atomic<uint64_t>& counter, std::atomic<uint64_t>* taken);

  // What could not be opened; with room for all ranges, since the lander allocates nothing. Who finds the lock taken
  // tries again later: he may be a signal handler.
  std::atomic<bool> left_lock_{false};
  std::atomic<size_t> left_count_{0};
  std::vector<Range> left_;

  std::mutex closing_;  // by who closes pages, and from BeginFork to EndFork
  PendingRanges ranges_;
  FaultCounters counters_;
  std::atomic<bool> has_touches_{false};  // somebody wants to know
  std::atomic<uint64_t> faults_taken_{0}, wait_ns_taken_{0};
  Callbacks callbacks_;
  TurnStack turn_stack_;
  Sigaction sigaction_ = &::sigaction;
  // /proc/self/mem, and which file that is: a program that closes all descriptors may have another one by this number.
  mutable std::atomic<int> memory_{-1};
  mutable std::atomic<uint64_t> memory_device_{0}, memory_inode_{0};

  // The program's actions, by signal. Handlers read them, so a change is published by the pointer.
  struct Action {
    std::atomic<const struct sigaction*> of_program{nullptr};
  };
  Action& ActionOf(int signal) { return actions_[signal == SIGSEGV ? 0 : 1]; }
  Action actions_[2];

  struct TouchEntry {
    std::atomic<uintptr_t> address{0};
    std::atomic<uint64_t> ns{0};
  };
  std::atomic<uint64_t> touches_{0};
  TouchEntry touch_entries_[kTouchesKept];

  // What threads looked for in vain, by hash: of the address, and of the index when they did.
  static constexpr size_t kMisses = 1024;
  std::atomic<uint64_t> misses_[kMisses] = {};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGE_GUARD_H_
