// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/page_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "client/tnbc/free_syscall.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/tnbc/signal_bits.h"

namespace copse::tnbc {
namespace {

// As ranks that wait in a blocking call give their MPI a turn.
constexpr uint64_t kTurnEveryNs = 1'000'000;

std::atomic<PageGuard*> the_guard{nullptr};

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
  return value ^ (value >> 27);
}

// Not by libc's name, which a library in front of it may have made wait for what this is to open.
bool SetRights(const Range& range, int rights) { return Free(SYS_mprotect, range.begin, range.bytes(), rights) == 0; }

const Range& RangeOf(const Range& range) { return range; }
const Range& RangeOf(const PendingRanges::Found& snapshot) { return snapshot.range; }

// Of ranges in order; those side by side at once.
template <typename Ranges>
bool SetRightsOfAll(const Ranges& ranges, int rights) {
  for (size_t i = 0; i < ranges.size();) {
    size_t last = i;
    while (last + 1 < ranges.size() && RangeOf(ranges[last + 1]).begin == RangeOf(ranges[last]).end) ++last;
    if (!SetRights({RangeOf(ranges[i]).begin, RangeOf(ranges[last]).end}, rights)) return false;
    i = last + 1;
  }
  return true;
}

}  // namespace

PageGuard* PageGuard::Get() { return the_guard.load(std::memory_order_acquire); }

PageGuard* PageGuard::Start(const Callbacks& callbacks, const char** why) {
  static std::mutex starting;
  const std::lock_guard lock(starting);
  if (PageGuard* started = Get(); started != nullptr) return started;
  auto* guard = new PageGuard;
  guard->callbacks_ = callbacks;
  guard->left_.reserve(PendingRanges::kRangesMax);
  if (!guard->turn_stack_.Map()) {
    *why = "no memory for a stack";
    delete guard;
    return nullptr;
  }
  if (guard->OpenMemory() < 0 || !guard->CanWriteProtected()) {
    *why = "memory that is inaccessible cannot be written through /proc/self/mem";
    if (guard->memory_ >= 0) close(guard->memory_);
    delete guard;
    return nullptr;
  }
  the_guard.store(guard, std::memory_order_release);
  // Not blocked in the handler: the program's own may fault again, or jump out.
  struct sigaction action {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    auto* before = new struct sigaction;
    sigaction(signal, &action, before);
    guard->ActionOf(signal).of_program.store(before, std::memory_order_release);
  }
  return guard;
}

bool PageGuard::HasOnlyLost() const {
  for (uintptr_t begin = 0;;) {
    const auto found = ranges_.Find(begin, UINTPTR_MAX - begin);
    if (!found.has_value()) return true;
    if (!found->failed && !found->is_open) return false;
    begin = found->range.end;
  }
}

void PageGuard::BeginFork(OnWait on_wait) {
  for (;;) {
    AwaitAll(on_wait);
    closing_.lock();
    if (HasOnlyLost()) return;
    closing_.unlock();
  }
}

// An open /proc/self/mem stays that of the process that opened it.
void PageGuard::OnForked() {
  if (IsMemory(memory_)) close(memory_);
  OpenMemory();
}

int PageGuard::OpenMemory() const {
  const auto file = static_cast<int>(Free(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC));
  struct stat info {};
  if (file < 0 || Free(SYS_fstat, file, &info) != 0) return -1;
  memory_device_ = info.st_dev;
  memory_inode_ = info.st_ino;
  memory_ = file;
  return file;
}

bool PageGuard::IsMemory(int file) const {
  struct stat info {};
  return file >= 0 && Free(SYS_fstat, file, &info) == 0 && info.st_dev == memory_device_ &&
         info.st_ino == memory_inode_;
}

bool PageGuard::CanWriteProtected() {
  const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  constexpr char kText[] = "copse";
  const bool written = Write(reinterpret_cast<uintptr_t>(page), kText, sizeof(kText)) &&
                       mprotect(page, bytes, PROT_READ) == 0 && memcmp(page, kText, sizeof(kText)) == 0;
  munmap(page, bytes);
  return written;
}

bool PageGuard::Transfer(long call, char* data, uintptr_t address, uint64_t bytes) const {
  int file = memory_;
  if (!IsMemory(file)) file = OpenMemory();
  while (bytes > 0) {
    const long done = Free(call, file, data, bytes, address);
    if (done == -EINTR) continue;
    if (done <= 0) return false;
    data += done;
    address += static_cast<uint64_t>(done);
    bytes -= static_cast<uint64_t>(done);
  }
  return true;
}

