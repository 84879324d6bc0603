// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/page_guard.h"

#include <alloca.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "client/tnbc/testing/test_pages.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

std::atomic<int> turns{0};
// What a turn needs of the stack.
std::atomic<size_t> turn_bytes{0};

void TakeTurn() {
  const size_t bytes = turn_bytes;
  if (bytes > 0) {
    auto* const room = static_cast<char*>(alloca(bytes));
    memset(room, 1, bytes);
    asm volatile("" : : "r"(room) : "memory");
  }
  ++turns;
}

PageGuard* Guard() {
  const char* why = "";
  PageGuard* const guard = PageGuard::Start({[](uintptr_t) {
                                               constexpr char kText[] = "lost\n";
                                               if (write(STDERR_FILENO, kText, sizeof(kText) - 1) > 0) _exit(3);
                                             },
                                             TakeTurn},
                                            &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

class PageGuardTest : public testing::Test {
 protected:
  void Protect(const Range& range) { ASSERT_TRUE(guard_->Protect({&range, 1})); }

  PageGuard* const guard_ = Guard();
};
using SnapshotTest = PageGuardTest;
using PageGuardDeathTest = PageGuardTest;

TEST_F(PageGuardTest, WhoTouchesWaitsForTheData) {
  const Pages pages(4);
  const Range range = pages.All();
  Protect(range);
  EXPECT_TRUE(guard_->IsPending(pages.data() + 5, 1));
  const uint64_t faults = guard_->counters().faults;
  std::atomic<int> read{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&, i] { read += static_cast<volatile char*>(pages.data())[i * 1000] == 'n' ? 1 : 100; });
  }
  while (guard_->counters().faults < faults + 8) std::this_thread::yield();
  EXPECT_EQ(read, 0);
  const std::string news(4 * kPage, 'n');
  ASSERT_TRUE(guard_->Write(range.begin, news.data(), news.size()));
  EXPECT_EQ(read, 0);
  guard_->Release(range);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read, 8);
  EXPECT_EQ(guard_->pending(), 0u);
}

