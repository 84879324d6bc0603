// SPDX-License-Identifier: Apache-2.0
//
// System calls past libc's functions on memory that is pending, with COPSE_TNBC_SYSCALLS=strict.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "gtest/gtest.h"

extern "C" copse::preload::FindLibcCall copse_preload_set_memory_hooks(const copse::preload::MemoryHooks* hooks);

namespace copse::preload {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 2 * kPage;

tnbc::PageGuard* the_guard = nullptr;
const SyscallGuard* the_syscalls = nullptr;

class SyscallGuardTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (the_guard != nullptr) return;
    the_syscalls = static_cast<const SyscallGuard*>(copse_preload_set_memory_hooks(nullptr)(kSyscallGuard));
    ASSERT_NE(the_syscalls, nullptr) << "no Syscall User Dispatch here";
    const char* why = "";
    the_guard = tnbc::PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
    ASSERT_NE(the_guard, nullptr) << why;
    tnbc::the_free_syscall = the_syscalls->call;
    the_guard->SetSelector(the_syscalls->selector);
    static const MemoryHooks hooks = {&the_guard->pending(),
                                      [](const void* address, size_t bytes) { the_guard->Await(address, bytes); },
                                      [] { the_guard->AwaitAll(); },
                                      [](int signal, const struct sigaction* next, struct sigaction* previous) {
                                        return the_guard->ActOnFault(signal, next, previous);
                                      }};
    const FindLibcCall find = copse_preload_set_memory_hooks(&hooks);
    the_guard->SetSigaction(reinterpret_cast<tnbc::PageGuard::Sigaction>(find("sigaction")));
  }
  void SetUp() override { ASSERT_NE(the_guard, nullptr); }
};

// Two pages of 'o', where as many of 'n' are to come.
class Pages {
 public:
  Pages() {
    data_ = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(data_, MAP_FAILED);
    memset(data_, 'o', kBytes);
  }
  ~Pages() { munmap(data_, kBytes); }
  char* data() const { return data_; }
  tnbc::Range range() const {
    const auto begin = reinterpret_cast<uintptr_t>(data_);
    return {begin, begin + kBytes};
  }
  void Protect() const {
    const tnbc::Range all = range();
    ASSERT_TRUE(the_guard->Protect({&all, 1}));
  }
  void Land(const std::string& news) const {
    ASSERT_TRUE(the_guard->Write(range().begin, news.data(), news.size()));
    the_guard->Release(range());
  }

 private:
  char* data_;
};

std::string News(const std::string& begin = "") { return begin + std::string(kBytes - begin.size(), 'n'); }

// Runs `call` with the pages pending; they come once a thread waits for them.
void WhilePending(const Pages& pages, const std::string& news, const std::function<void()>& call) {
  const uint64_t before = the_guard->counters().faults;
  pages.Protect();
  the_syscalls->leave(/*always=*/true);  // the thread that brings them is not stopped
  std::thread lander([&] {
    while (the_guard->counters().faults == before) std::this_thread::yield();
    pages.Land(news);
  });
  the_syscalls->enter();
  call();
  lander.join();
  EXPECT_EQ(the_guard->pending(), 0u);
}

// Runs `call` with the pages pending all the time: it waits for nothing.
void WithPending(const std::function<void()>& call) {
  const Pages pages;
  const uint64_t before = the_guard->counters().faults;
  pages.Protect();
  call();
  EXPECT_EQ(the_guard->counters().faults, before);
  pages.Land(News());
}

struct Ends {
  explicit Ends(bool is_socket = false) {
    EXPECT_EQ(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds), 0);
  }
  ~Ends() { close(fds[0]), close(fds[1]); }
  std::string Received() {
    std::string text(kBytes, '\0');
    const ssize_t got = recv_or_read(text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  ssize_t recv_or_read(char* to, size_t bytes) { return read(fds[0], to, bytes); }
  int fds[2];
};

// --- Calls ---

TEST_F(SyscallGuardTest, WhatIsWrittenIsWhatCame) {
  const Pages pages;
  Ends ends;
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_write, ends.fds[1], pages.data() + 5, 1000), 1000); });
  EXPECT_EQ(ends.Received(), std::string(1000, 'n'));
}

