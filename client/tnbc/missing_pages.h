// SPDX-License-Identifier: Apache-2.0
//
// Memory that has no pages until its data is there, so that the kernel itself makes who touches it wait:
// userfaultfd(2).
#ifndef COPSE_CLIENT_TNBC_MISSING_PAGES_H_
#define COPSE_CLIENT_TNBC_MISSING_PAGES_H_

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "client/tnbc/pending_ranges.h"

namespace copse::tnbc {

// Who touches a closed range, be it the kernel in a system call, waits in the kernel, whatever signals he blocks. A
// thread of this object's, the monitor, is told of it: for the counters, for turns, and if data is lost. It does not
// have to run for data to come.
//
// A thread that waits for long may have to do something for others meanwhile, so each millisecond the monitor sends it
// SIGSEGV, if it is at an access of its own; the signal's handler asks StuckAt. In a system call nothing reaches it.
//
// Never destroyed, as its monitor does not end. Thread-safe. Of a range, calls follow Close [Fill] Open.
class MissingPages {
 public:
  // Whose memory it is. Called by the monitor; NoteWaited by who opens a range, too.
  class Owner {
   public:
    enum class State { kOpen, kPending, kLost };
    // Of an address that was touched. Waits for nobody.
    virtual State StateOf(uintptr_t address) = 0;
    // A thread has begun to wait, and how long one has waited that goes on. They wait for nobody.
    virtual void NoteFault(uintptr_t address) = 0;
    virtual void NoteWaited(uint64_t ns) = 0;
    // A thread waits for what never comes.
    virtual void SayLost(uintptr_t address) = 0;
    // Now and then, while there is a thread that waits and cannot be told so.
    virtual void GiveTurn() = 0;

   protected:
    ~Owner() = default;
  };

  // Null if this process may not do so, or the kernel cannot; *why says it. Throws what std::thread does. Called with
  // whatever keeps threads of the library apart from the program's.
  static MissingPages* Start(Owner* owner, const char** why);

  // Takes the pages of ranges away, which are private anonymous memory, in order; what was in them is lost. False if
  // the kernel refuses, as for memory that is locked: then each has to be opened, and what was in it may be gone.
  bool Close(std::span<const Range> ranges);
  // Gives a closed range its pages, with what lies at `from`. False if it is not mapped any more.
  bool Fill(const Range& range, const void* from);
  // Lets everybody have it, and who waits go on; pages that were not filled have zeros. `then` is called before the
  // monitor looks at any range again.
  template <typename Then>
  void Open(const Range& range, const Then& then) {
    const std::lock_guard lock(mutex_);
    EndWaits(range);
    Release(range);
    then();
  }

  // Whether a SIGSEGV is the monitor's. For handlers.
  bool IsTurn(const siginfo_t& info) const;
  // The address at which the thread that is interrupted waits; 0: it does something else. For the handler of such a
  // signal, before it changes anything.
  uintptr_t StuckAt(const siginfo_t& info, const void* context) const;

  // In a child of fork, where memory that was closed has zeros, and there is no monitor: nothing else may be called
  // then. Async-signal-safe.
  void OnForked();

 private:
  // A thread that waits. Its handler reads it, so fields are atomic.
  struct Waiter {
    std::atomic<long> thread{0};  // 0: none
    std::atomic<uintptr_t> address{0};
    std::atomic<uintptr_t> instruction{0}, stack{0};  // where it was stopped, as it was last seen
    uint64_t since_ns = 0;
  };
  // Of threads; others wait, too, but are not seen.
  static constexpr size_t kWaitersMax = 256;

  MissingPages(Owner* owner, int faults) : owner_(owner), faults_(faults) {}
  ~MissingPages() = default;
  bool Works();
  void Release(const Range& range);
  void EndWait(Waiter* waiter);
  void EndWaits(const Range& range);
  void Watch();
  void Note(uintptr_t address, long thread);
  // Of all that wait. Returns whether there are any.
  bool LookAfterWaiters();
  bool Tell(Waiter* waiter);

  Owner* const owner_;
  const int faults_;  // the descriptor

  // Guards the waiters: a thread is told to take a turn only while what it waits for is closed. Whoever has it blocks
  // signals, or is at no access that waits.
  std::mutex mutex_;
  Waiter waiters_[kWaitersMax];
  size_t used_ = 0;  // of them, at most
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_MISSING_PAGES_H_