TEST_F(PageGuardTest, AForkedChildWritesToItsOwnMemory) {
  const Pages pages(1);
  const pid_t child = fork();
  if (child == 0) {
    guard_->OnForked();
    const bool written = guard_->Write(pages.address(), "child", 6);
    _exit(written && strcmp(pages.data(), "child") == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pages.data()[0], 'o');
}

// Another thread closes pages all the time; in a child nobody would open them.
TEST_F(PageGuardTest, AForkedChildHasNoPageThatIsClosed) {
  const Pages pages(8);
  const Range range = pages.All();
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> rounds{0};
  std::thread other([&] {
    for (; !is_over; ++rounds) {
      if (guard_->Protect({&range, 1})) guard_->Release(range);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = rounds;
    while (rounds == before) std::this_thread::yield();
    guard_->BeginFork([] {});
    const pid_t child = fork();
    guard_->EndFork();
    if (child == 0) {
      guard_->OnForked();
      alarm(10);
      _exit(guard_->pending() == 0 && static_cast<volatile char*>(pages.data())[kPage] == 'o' ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  is_over = true;
  other.join();
}

// As those do that become daemons, and give its number to another file.
TEST_F(PageGuardTest, AProgramMayCloseAllDescriptors) {
  const Pages pages(1);
  const int other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_GE(other, 0);
  int taken = 0;
  for (int file = 3; file < 1000; ++file) {
    char path[64], target[64] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (readlink(path, target, sizeof(target) - 1) <= 0 || strstr(target, "/mem") == nullptr || file == other) continue;
    if (strstr(target, "memfd") != nullptr) continue;
    ASSERT_EQ(dup2(other, file), file);
    ++taken;
  }
  EXPECT_GE(taken, 1);
  EXPECT_TRUE(guard_->Write(pages.address(), "there", 6));
  EXPECT_STREQ(pages.data(), "there");
  char found[6] = "";
  EXPECT_TRUE(guard_->Read(found, pages.address(), sizeof(found)));
  EXPECT_STREQ(found, "there");
  EXPECT_EQ(lseek(other, 0, SEEK_END), 0);
  close(other);
}

TEST_F(PageGuardTest, AWriteComesBehindTheData) {
  const Pages pages(1);
  const Range range = pages.All();
  Protect(range);
  const uint64_t faults = guard_->counters().faults;
  std::thread writer([&] { static_cast<volatile char*>(pages.data())[1] = 'w'; });
  while (guard_->counters().faults == faults) std::this_thread::yield();
  ASSERT_TRUE(guard_->Write(range.begin, "nnn", 3));
  guard_->Release(range);
  writer.join();
  EXPECT_EQ(std::string(pages.data(), 4), "nwno");
}

TEST_F(PageGuardTest, AwaitingGivesTurnsMeanwhile) {
  const Pages pages(1);
  const Range range = pages.All();
  Protect(range);
  const int before = turns;
  std::thread other([&] {
    while (turns < before + 2) std::this_thread::yield();
    guard_->Release(range);
  });
  guard_->Await(pages.data() + 1, 1);
  other.join();
  EXPECT_GE(turns, before + 2);
}

// Which is as small as programs have it, and would be written over by what handlers have to do in a turn.
TEST_F(PageGuardTest, TurnsNeedNoRoomOnTheAlternateStack) {
  constexpr uint64_t kBytes = 8 << 10;
  const Pages stack(1 + kBytes / kPage);
  ASSERT_EQ(mprotect(stack.data(), kPage, PROT_NONE), 0);
  stack_t mine{}, before{}, after{};
  mine.ss_sp = stack.data() + kPage;
  mine.ss_size = kBytes;
  ASSERT_EQ(sigaltstack(&mine, &before), 0);
  const Pages pages(1);
  const Range range = pages.All();
  Protect(range);
  turn_bytes = 256 << 10;
  const int turns_before = turns;
  std::thread other([&] {
    while (turns < turns_before + 3) std::this_thread::yield();
    guard_->Release(range);
  });
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[1], 'o');
  other.join();
  turn_bytes = 0;
  ASSERT_EQ(sigaltstack(&before, &after), 0);
  EXPECT_EQ(after.ss_sp, mine.ss_sp);
  EXPECT_EQ(after.ss_size, kBytes);
  EXPECT_EQ(after.ss_flags, 0);
}

TEST_F(PageGuardTest, WhoAsksIsToldOfLostDataOnceTheRestIsThere) {
  const Pages pages(4);
  const uintptr_t at = pages.address();
  const Range ranges[] = {{at, at + kPage}, {at + kPage, at + 2 * kPage}, {at + 3 * kPage, at + 4 * kPage}};
  ASSERT_TRUE(guard_->Protect(ranges));
  guard_->MarkLost(ranges[1]);
  const PageGuard::OnWait on_wait = [] { ++turns; };
  EXPECT_TRUE(guard_->Await(pages.data() + 2 * kPage, kPage, on_wait));
  EXPECT_FALSE(guard_->Await(pages.data() + 2 * kPage - 1, 1, on_wait));
  EXPECT_FALSE(guard_->Await(pages.data() + 2 * kPage - 1, kPage, on_wait));
  const int before = turns;
  std::thread other([&] {
    while (turns < before + 2) std::this_thread::yield();
    guard_->Release(ranges[0]);
    while (turns < before + 4) std::this_thread::yield();
    guard_->Release(ranges[2]);
  });
  EXPECT_FALSE(guard_->AwaitAll(on_wait));
  other.join();
  EXPECT_EQ(guard_->pending(), 1u);
  guard_->Release(ranges[1]);
  EXPECT_TRUE(guard_->AwaitAll(on_wait));
}

// Reads a byte while another thread waits to write it, which TSAN takes for written as soon as the thread tries.
__attribute__((no_sanitize("thread"))) char BeforeWrite(const volatile char* at) { return *at; }

TEST_F(PageGuardTest, WhoWritesToWhatIsSentWaitsAndReadsAreFree) {
  const Pages pages(2);
  const Range ranges[] = {{pages.address(), pages.address() + kPage},
                          {pages.address() + kPage, pages.address() + 2 * kPage}};
  ASSERT_TRUE(guard_->ProtectSent(ranges));
  EXPECT_FALSE(guard_->ProtectSent({ranges, 1}));
  const uint64_t faults = guard_->counters().faults;
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage + 5], 'o');
  EXPECT_EQ(guard_->counters().faults, faults);
  std::atomic<bool> written{false};
  std::thread writer([&] {
    static_cast<volatile char*>(pages.data())[kPage + 5] = 'w';
    written = true;
  });
  while (guard_->counters().faults == faults) std::this_thread::yield();
  guard_->Release(ranges[0]);
  pages.data()[5] = 'w';
  EXPECT_FALSE(written);
  EXPECT_EQ(BeforeWrite(pages.data() + kPage + 5), 'o');
  guard_->Release(ranges[1]);
  writer.join();
  EXPECT_EQ(pages.data()[kPage + 5], 'w');
  EXPECT_EQ(guard_->pending(), 0u);
}

TEST_F(PageGuardTest, RangesOfACallAreReleasedOneByOne) {
  const Pages pages(3);
  const uintptr_t at = pages.address();
  const Range ranges[] = {{at, at + kPage}, {at + kPage, at + 2 * kPage}, {at + 2 * kPage, at + 3 * kPage}};
  ASSERT_TRUE(guard_->Protect(ranges));
  guard_->Release(ranges[1]);
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage], 'o');
  EXPECT_TRUE(guard_->IsPending(pages.data(), 1));
  EXPECT_FALSE(guard_->IsPending(pages.data() + kPage, kPage));
  EXPECT_TRUE(guard_->IsPending(pages.data() + kPage, kPage + 1));
  guard_->Release(ranges[0]);
  guard_->Release(ranges[2]);
}

// A copy of each of some pages, and how the guard knows them.
struct Snapshots {
  Snapshots(const Pages& pages, uint64_t count) : copy(count * kPage, 'c') {
    for (uint64_t i = 0; i < count; ++i) {
      PendingRanges::Found one;
      one.range = {pages.address() + i * kPage, pages.address() + (i + 1) * kPage};
      one.copy = reinterpret_cast<uint8_t*>(copy.data()) + i * kPage;
      all.push_back(one);
    }
  }
  std::string copy;
  std::vector<PendingRanges::Found> all;
};

// All mappings that the kernel lets a process have.
class AllMappings {
 public:
  static constexpr uint64_t kMost = 300'000;
  // How many that are.
  static uint64_t Limit() {
    uint64_t limit = kMost;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    return limit;
  }
  AllMappings() : bytes_(2 * Limit() * kPage) {
    data_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    uint64_t at = 0;
    while (at < bytes_ && mprotect(data_ + at, kPage, PROT_READ) == 0) at += 2 * kPage;
    are_taken_ = at < bytes_ && errno == ENOMEM;
  }
  ~AllMappings() { munmap(data_, bytes_); }
  AllMappings(const AllMappings&) = delete;
  AllMappings& operator=(const AllMappings&) = delete;

  bool are_taken() const { return are_taken_; }

 private:
  const uint64_t bytes_;
  char* data_;
  bool are_taken_ = false;
};

// Returns why a test cannot use up the process's mappings here, or null.
const char* WhyMappingsCannotBeUsedUp() {
#if defined(__clang__)
#if __has_feature(thread_sanitizer)
  return "TSAN needs mappings, too";
#endif
#endif
  return AllMappings::Limit() >= AllMappings::kMost ? "processes may have too many mappings" : nullptr;
}

TEST_F(PageGuardTest, WhatCannotBeOpenedIsOpenedWithItsNeighbors) {
  if (AllMappings::Limit() >= AllMappings::kMost) GTEST_SKIP() << "processes may have too many mappings";
  const Pages pages(3);
  const Range ranges[] = {pages.Some(0, 1), pages.Some(1, 2), pages.Some(2, 3)};
  ASSERT_TRUE(guard_->Protect(ranges));
  bool are_taken = false, middle_waits = false;
  {
    const AllMappings all;
    are_taken = all.are_taken();
    guard_->Release(ranges[1]);
    middle_waits = guard_->IsPending(pages.data() + kPage, kPage);
    guard_->Release(ranges[0]);
    guard_->Release(ranges[2]);
  }
  EXPECT_TRUE(are_taken);
  EXPECT_TRUE(middle_waits);
  EXPECT_FALSE(guard_->IsPending(pages.data(), 3 * kPage));
  for (uint64_t at = 0; at < 3 * kPage; at += kPage) EXPECT_EQ(static_cast<volatile char*>(pages.data())[at], 'o');
}

TEST_F(PageGuardTest, WhatCannotBeOpenedIsOpenedOnceThereIsRoom) {
  if (const char* why = WhyMappingsCannotBeUsedUp()) GTEST_SKIP() << why;
  const Pages pages(5);
  const Range ranges[] = {pages.Some(0, 1), pages.Some(1, 2), pages.Some(2, 3)};
  Snapshots snapshots(pages, 5);
  ASSERT_TRUE(guard_->Protect(ranges));
  ASSERT_TRUE(guard_->ProtectSnapshots(std::span(snapshots.all).subspan(3)));
  const uint64_t faults = guard_->counters().faults;
  std::atomic<bool> goes{false};
  std::thread accessor([&] {
    while (!goes) std::this_thread::yield();
    EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage], 'o');
    static_cast<volatile char*>(pages.data())[3 * kPage] = 'w';
  });
  bool middle_waits = false;
  {
    const AllMappings all;
    guard_->Release(ranges[1]);
    guard_->SettleSnapshot(snapshots.all[3]);
    middle_waits = guard_->IsPending(pages.data() + kPage, kPage);
    goes = true;
    while (guard_->counters().faults == faults) std::this_thread::yield();
  }
  accessor.join();
  EXPECT_TRUE(middle_waits);
  EXPECT_EQ(pages.data()[3 * kPage], 'w');
  EXPECT_EQ(snapshots.copy[3 * kPage], 'o');
  guard_->Release(ranges[0]);
  guard_->Release(ranges[2]);
  guard_->SettleSnapshot(snapshots.all[4]);
  EXPECT_EQ(guard_->pending(), 0u);
}