TEST_F(SyscallGuardTest, WhatIsReadStays) {
  const Pages pages;
  Ends ends;
  ASSERT_EQ(write(ends.fds[1], "read", 4), 4);
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_read, ends.fds[0], pages.data() + kPage, 100), 4); });
  EXPECT_EQ(std::string(pages.data() + kPage - 1, 6), "nreadn");
}

TEST_F(SyscallGuardTest, ListsOfBuffersAndTheirsInPendingMemory) {
  const Pages pages;
  Ends ends;
  char text[] = "text";
  const iovec parts[] = {{text, 4}, {pages.data() + kPage, 4}};
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_writev, ends.fds[1], parts, 2), 8); });
  EXPECT_EQ(ends.Received(), "textnnnn");
  const iovec list = {text, 4};
  WhilePending(pages, News(std::string(reinterpret_cast<const char*>(&list), sizeof(list))),
               [&] { EXPECT_EQ(syscall(SYS_writev, ends.fds[1], pages.data(), 1), 4); });
  EXPECT_EQ(ends.Received(), "text");
}

TEST_F(SyscallGuardTest, Messages) {
  const Pages pages;
  Ends ends(/*is_socket=*/true);
  iovec part = {pages.data(), 10};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_sendmsg, ends.fds[1], &message, 0), 10); });
  EXPECT_EQ(ends.Received(), std::string(10, 'n'));
  mmsghdr messages[2] = {};
  iovec other = {const_cast<char*>("x"), 1};
  messages[0].msg_hdr.msg_iov = &other;
  messages[0].msg_hdr.msg_iovlen = 1;
  messages[1].msg_hdr = message;
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_sendmmsg, ends.fds[1], messages, 2, 0), 2); });
  EXPECT_EQ(ends.Received(), "x" + std::string(10, 'n'));
}

TEST_F(SyscallGuardTest, StructuresThatTheKernelFills) {
  const Pages pages;
  Ends ends;
  const auto* found = reinterpret_cast<const struct stat*>(pages.data() + kPage - 64);
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_fstat, ends.fds[0], found), 0); });
  EXPECT_TRUE(S_ISFIFO(found->st_mode));

  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  const winsize size = {24, 80, 1, 2};
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  WhilePending(pages, News(), [&] { EXPECT_EQ(ioctl(terminal, TIOCGWINSZ, pages.data()), 0); });
  EXPECT_EQ(memcmp(pages.data(), &size, sizeof(size)), 0);
  close(terminal);
}

