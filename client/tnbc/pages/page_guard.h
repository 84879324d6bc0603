// SPDX-License-Identifier: Apache-2.0
//
// Protects pages whose data has not arrived: an access to one waits in the fault handler. Also protects pages that have
// yet to be sent: they are copied before they are written to, or a thread that writes to them waits.
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

// PageGuard is the one guard of this process. Pages of pending ranges are inaccessible: a thread that accesses one gets
// SIGSEGV, waits in the handler until the range is released, and continues. Faults elsewhere go to the program's own
// handler, or end the process as they would without a guard. It is never destroyed, since a fault may come at any time.
// Thread-safe.
//
// The handler takes no lock that a thread holds with its signals unblocked: it searches PendingRanges without a lock,
// waits on a range's word, and calls FaultCallbacks. The classes of the members say which of their functions are
// async-signal-safe.
class PageGuard {
 public:
  using OnLost = FaultCallbacks::OnLost;
  using OnWait = FaultCallbacks::OnWait;
  using Callbacks = FaultCallbacks::Functions;
  using Sigaction = FaultActions::Sigaction;

  // Installs the handler and returns the guard; later calls return the same one. Returns null, with the reason in *why,
  // if there is no memory for the callbacks' stack, or if this system does not let a process write its inaccessible
  // memory through /proc/self/mem, or protect a page.
  static PageGuard* Start(const Callbacks& callbacks, const char** why);
  // Returns null before Start.
  static PageGuard* Get();

  // Makes ranges of whole pages, in ascending order, inaccessible. Returns false, changing nothing, if there is no room
  // for more, part of them is pending already, or the kernel refuses. `accesses`, one for each range or none, get the
  // first accesses; they must never be freed.
  bool Protect(std::span<const Range> ranges, std::span<FirstAccess* const> accesses = {});
  // Write and read memory whatever its protection (ProcessMemory). Return false if the kernel refuses.
  bool Write(uintptr_t to, const void* from, uint64_t bytes) const { return memory_.Write(to, from, bytes); }
  bool Read(void* to, uintptr_t from, uint64_t bytes) const { return memory_.Read(to, from, bytes); }
  // Makes a range whose data has arrived accessible, and wakes threads that wait. If the kernel has no room for another
  // mapping (vm.max_map_count), that waits until it has, or until a neighboring range is released.
  void Release(const Range& range);
  // Takes the place of Release for a range whose first access is still to be recorded: it stays closed until then, and
  // a thread that accesses it continues at once.
  void ReleaseAtAccess(const Range& range) { ranges_.MarkArrived(range.begin); }
  // Opens such ranges in this memory (`access`: only the range with this record) without waiting for an access, which
  // is then not recorded.
  void StopLooking(const void* address, uint64_t bytes, const FirstAccess* access = nullptr);

  // Makes snapshots of whole pages, in ascending order, read-only. Their `range` and `copy` are given, and the rest is
  // set. Each keeps its present contents until it is settled. Returns false, changing nothing, as Protect does.
  bool ProtectSnapshots(std::span<PendingRanges::Found> snapshots);
  // Copies a snapshot, unless another thread does, and makes it writable. Not async-signal-safe.
  void SettleSnapshot(const PendingRanges::Found& snapshot);
  // Makes a snapshot writable without a copy, or waits for a thread that is copying it. Afterwards no thread writes to
  // `copy`.
  void DropSnapshot(const PendingRanges::Found& snapshot);

  // Makes ranges of whole pages, in ascending order, read-only: a thread that writes to one waits until it is released.
  // Returns false, changing nothing, as Protect does.
  bool ProtectSent(std::span<const Range> ranges);

  // Marks a range whose data will never arrive. It stays inaccessible until it is released; a thread that accesses it
  // calls on_lost.
  void MarkLost(const Range& range) { ranges_.MarkFailed(range.begin); }

  // Waits until nothing of the memory is pending but lost ranges, and copies its snapshots. Returns whether no range is
  // lost. `on_wait` is called meanwhile. Null: the handlers' callback is called in its place, and lost memory is
  // treated as accessed.
  bool Await(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  bool AwaitAll(OnWait on_wait = nullptr) { return Await(nullptr, UINTPTR_MAX, on_wait); }
  // Waits as Await does for memory that is to be overwritten: this is not recorded as a first access.
  bool AwaitUnused(const void* address, uint64_t bytes, OnWait on_wait = nullptr);
  // Returns whether the index has a range of this memory that is not settled, also if it is lost.
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
  // Waits before a fork until nothing but lost memory is pending, and keeps other threads from closing pages until
  // EndFork, since no thread would open them in the child. EndFork follows in parent and child.
  void BeginFork(OnWait on_wait);
  void EndFork() { closing_.unlock(); }
  // A child of fork calls it, so that Write and Read access its own memory. Async-signal-safe.
  void OnForked() { memory_.OnForked(); }

  // Sets the byte that stops the program's system calls while memory is pending (PendingRanges::SetSelector). It is
  // called while none is.
  void SetSelector(std::atomic<uint8_t>* selector) { ranges_.SetSelector(selector); }

 private:
  enum class Accessor : uint8_t { kNobody, kAccess, kCall };

  PageGuard() = default;
  static void OnSignal(int signal, siginfo_t* info, void* context);
  // Handles a fault, for which the kernel made `frame` on the stack. Returns true if the access is to be repeated,
  // false if the memory is not the library's.
  bool Handle(uintptr_t address, const void* frame);
  bool CloseAll(std::span<const Range> ranges, int rights, std::span<FirstAccess* const> accesses);
  bool HasOnlyLost() const;
  void GiveTurn(OnWait on_wait);
  void AwaitFound(const PendingRanges::Found& found, uintptr_t address, OnWait on_wait, Accessor accessor);
  bool AwaitMemory(const void* address, uint64_t bytes, OnWait on_wait, Accessor accessor);
  bool TryOpen(const PendingRanges::Found& found);
  void StopLookingAt(const Range& range);
  // Opens the snapshot, after copying it if `wanted`, or waits until another thread has opened it. Returns whether this
  // thread has.
  bool Settle(const PendingRanges::Found& snapshot, bool wanted);

  std::mutex closing_;  // held by threads that close pages, and from BeginFork to EndFork
  PendingRanges ranges_;
  PageOpener opener_{&ranges_};
  std::atomic<bool> wants_accesses_{false};  // first accesses of some ranges were wanted
  ProcessMemory memory_;
  FaultActions actions_;
  FaultCallbacks callbacks_;
  AccessLog accesses_;
  MissTable misses_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_GUARD_H_