std::atomic<volatile char*> handler_writes{nullptr};
std::atomic<int> handlers_begun{0};
void WriteInHandler(int /*signal*/) {
  ++handlers_begun;
  *handler_writes = 'w';
}

// A handler that interrupts the search for a page that is left closed faults there, too, and searches itself.
TEST_F(PageGuardTest, HandlersMayAccessWhatCannotBeOpenedYet) {
  if (const char* why = WhyMappingsCannotBeUsedUp()) GTEST_SKIP() << why;
  constexpr int kHandlers = 400;
  constexpr size_t kCount = 1000;  // the search takes about as long as the rest of a fault
  const Pages pages(kCount);
  Snapshots snapshots(pages, kCount);
  struct sigaction action = {}, before = {};
  action.sa_handler = WriteInHandler;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &action, &before);
  ASSERT_TRUE(guard_->ProtectSnapshots(snapshots.all));
  handler_writes = pages.data() + (kCount - 2) * kPage;
  std::atomic<bool> goes{false};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{64} << 20);  // a sanitizer's frames of kHandlers handlers need that
  pthread_t accessor;
  const auto access = [](void* go) -> void* {
    // ASAN gives threads an alternate stack, which has no room for nested handlers.
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
    while (!*static_cast<std::atomic<bool>*>(go)) std::this_thread::yield();
    *handler_writes = 'w';
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&accessor, &attributes, access, &goes), 0);
  {
    const AllMappings all;
    for (size_t i = 1; i < kCount - 1; ++i) guard_->SettleSnapshot(snapshots.all[i]);
    goes = true;
    for (int i = 1; i <= kHandlers; ++i) {
      pthread_kill(accessor, SIGUSR1);
      while (handlers_begun < i) std::this_thread::yield();
    }
  }
  pthread_join(accessor, nullptr);
  pthread_attr_destroy(&attributes);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(*handler_writes, 'w');
  for (const size_t i : {size_t{0}, kCount - 1}) guard_->SettleSnapshot(snapshots.all[i]);
  EXPECT_EQ(guard_->pending(), 0u);
}

