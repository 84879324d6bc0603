// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/missing_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "client/tnbc/free_syscall.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/tnbc/page_bytes.h"

namespace copse::tnbc {
namespace {

// As ranks that wait in a blocking call give their MPI a turn.
constexpr uint64_t kTurnEveryNs = 1'000'000;

// Of linux/userfaultfd.h, where they are new.
constexpr unsigned long kNew = _IO(0xAA, 0x00);  // USERFAULTFD_IOC_NEW, of /dev/userfaultfd
constexpr uint64_t kExactAddress = 1 << 11;      // UFFD_FEATURE_EXACT_ADDRESS

// Faults of the kernel's own, too, which not everybody may handle.
int OpenDescriptor() {
  const int by_call = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (by_call >= 0 || errno == ENOSYS) return by_call;
  const int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) return -1;
  const int faults = ioctl(device, kNew, O_CLOEXEC | O_NONBLOCK);
  close(device);
  return faults;
}

// The version and features are settled once for a descriptor. -1: none.
int OpenWith(uint64_t features) {
  const int faults = OpenDescriptor();
  if (faults < 0) return -1;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  if (ioctl(faults, UFFDIO_API, &api) == 0) return faults;
  close(faults);
  errno = ENOSYS;
  return -1;
}

uffdio_range KernelsOf(const Range& range) { return {range.begin, range.bytes()}; }

// Where a thread is that sleeps in the kernel, but in no system call: at an access. The kernel tells that of a
// process's own threads.
bool IsAtAccess(long thread, uintptr_t* stack, uintptr_t* instruction) {
  char text[64];
  snprintf(text, sizeof(text), "/proc/self/task/%ld/syscall", thread);
  const long file = Free(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char line[128] = "";
  const long bytes = Free(SYS_read, file, line, sizeof(line) - 1);
  Free(SYS_close, file);
  constexpr char kNoCall[] = "-1 ";
  if (bytes <= 0 || strncmp(line, kNoCall, strlen(kNoCall)) != 0) return false;
  char* end = line + strlen(kNoCall);
  *stack = strtoull(end, &end, 16);
  *instruction = strtoull(end, &end, 16);
  return *instruction != 0;
}

// Whether that is where the handler's thread was.
bool IsThere(const void* context, uintptr_t stack, uintptr_t instruction) {
#if defined(__x86_64__)
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]) == instruction &&
         static_cast<uintptr_t>(machine.gregs[REG_RSP]) == stack;
#elif defined(__aarch64__)
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
  return machine.pc == instruction && machine.sp == stack;
#else
  return false;  // nobody takes turns
#endif
}

}  // namespace