bool PageGuard::Write(uintptr_t to, const void* from, uint64_t bytes) const {
  return Transfer(SYS_pwrite64, const_cast<char*>(static_cast<const char*>(from)), to, bytes);
}

bool PageGuard::Read(void* to, uintptr_t from, uint64_t bytes) const {
  return Transfer(SYS_pread64, static_cast<char*>(to), from, bytes);
}

bool PageGuard::Add(std::span<const Range> ranges, std::span<FirstTouch* const> touches) {
  if (!touches.empty()) has_touches_ = true;
  for (const Range& range : ranges) StopLookingAt(range);
  if (ranges_.Add(ranges, touches)) return true;
  if (!has_touches_) return false;
  StopLooking(nullptr, UINTPTR_MAX);
  return ranges_.Add(ranges, touches);
}

// Known first, protected then: a fault finds its range.
bool PageGuard::Protect(std::span<const Range> ranges, std::span<FirstTouch* const> touches) {
  const std::lock_guard lock(closing_);
  if (!HasOpenedAll() || !Add(ranges, touches)) return false;
  if (SetRightsOfAll(ranges, PROT_NONE)) return true;
  for (const Range& range : ranges) Release(range);
  return false;
}

bool PageGuard::ProtectSent(std::span<const Range> ranges) {
  const std::lock_guard lock(closing_);
  if (!HasOpenedAll() || !Add(ranges, {})) return false;
  if (SetRightsOfAll(ranges, PROT_READ)) return true;
  for (const Range& range : ranges) Release(range);
  return false;
}

bool PageGuard::ProtectSnapshots(std::span<PendingRanges::Found> snapshots) {
  const std::lock_guard lock(closing_);
  for (const PendingRanges::Found& snapshot : snapshots) StopLookingAt(snapshot.range);
  if (!HasOpenedAll() || !ranges_.AddSnapshots(snapshots)) return false;
  if (SetRightsOfAll(snapshots, PROT_READ)) return true;
  for (const PendingRanges::Found& snapshot : snapshots) DropSnapshot(snapshot);
  return false;
}

// Nothing of the program's runs on this thread meanwhile, so that a claim is not left behind.
bool PageGuard::Settle(const PendingRanges::Found& snapshot, bool wanted) {
  // As the kernel has masks. Who is stopped by SIGSYS while it is blocked is killed.
  uint64_t all = ~(uint64_t{1} << (SIGSYS - 1)), before = 0;
  Free(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
  const bool claimed = PendingRanges::Claim(snapshot);
  if (claimed) {
    const Range& range = snapshot.range;
    if (wanted) memcpy(snapshot.copy, reinterpret_cast<const void*>(range.begin), range.bytes());
    Open(range);
    PendingRanges::Settle(snapshot);
  }
  Free(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof(before));
  while (!claimed && !PendingRanges::AwaitSettled(snapshot, kTurnEveryNs)) {
  }
  return claimed;
}

void PageGuard::SettleSnapshot(const PendingRanges::Found& snapshot) {
  Settle(snapshot, true);
  ranges_.Remove(snapshot);
}

void PageGuard::DropSnapshot(const PendingRanges::Found& snapshot) {
  Settle(snapshot, false);
  ranges_.Remove(snapshot);
}

void PageGuard::Release(const Range& range) {
  if (Open(range)) ranges_.Remove(range.begin);
  if (left_count_ != 0) OpenLeft();
}

// In the middle of what is closed two mappings more are needed.
bool PageGuard::Open(const Range& range) {
  if (Free(SYS_mprotect, range.begin, range.bytes(), PROT_READ | PROT_WRITE) != -ENOMEM) return true;
  // What is not mapped any more is nobody's to open.
  if (Free(SYS_msync, range.begin, range.bytes(), MS_ASYNC) != 0) return true;
  while (left_lock_.exchange(true, std::memory_order_acquire)) Free(SYS_sched_yield);
  const bool has_room = left_.size() < left_.capacity();
  if (has_room) {
    const auto behind = std::upper_bound(left_.begin(), left_.end(), range,
                                         [](const Range& a, const Range& b) { return a.begin < b.begin; });
    left_.insert(behind, range);
    left_count_ = left_.size();
  }
  left_lock_.store(false, std::memory_order_release);
  return !has_room;
}

// Opens neighboring ranges at once: the more of a mapping they are, the fewer new mappings it takes.
void PageGuard::OpenLeft() {
  uint64_t before = 0;
  Free(SYS_rt_sigprocmask, SIG_BLOCK, &kSignalsThatCanWait, &before, sizeof(before));
  TryOpenLeft();
  Free(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof(before));
}

void PageGuard::TryOpenLeft() {
  if (left_lock_.exchange(true, std::memory_order_acquire)) return;
  for (size_t first = 0; first < left_.size();) {
    size_t last = first;
    while (last + 1 < left_.size() && left_[last + 1].begin == left_[last].end) ++last;
    if (SetRights({left_[first].begin, left_[last].end}, PROT_READ | PROT_WRITE)) {
      for (size_t i = first; i <= last; ++i) ranges_.Remove(left_[i].begin);
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(first),
                  left_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    } else {
      first = last + 1;
    }
  }
  left_count_ = left_.size();
  left_lock_.store(false, std::memory_order_release);
}

// Before more is closed: what is left may be of the same pages.
bool PageGuard::HasOpenedAll() {
  if (left_count_ != 0) OpenLeft();
  return left_count_ == 0;
}

bool PageGuard::IsLeft(uintptr_t address) {
  if (left_lock_.exchange(true, std::memory_order_acquire)) return true;
  const bool found = std::any_of(left_.begin(), left_.end(), [address](const Range& range) {
    return range.begin <= address && address < range.end;
  });
  left_lock_.store(false, std::memory_order_release);
  return found;
}

uint64_t PageGuard::Take(const std::atomic<uint64_t>& counter, std::atomic<uint64_t>* taken) {
  uint64_t before = taken->load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t now = counter.load(std::memory_order_relaxed);
    if (now <= before) return 0;
    if (taken->compare_exchange_weak(before, now, std::memory_order_relaxed)) return now - before;
  }
}