TEST_F(SyscallGuardTest, NamesOfFiles) {
  const Pages pages;
  WhilePending(pages, News(std::string("/dev/null", 10)), [&] {
    const int file = open(pages.data(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(file, 0) << strerror(errno);
    close(file);
  });
}

TEST_F(SyscallGuardTest, UnknownCallsWaitForEverything) {
  const Pages pages;
  // Its length is what comes first.
  WhilePending(pages, News(), [&] { EXPECT_EQ(syscall(SYS_sched_getattr, 0, pages.data(), 56, 0), 0); });
  EXPECT_NE(pages.data()[0], 'n');
}

TEST_F(SyscallGuardTest, MemoryThatGoes) {
  const Pages pages;
  WhilePending(pages, News(), [&] {
    EXPECT_EQ(
        syscall(SYS_mmap, pages.data(), kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        reinterpret_cast<long>(pages.data()));
  });
  EXPECT_EQ(pages.data()[0], 0);
}

TEST_F(SyscallGuardTest, OthersDoNotWaitAndFailAsEver) {
  Ends ends;
  char byte = 'b';
  WithPending([&] {
    EXPECT_EQ(syscall(SYS_write, ends.fds[1], &byte, 1), 1);
    EXPECT_EQ(syscall(SYS_read, ends.fds[0], &byte, 1), 1);
    EXPECT_EQ(syscall(SYS_getppid), getppid());
    EXPECT_EQ(syscall(SYS_write, -1, &byte, 1), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(syscall(SYS_write, ends.fds[1], 16, 1), -1);
    EXPECT_EQ(errno, EFAULT);
    void* const fresh = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(fresh, MAP_FAILED);
    EXPECT_EQ(munmap(fresh, kBytes), 0);
  });
}

TEST_F(SyscallGuardTest, WhatIsLeftInUnusedRegistersIsNoArgument) {
  const Pages pages;
  const uint64_t before = the_guard->counters().faults;
  uint32_t word = 0;
  pages.Protect();
  char* const data = pages.data();
  EXPECT_EQ(syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, data, data, data), 0);
  EXPECT_GE(syscall(SYS_fcntl, 0, F_GETFD, data), 0);
  EXPECT_EQ(syscall(SYS_getpid, data, data, data, data, data, data), getpid());
  EXPECT_EQ(the_guard->counters().faults, before);
  pages.Land(News());
}

#if defined(__x86_64__)
// A system call as static programs make it: from anywhere, with values in all registers that it keeps, and in the red
// zone.
TEST_F(SyscallGuardTest, RegistersAndTheRedZoneStay) {
  WithPending([] {
    long results[8] = {};
    __asm__ volatile(
        "movq $0x1234, -120(%%rsp)\n\t"
        "movl $110, %%eax\n\t"  // getppid
        "movq $1, %%rdi\n\t movq $2, %%rsi\n\t movq $3, %%rdx\n\t movq $4, %%r10\n\t movq $5, %%r8\n\t movq $6, "
        "%%r9\n\t"
        "syscall\n\t"
        "movq %%rax, 0(%0)\n\t movq %%rdi, 8(%0)\n\t movq %%rsi, 16(%0)\n\t movq %%rdx, 24(%0)\n\t"
        "movq %%r10, 32(%0)\n\t movq %%r8, 40(%0)\n\t movq %%r9, 48(%0)\n\t"
        "movq -120(%%rsp), %%rax\n\t movq %%rax, 56(%0)"
        :
        : "r"(results)
        : "rax", "rdi", "rsi", "rdx", "r10", "r8", "r9", "rcx", "r11", "memory", "cc");
    EXPECT_EQ(results[0], getppid());
    for (int i = 1; i <= 6; ++i) EXPECT_EQ(results[i], i);
    EXPECT_EQ(results[7], 0x1234);
  });
}
#endif

// --- Threads ---

TEST_F(SyscallGuardTest, ThreadsAreGuardedToo) {
  const Pages pages;
  Ends ends;
  WhilePending(pages, News(), [&] {
    std::thread writer([&] { EXPECT_EQ(syscall(SYS_write, ends.fds[1], pages.data(), 10), 10); });
    writer.join();
  });
  EXPECT_EQ(ends.Received(), std::string(10, 'n'));
}

TEST_F(SyscallGuardTest, ThreadsComeAndGoMeanwhile) {
  WithPending([] {
    std::atomic<int> ran = 0;
    for (int i = 0; i < 20; ++i) {
      std::thread one([&] { ran += syscall(SYS_getpid) == getpid() ? 1 : 100; });
      one.join();
    }
    EXPECT_EQ(ran, 20);
  });
}

// Memory becomes pending while others are in the midst of what blocks all signals in libc.
TEST_F(SyscallGuardTest, ThreadsComeAndGoWhileMemoryBecomesPending) {
  std::atomic<bool> stop = false;
  std::thread starter([&] {
    while (!stop) {
      std::thread one([] {});
      pthread_kill(one.native_handle(), 0);
      one.join();
    }
  });
  const Pages pages;
  for (int i = 0; i < 2000; ++i) {
    pages.Protect();
    pages.Land("n");
  }
  stop = true;
  starter.join();
  EXPECT_EQ(the_guard->pending(), 0u);
}

void* ReadForEver(void* argument) {
  char byte;
  while (read(static_cast<Ends*>(argument)->fds[0], &byte, 1) == 1) {
  }
  return nullptr;
}

TEST_F(SyscallGuardTest, AThreadInAStoppedCallCanBeCanceled) {
  WithPending([] {
    Ends ends;
    pthread_t thread;
    void* result = nullptr;
    ASSERT_EQ(pthread_create(&thread, nullptr, ReadForEver, &ends), 0);
    ASSERT_EQ(write(ends.fds[1], "b", 1), 1);
    for (int left = 1; left != 0; std::this_thread::yield()) ASSERT_EQ(ioctl(ends.fds[0], FIONREAD, &left), 0);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  });
}

// --- Processes ---

int CodeOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SyscallGuardTest, AChildHasTheData) {
  const Pages pages;
  for (const bool by_libc : {false, true}) {
    WhilePending(pages, News(), [&] {
      const auto child = by_libc ? fork() : static_cast<pid_t>(syscall(SYS_fork));
      if (child == 0) _exit(pages.data()[kPage] == 'n' && syscall(SYS_getppid) > 0 ? 7 : 1);
      EXPECT_EQ(CodeOf(child), 7);
    });
  }
}

TEST_F(SyscallGuardTest, ProgramsAreStarted) {
  const Pages pages;
  char shell[] = "/bin/sh", option[] = "-c", script[] = "exit 7";
  char* words[] = {shell, option, script, nullptr};
  WhilePending(pages, News(), [&] {
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, shell, nullptr, nullptr, words, environ), 0);
    EXPECT_EQ(CodeOf(child), 7);
  });
  WhilePending(pages, News(),
               [&] { EXPECT_EQ(WEXITSTATUS(system(script)), 7); });  // tidy: allow(unsafe) because tested
  WhilePending(pages, News(), [&] {
    const pid_t child = vfork();
    if (child == 0) {
      execve(shell, words, environ);
      _exit(1);
    }
    EXPECT_EQ(CodeOf(child), 7);
  });
}