TEST_F(SnapshotTest, WhoWritesCopiesAndReadsAreFree) {
  const Pages pages(3);
  Snapshots snapshots(pages, 3);
  ASSERT_TRUE(guard_->ProtectSnapshots(snapshots.all));
  const uint64_t copies = guard_->counters().copies, faults = guard_->counters().faults;
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage], 'o');
  EXPECT_EQ(guard_->counters().copies, copies);
  static_cast<volatile char*>(pages.data())[kPage + 7] = 'w';
  EXPECT_EQ(guard_->counters().copies, copies + 1);
  EXPECT_EQ(guard_->counters().faults, faults);
  EXPECT_EQ(snapshots.copy, std::string(kPage, 'c') + std::string(kPage, 'o') + std::string(kPage, 'c'));
  for (const PendingRanges::Found& one : snapshots.all) guard_->SettleSnapshot(one);
  EXPECT_EQ(snapshots.copy, std::string(3 * kPage, 'o'));
  EXPECT_EQ(guard_->counters().copies, copies + 1);
  EXPECT_EQ(guard_->pending(), 0u);
  memset(pages.data(), 'w', 3 * kPage);
  EXPECT_EQ(guard_->counters().copies, copies + 1);
}

TEST_F(SnapshotTest, WhoeverWritesTheCopyHasWhatWasThere) {
  constexpr uint64_t kCount = 64;
  for (int round = 0; round < 20; ++round) {
    const Pages pages(kCount);
    Snapshots snapshots(pages, kCount);
    ASSERT_TRUE(guard_->ProtectSnapshots(snapshots.all));
    std::vector<std::thread> writers;
    for (uint64_t i = 0; i < 3; ++i) {
      writers.emplace_back([&, i] {
        for (uint64_t at = 0; at < kCount * kPage; at += 64) static_cast<volatile char*>(pages.data())[at + i] = 'w';
      });
    }
    for (const PendingRanges::Found& one : snapshots.all) guard_->SettleSnapshot(one);
    for (std::thread& writer : writers) writer.join();
    ASSERT_EQ(snapshots.copy, std::string(kCount * kPage, 'o'));
    ASSERT_EQ(pages.data()[(kCount - 1) * kPage], 'w');
    ASSERT_EQ(guard_->pending(), 0u);
  }
}