// Whether the range is open now, though perhaps taken out; else its state has changed, and is to be looked at again.
// Who opens it may be the thread that a handler has interrupted, so nobody waits for it for long.
bool PageGuard::TryOpen(const PendingRanges::Found& found) {
  if (found.is_open) return true;
  if (found.is_opening) {
    if (PendingRanges::Wait(found, kTurnEveryNs)) return false;
    SetRights(found.range, PROT_READ | PROT_WRITE);
    return true;
  }
  if (!PendingRanges::BeginOpening(found)) return false;
  // Else who touches it comes again.
  if (SetRights(found.range, PROT_READ | PROT_WRITE)) PendingRanges::EndOpening(found);
  return true;
}

void PageGuard::StopLookingAt(const Range& range) {
  if (has_touches_) StopLooking(reinterpret_cast<const void*>(range.begin), range.bytes());  // NOLINT
}

void PageGuard::StopLooking(const void* address, uint64_t bytes, const FirstTouch* touch) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = begin + bytes;
  while (begin < end) {
    const auto found = ranges_.Find(begin, end - begin);
    if (!found.has_value()) return;
    const bool is_meant = found->there && (touch == nullptr || found->touch == touch);
    if (is_meant && !TryOpen(*found)) continue;
    if (is_meant) ranges_.Remove(*found);
    begin = found->range.end;
  }
}

void PageGuard::CountTouch(uintptr_t address, uint64_t ns) {
  counters_.faults.fetch_add(1, std::memory_order_relaxed);
  TouchEntry& touch = touch_entries_[touches_.fetch_add(1, std::memory_order_acq_rel) % kTouchesKept];
  touch.address.store(address, std::memory_order_relaxed);
  touch.ns.store(ns, std::memory_order_relaxed);
}

void PageGuard::TellLost(uintptr_t address) {
  struct Lost {
    OnLost tell;
    uintptr_t address;
  } lost = {callbacks_.on_lost, address};
  const auto tell = [](void* argument) {
    const auto* const told = static_cast<const Lost*>(argument);
    told->tell(told->address);
  };
  if (!turn_stack_.Run(tell, &lost)) callbacks_.on_lost(address);
}

// Null: as in handlers. Where a turn is being given already there is no need of another.
void PageGuard::GiveTurn(OnWait on_wait) {
  if (left_count_ != 0) OpenLeft();
  if (on_wait != nullptr) return on_wait();
  turn_stack_.Run([](void* guard) { static_cast<PageGuard*>(guard)->callbacks_.on_wait(); }, this);
}