// --- Signals ---

std::atomic<int> alarms = 0;
void CountAlarm(int) {
  ++alarms;
  syscall(SYS_getppid);
}

TEST_F(SyscallGuardTest, HandlersReturn) {
  struct sigaction action = {}, before;
  action.sa_handler = CountAlarm;
  sigfillset(&action.sa_mask);
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  alarms = 0;
  WithPending([] {
    for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  });
  EXPECT_EQ(alarms, 5);
  sigaction(SIGUSR1, &before, nullptr);
}

sigjmp_buf back;

TEST_F(SyscallGuardTest, AStoppedCallCanBeLeft) {
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { siglongjmp(back, 1); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  WithPending([] {
    Ends ends;
    const pthread_t self = pthread_self();
    std::atomic<bool> is_over = false;
    EXPECT_EQ(write(ends.fds[1], "b", 1), 1);
    std::thread sender([&] {
      int left = 1;  // the byte, which is read after sigsetjmp
      while (left != 0) EXPECT_EQ(ioctl(ends.fds[0], FIONREAD, &left), 0);
      pthread_kill(self, SIGUSR1);
      while (!is_over) std::this_thread::yield();
    });
    if (sigsetjmp(back, 1) == 0) {
      char byte;
      while (syscall(SYS_read, ends.fds[0], &byte, 1) == 1) {
      }
      ADD_FAILURE() << "the call was not left";
    }
    is_over = true;
    sender.join();
    EXPECT_EQ(syscall(SYS_getppid), getppid());
  });
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(SyscallGuardTest, NobodyBlocksWhatStopsCalls) {
  WithPending([] {
    uint64_t all = ~uint64_t{0}, before = 0, now = 0;
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all)), 0);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof(now)), 0);
    const uint64_t open = (uint64_t{1} << (SIGSYS - 1)) | (uint64_t{1} << (SIGSEGV - 1));
    EXPECT_EQ(now & open, 0u);
    EXPECT_NE(now & (uint64_t{1} << (SIGUSR1 - 1)), 0u);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof(before)), 0);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof(now)), 0);
    EXPECT_EQ(now, before);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, 17, &all, nullptr, sizeof(all)), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, 16, nullptr, sizeof(all)), -1);
    EXPECT_EQ(errno, EFAULT);
  });
  sigset_t set, before, now;
  sigfillset(&set);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &set, &before), 0);
  WithPending([] { EXPECT_EQ(syscall(SYS_getppid), getppid()); });
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &now), 0);
  EXPECT_EQ(sigismember(&now, SIGSYS), 1);  // as the program believes
  EXPECT_EQ(sigismember(&before, SIGSYS), 0);
}

TEST_F(SyscallGuardTest, TheProgramHasItsOwnHandler) {
  struct sigaction action = {}, before, now;
  action.sa_handler = CountAlarm;
  ASSERT_EQ(sigaction(SIGSYS, &action, &before), 0);
  EXPECT_EQ(before.sa_handler, SIG_DFL);
  alarms = 0;
  WithPending([] { raise(SIGSYS); });
  EXPECT_EQ(alarms, 1);
  ASSERT_EQ(sigaction(SIGSYS, &before, &now), 0);
  EXPECT_EQ(now.sa_handler, CountAlarm);
  EXPECT_EXIT(raise(SIGSYS), testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
}  // namespace copse::preload