TEST_F(SnapshotTest, AwaitingCopiesAndDroppingDoesNot) {
  const Pages pages(2);
  Snapshots snapshots(pages, 2);
  ASSERT_TRUE(guard_->ProtectSnapshots(snapshots.all));
  guard_->Await(pages.data() + 5, 1);
  EXPECT_TRUE(guard_->IsPending(pages.data(), 2 * kPage));
  EXPECT_FALSE(guard_->IsPending(pages.data(), kPage));
  for (const PendingRanges::Found& one : snapshots.all) guard_->DropSnapshot(one);
  EXPECT_EQ(snapshots.copy, std::string(kPage, 'o') + std::string(kPage, 'c'));
  memset(pages.data(), 'w', 2 * kPage);
  EXPECT_EQ(guard_->pending(), 0u);
}

// As where one buffer is sent twice: the second call finds the first one's pages, and copies itself.
TEST_F(SnapshotTest, NoPageIsProtectedTwice) {
  const Pages pages(2);
  Snapshots first(pages, 2), second(pages, 2);
  ASSERT_TRUE(guard_->ProtectSnapshots(first.all));
  EXPECT_FALSE(guard_->ProtectSnapshots(second.all));
  const Range range = pages.All();
  EXPECT_FALSE(guard_->Protect({&range, 1}));
  for (const uint64_t at : {uint64_t{0}, kPage}) static_cast<volatile char*>(pages.data())[at] = 'w';
  // Copied, and not yet taken out.
  ASSERT_TRUE(guard_->ProtectSnapshots(second.all));
  for (const PendingRanges::Found& one : first.all) guard_->SettleSnapshot(one);
  EXPECT_EQ(first.copy, std::string(2 * kPage, 'o'));
  static_cast<volatile char*>(pages.data())[1] = 'x';
  EXPECT_EQ(second.copy.substr(0, 3), "woo");
  for (const PendingRanges::Found& one : second.all) guard_->SettleSnapshot(one);
  EXPECT_EQ(guard_->pending(), 0u);
}

