// SPDX-License-Identifier: Apache-2.0
//
// Page protection of memory whose data is still on its way, and the fault handler in which an access to it waits; and
// of memory that has yet to be sent, which is copied before it is written to.
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_GUARD_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_GUARD_H_

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "client/tnbc/pages/access_log.h"
#include "client/tnbc/pages/fault_actions.h"
#include "client/tnbc/pages/fault_callbacks.h"
#include "client/tnbc/pages/miss_table.h"
#include "client/tnbc/pages/page_opener.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/pages/process_memory.h"

namespace copse::tnbc {

// The guard of this process. Pages of pending ranges are inaccessible: a thread that accesses one is stopped by
// SIGSEGV, waits in the handler until the range is released, and goes on. Faults elsewhere go to the program's own
// handler, or kill the process as they would without a guard. There is one guard, never destroyed, since a fault may
// come at any time. Thread-safe.
//
// The handler takes no lock that other code holds: it searches PendingRanges without one, waits on a range's word, and
// calls FaultCallbacks. Its parts say what of them is async-signal-safe.
class PageGuard {
 public:
  using OnLost = FaultCallbacks::OnLost;
  using OnWait = FaultCallbacks::OnWait;
  using Callbacks = FaultCallbacks::Functions;
  using Sigaction = FaultActions::Sigaction;

  // Installs the handler. Returns null if this system does not let memory be written through /proc/self/mem while it is
  // inaccessible to the program, or a page be protected; *why says so.
  static PageGuard* Start(const Callbacks& callbacks, const char** why);
  // Returns null before Start.
  static PageGuard* Get();

  // Makes ranges of whole pages, in order, inaccessible. Returns false, changing nothing, if there is no room for more
  // or the kernel refuses. `accesses`, one for each range, or none: get the first accesses; never freed.
  bool Protect(std::span<const Range> ranges, std::span<FirstAccess* const> accesses = {});
  // Write and read memory whatever its protection (ProcessMemory).
  bool Write(uintptr_t to, const void* from, uint64_t bytes) const { return memory_.Write(to, from, bytes); }
  bool Read(void* to, uintptr_t from, uint64_t bytes) const { return memory_.Read(to, from, bytes); }
  // Called when the range's data is there: makes it accessible and wakes threads that wait. Where the kernel has no
  // room for another mapping (vm.max_map_count) that waits until it has, or until a neighboring range is released, too.
  void Release(const Range& range);
  // Does the same for a range whose first access is still to be recorded: it stays closed until then, and a thread that
  // accesses it goes on at once.
  void ReleaseAtAccess(const Range& range) { ranges_.MarkThere(range.begin); }
  // Opens the rest of such ranges in this memory (`access`: only the range that has it), whose accesses are not
  // recorded any more.
  void StopLooking(const void* address, uint64_t bytes, const FirstAccess* access = nullptr);

  // Makes snapshots of whole pages, in order, of which `range` and `copy` are given, read-only: until it is settled,
  // each has in it what it has now. Returns false, changing nothing, as Protect.
  bool ProtectSnapshots(std::span<PendingRanges::Found> snapshots);
  // Copies a snapshot, unless another thread has, and makes it writable. Not async-signal-safe.
  void SettleSnapshot(const PendingRanges::Found& snapshot);
  // Makes a snapshot writable without a copy. No thread writes to `copy` any more.
  void DropSnapshot(const PendingRanges::Found& snapshot);

  // Makes ranges of whole pages, in order, read-only: a thread that writes to one waits until it is released. Returns
  // false, changing nothing, like Protect.
  bool ProtectSent(std::span<const Range> ranges);

  // The range's data will never come. It stays inaccessible until it is released.
  void MarkLost(const Range& range) { ranges_.MarkFailed(range.begin); }

  // Waits until nothing of the memory is pending but lost ranges. Returns whether none is lost. Snapshots of it are
  // copied. `on_wait`: if not as in handlers; without it, lost memory is treated as accessed.
  bool Await(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  bool AwaitAll(OnWait on_wait = nullptr) { return Await(nullptr, UINTPTR_MAX, on_wait); }
  // Waits like Await for memory that is to be written over, which is no access where the data is there.
  bool AwaitUnused(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  // Returns whether any of the memory is pending.
  bool IsPending(const void* address, uint64_t bytes) const {
    return ranges_.Find(reinterpret_cast<uintptr_t>(address), bytes).has_value();
  }
  const std::atomic<uint32_t>& pending() const { return ranges_.count(); }
  const FaultCounters& counters() const { return accesses_.counters(); }
  AccessLog& accesses() { return accesses_; }
  const AccessLog& accesses() const { return accesses_; }

  void SetSigaction(Sigaction kernels) { actions_.SetSigaction(kernels); }
  int ActOnFault(int signal, const struct sigaction* next, struct sigaction* previous) {
    return actions_.Replace(signal, next, previous);
  }
  // Before a fork: until nothing is pending but what is lost, and keeps other threads from closing more until it is
  // over, since nothing would open them in the child. In parent and child, EndFork follows.
  void BeginFork(OnWait on_wait);
  void EndFork() { closing_.unlock(); }
  // In a child of fork. Async-signal-safe.
  void OnForked() { memory_.OnForked(); }

  // Sets what stops the program's system calls while memory is pending (PendingRanges::SetSelector). Called while none
  // is.
  void SetSelector(std::atomic<uint8_t>* selector) { ranges_.SetSelector(selector); }

 private:
  enum class Accessor : uint8_t { kNobody, kAccess, kCall };

  PageGuard() = default;
  static void OnSignal(int signal, siginfo_t* info, void* context);
  // Returns whether the fault is over: the access may be tried again.
  bool Handle(uintptr_t address);
  bool CloseAll(std::span<const Range> ranges, int rights, std::span<FirstAccess* const> accesses);
  bool HasOnlyLost() const;
  void GiveTurn(OnWait on_wait);
  void AwaitFound(const PendingRanges::Found& found, uintptr_t address, OnWait on_wait, Accessor accessor);
  bool AwaitMemory(const void* address, uint64_t bytes, OnWait on_wait, Accessor accessor);
  bool TryOpen(const PendingRanges::Found& found);
  void StopLookingAt(const Range& range);
  // Returns whether it was this thread that opened it.
  bool Settle(const PendingRanges::Found& snapshot, bool wanted);

  std::mutex closing_;  // held by threads that close pages, and from BeginFork to EndFork
  PendingRanges ranges_;
  PageOpener opener_{&ranges_};
  std::atomic<bool> wants_accesses_{false};  // first accesses of some ranges are wanted
  ProcessMemory memory_;
  FaultActions actions_;
  FaultCallbacks callbacks_;
  AccessLog accesses_;
  MissTable misses_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_GUARD_H_