void PageGuard::AwaitFound(const PendingRanges::Found& found, uintptr_t address, OnWait on_wait, Toucher toucher) {
  if (found.copy != nullptr) {
    if (Settle(found, true)) counters_.copies.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t since = NowNs();
  uint64_t never = 0;
  if (found.touch != nullptr && toucher != Toucher::kNobody && found.touch->ns.compare_exchange_strong(never, since)) {
    found.touch->by_call = toucher == Toucher::kCall;
  }
  if (found.there) {
    TryOpen(found);
    return;
  }
  CountTouch(address, since);
  if (found.failed) TellLost(address);
  while (!PendingRanges::Wait(found, kTurnEveryNs)) GiveTurn(on_wait);
  const uint64_t waited = NowNs() - since;
  counters_.wait_ns.fetch_add(waited, std::memory_order_relaxed);
  if (found.touch != nullptr) found.touch->waited_ns.fetch_add(waited, std::memory_order_relaxed);
}

// One that is being written, or was written over, is of another time or place than who asks looks for.
PageGuard::Touch PageGuard::TouchAt(uint64_t index) const {
  const TouchEntry& entry = touch_entries_[index % kTouchesKept];
  return {entry.address.load(std::memory_order_relaxed), entry.ns.load(std::memory_order_relaxed)};
}

bool PageGuard::AwaitMemory(const void* address, uint64_t bytes, OnWait on_wait, Toucher toucher) {
  const bool tells = on_wait != nullptr;
  auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = begin + bytes;
  bool is_there = true;
  while (begin < end) {
    const auto found = ranges_.Find(begin, end - begin);
    if (!found.has_value()) break;
    const bool is_lost = found->failed && tells;
    if (is_lost) is_there = false;
    if (is_lost || found->is_open) {
      begin = found->range.end;
    } else {
      AwaitFound(*found, found->range.begin, on_wait, toucher);
    }
  }
  return is_there;
}

bool PageGuard::Await(const void* address, uint64_t bytes, OnWait on_wait) {
  return AwaitMemory(address, bytes, on_wait, bytes == UINTPTR_MAX ? Toucher::kNobody : Toucher::kCall);
}

bool PageGuard::AwaitUnused(const void* address, uint64_t bytes, OnWait on_wait) {
  return AwaitMemory(address, bytes, on_wait, Toucher::kNobody);
}

// A range may have been released between the fault and the look into the index; then the access is tried again, and
// who finds nothing a second time in the same index has touched memory that is not ours.
bool PageGuard::IsSecondMiss(uintptr_t address) {
  const auto thread = static_cast<uint64_t>(Free(SYS_gettid));
  const uint64_t miss = Mix(Mix(thread) ^ address) ^ ranges_.version();
  return misses_[Mix(thread) % kMisses].exchange(miss, std::memory_order_relaxed) == miss;
}

bool PageGuard::Handle(uintptr_t address) {
  const auto found = ranges_.Find(address, 1);
  if (left_count_ != 0 && !found.has_value() && IsLeft(address)) {
    OpenLeft();
    Free(SYS_sched_yield);
    return true;
  }
  // One that is open the program has protected itself.
  if (!found.has_value() || found->is_open) return !IsSecondMiss(address);
  AwaitFound(*found, address, nullptr, Toucher::kAccess);
  return true;
}

void PageGuard::OnSignal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  PageGuard* const guard = Get();
  const bool is_ours = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
  if (!is_ours || !guard->Handle(reinterpret_cast<uintptr_t>(info->si_addr))) {
    guard->Chain(signal, info, context);
  }
  errno = error;
}

// As the kernel would have called the program's handler; where there is none, the access is tried again without ours.
void PageGuard::Chain(int signal, siginfo_t* info, void* context) {
  Action& mine = ActionOf(signal);
  const struct sigaction action = *mine.of_program.load(std::memory_order_acquire);
  // A fault cannot be ignored. One that was sent by a process can.
  const bool is_sent = info->si_code <= 0;
  if (action.sa_handler == SIG_IGN && is_sent) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    sigaction_(signal, &none, nullptr);
    if (is_sent) raise(signal);
    return;
  }
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    static const struct sigaction kNone {};
    mine.of_program.store(&kNone, std::memory_order_release);
  }
  // SIGSEGV itself stays open: the program's handler may touch pending memory.
  sigset_t mask = action.sa_mask, before;
  sigdelset(&mask, SIGSEGV);
  sigdelset(&mask, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Actions that were replaced are kept: a handler may be reading one.
int PageGuard::ActOnFault(int signal, const struct sigaction* next, struct sigaction* previous) {
  Action& mine = ActionOf(signal);
  const struct sigaction* before = mine.of_program.load(std::memory_order_acquire);
  if (next != nullptr) {
    auto* kept = static_cast<struct sigaction*>(malloc(sizeof(struct sigaction)));
    if (kept == nullptr) {
      errno = ENOMEM;
      return -1;
    }
    *kept = *next;
    before = mine.of_program.exchange(kept, std::memory_order_acq_rel);
  }
  if (previous != nullptr) *previous = *before;
  return 0;
}

}  // namespace copse::tnbc