MissingPages* MissingPages::Start(Owner* owner, const char** why) {
  int faults = OpenWith(UFFD_FEATURE_THREAD_ID | kExactAddress);
  if (faults < 0) faults = OpenWith(UFFD_FEATURE_THREAD_ID);
  if (faults < 0) {
    *why = errno == ENOSYS ? "the kernel has no userfaultfd"
                           : "this process may not use userfaultfd for the kernel's faults, which takes "
                             "vm.unprivileged_userfaultfd=1, CAP_SYS_PTRACE or access to /dev/userfaultfd";
    return nullptr;
  }
  auto* const pages = new MissingPages(owner, faults);
  if (!pages->Works()) {
    *why = "userfaultfd does not bring pages";
    close(faults);
    delete pages;
    return nullptr;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([pages] { pages->Watch(); }).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(faults);
    delete pages;
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pages;
}

bool MissingPages::Works() {
  const uint64_t bytes = PageBytes();
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  constexpr char kText[] = "copse";
  const auto begin = reinterpret_cast<uintptr_t>(page);
  const Range range{begin, begin + bytes};
  char from[1 << 16] = "";
  memcpy(from, kText, sizeof(kText));
  const bool works = bytes <= sizeof(from) && Close({&range, 1}) && Fill(range, from);
  Release(range);
  const bool has_it = works && memcmp(page, kText, sizeof(kText)) == 0;
  munmap(page, bytes);
  return has_it;
}

// Watched first, empty then: there is no moment at which the kernel would put zeros there.
bool MissingPages::Close(std::span<const Range> ranges) {
  for (size_t i = 0; i < ranges.size();) {
    size_t last = i;
    while (last + 1 < ranges.size() && ranges[last + 1].begin == ranges[last].end) ++last;
    const Range range{ranges[i].begin, ranges[last].end};
    uffdio_register registered{};
    registered.range = KernelsOf(range);
    registered.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (Free(SYS_ioctl, faults_, UFFDIO_REGISTER, &registered) != 0) return false;
    if (Free(SYS_madvise, range.begin, range.bytes(), MADV_DONTNEED) != 0) return false;
    i = last + 1;
  }
  return true;
}

// The kernel copies to one mapping at a time, and may stop on the way.
bool MissingPages::Fill(const Range& range, const void* from) {
  const auto source = reinterpret_cast<uintptr_t>(from);
  uintptr_t at = range.begin, emptied = 0;
  uint64_t step = range.bytes();
  while (at < range.end) {
    uffdio_copy copy{};
    copy.dst = at;
    copy.src = source + (at - range.begin);
    copy.len = std::min<uint64_t>(step, range.end - at);
    copy.mode = UFFDIO_COPY_MODE_DONTWAKE;
    const long result = Free(SYS_ioctl, faults_, UFFDIO_COPY, &copy);
    if (copy.copy > 0) {
      at += static_cast<uint64_t>(copy.copy);
      step = range.bytes();
    } else if (result == -ENOENT && copy.len > PageBytes()) {
      step = copy.len / PageBytes() / 2 * PageBytes();
    } else if (result == -EEXIST && emptied != at) {
      emptied = at;
      Free(SYS_madvise, at, PageBytes(), MADV_DONTNEED);
    } else if (result != -EAGAIN && result != -EINTR) {
      return false;
    }
  }
  return true;
}

void MissingPages::Release(const Range& range) {
  uffdio_range released = KernelsOf(range);
  if (Free(SYS_ioctl, faults_, UFFDIO_UNREGISTER, &released) == 0) return;
  Free(SYS_ioctl, faults_, UFFDIO_WAKE, &released);
}

void MissingPages::OnForked() { close(faults_); }

// --- The threads that wait ---

void MissingPages::EndWait(Waiter* waiter) {
  waiter->thread.store(0, std::memory_order_relaxed);
  owner_->NoteWaited(NowNs() - waiter->since_ns);
}

void MissingPages::EndWaits(const Range& range) {
  for (size_t i = 0; i < used_; ++i) {
    Waiter& waiter = waiters_[i];
    const uintptr_t address = waiter.address.load(std::memory_order_relaxed);
    if (waiter.thread != 0 && address >= range.begin && address < range.end) EndWait(&waiter);
  }
}

void MissingPages::Watch() {
  pthread_setname_np(pthread_self(), "copse-faults");
  bool has_waiters = false;
  uint64_t looked_ns = 0;
  for (;;) {
    pollfd wanted{faults_, POLLIN, 0};
    const timespec tick{0, kTurnEveryNs};
    Free(SYS_ppoll, &wanted, 1, has_waiters ? &tick : nullptr, nullptr, 0);
    uffd_msg message{};
    while (Free(SYS_read, faults_, &message, sizeof(message)) == sizeof(message)) {
      if (message.event != UFFD_EVENT_PAGEFAULT) continue;
      Note(message.arg.pagefault.address, static_cast<long>(message.arg.pagefault.feat.ptid));
      has_waiters = true;
    }
    if (has_waiters && NowNs() - looked_ns >= kTurnEveryNs) {
      has_waiters = LookAfterWaiters();
      looked_ns = NowNs();
    }
  }
}

// A thread that was interrupted meanwhile comes again.
void MissingPages::Note(uintptr_t address, long thread) {
  const std::lock_guard lock(mutex_);
  if (owner_->StateOf(address) == Owner::State::kOpen) return;
  Waiter* free_one = nullptr;
  for (size_t i = 0; i < used_; ++i) {
    Waiter& waiter = waiters_[i];
    const bool is_it = waiter.thread == thread;
    if (is_it && waiter.address == address) return;
    if (is_it) EndWait(&waiter);
    if (waiter.thread == 0) free_one = &waiter;
  }
  owner_->NoteFault(address);
  if (free_one == nullptr && used_ < kWaitersMax) free_one = &waiters_[used_++];
  if (free_one == nullptr) return;
  free_one->address = address;
  free_one->instruction = 0;
  free_one->since_ns = NowNs();
  free_one->thread = thread;
}

bool MissingPages::LookAfterWaiters() {
  uintptr_t lost = 0;
  bool has_waiters = false, told_all = true;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < used_; ++i) {
      Waiter& waiter = waiters_[i];
      if (waiter.thread == 0) continue;
      const Owner::State state = owner_->StateOf(waiter.address);
      if (state == Owner::State::kOpen) {
        EndWait(&waiter);
        continue;
      }
      has_waiters = true;
      if (state == Owner::State::kLost) {
        lost = waiter.address;
      } else if (!Tell(&waiter)) {
        told_all = false;
      }
    }
  }
  if (lost != 0) owner_->SayLost(lost);
  if (!told_all) owner_->GiveTurn();
  return has_waiters;
}

bool MissingPages::Tell(Waiter* waiter) {
  const long thread = waiter->thread.load(std::memory_order_relaxed);
  uintptr_t stack = 0, instruction = 0;
  if (!IsAtAccess(thread, &stack, &instruction)) return false;
  waiter->stack = stack;
  waiter->instruction = instruction;
  const long process = Free(SYS_getpid);
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<pid_t>(process);
  info.si_uid = getuid();
  info.si_value.sival_ptr = waiter;
  return Free(SYS_rt_tgsigqueueinfo, process, thread, SIGSEGV, &info) == 0;
}

bool MissingPages::IsTurn(const siginfo_t& info) const {
  const auto* const waiter = static_cast<const Waiter*>(info.si_value.sival_ptr);
  const std::less<> less;
  return info.si_code == SI_QUEUE && info.si_pid == static_cast<pid_t>(Free(SYS_getpid)) && !less(waiter, waiters_) &&
         less(waiter, waiters_ + kWaitersMax);
}

uintptr_t MissingPages::StuckAt(const siginfo_t& info, const void* context) const {
  const Waiter& waiter = *static_cast<const Waiter*>(info.si_value.sival_ptr);
  const bool is_its = waiter.thread == Free(SYS_gettid) && waiter.instruction != 0;
  return is_its && IsThere(context, waiter.stack, waiter.instruction) ? waiter.address.load() : 0;
}

}  // namespace copse::tnbc