sigjmp_buf jump;
std::atomic<void*> seen_address{nullptr};

void JumpOut(int, siginfo_t* info, void*) {
  seen_address = info->si_addr;
  siglongjmp(jump, 1);
}

// What the program's handler is told.
void* FaultAt(char* address) {
  seen_address = nullptr;
  if (sigsetjmp(jump, 1) == 0) *static_cast<volatile char*>(address) = 1;
  return seen_address;
}

TEST_F(PageGuardTest, FaultsElsewhereGoToTheProgramsHandler) {
  struct sigaction action {};
  action.sa_sigaction = JumpOut;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  struct sigaction before {};
  ASSERT_EQ(guard_->ActOnFault(SIGSEGV, &action, &before), 0);
  const Pages pages(1);
  ASSERT_EQ(mprotect(pages.data(), kPage, PROT_NONE), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(FaultAt(pages.data() + 7), pages.data() + 7);
  struct sigaction now {};
  ASSERT_EQ(guard_->ActOnFault(SIGSEGV, &before, &now), 0);
  EXPECT_EQ(now.sa_sigaction, JumpOut);
}

char* closed_page = nullptr;
sigset_t blocked_in_handler;

void OpenPage(int) {
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked_in_handler);
  mprotect(closed_page, kPage, PROT_READ | PROT_WRITE);
}

TEST_F(PageGuardTest, TheProgramsHandlerRunsWithTheSignalsBlockedThatItNames) {
  struct sigaction action {};
  action.sa_handler = OpenPage;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGUSR1, SIGSEGV}) sigaddset(&action.sa_mask, signal);
  struct sigaction before {};
  ASSERT_EQ(guard_->ActOnFault(SIGSEGV, &action, &before), 0);
  const Pages pages(1);
  closed_page = pages.data();
  ASSERT_EQ(mprotect(closed_page, kPage, PROT_NONE), 0);
  *static_cast<volatile char*>(closed_page) = 'w';
  ASSERT_EQ(guard_->ActOnFault(SIGSEGV, &before, nullptr), 0);
  EXPECT_EQ(sigismember(&blocked_in_handler, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&blocked_in_handler, SIGSEGV), 0) << "it may access pending memory";
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
}

TEST_F(PageGuardDeathTest, WithoutAHandlerAFaultKills) {
  struct sigaction before {};
  guard_->ActOnFault(SIGSEGV, nullptr, &before);
  if (before.sa_handler != SIG_DFL) GTEST_SKIP() << "there is a handler, as sanitizers have";
  const Pages pages(1);
  ASSERT_EQ(mprotect(pages.data(), kPage, PROT_NONE), 0);
  EXPECT_EXIT(static_cast<volatile char*>(pages.data())[0] = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(*static_cast<volatile char*>(nullptr) = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(PageGuardDeathTest, LostDataIsNotRead) {
  const Pages pages(1);
  const Range range = pages.All();
  Protect(range);
  guard_->MarkLost(range);
  EXPECT_EXIT(static_cast<void>(static_cast<volatile char*>(pages.data())[0]), testing::ExitedWithCode(3), "lost");
  guard_->Release(range);
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[0], 'o');
}

}  // namespace
}  // namespace copse::tnbc
