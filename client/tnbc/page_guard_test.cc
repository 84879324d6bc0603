// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/page_guard.h"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "client/tnbc/test_pages.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

std::atomic<int> turns{0};
std::atomic<void (*)()> on_turn{nullptr};

PageGuard* Guard() {
  const char* why = "";
  PageGuard* const guard = PageGuard::Start({[](uintptr_t) {
                                               constexpr char kText[] = "lost\n";
                                               if (write(STDERR_FILENO, kText, sizeof(kText) - 1) > 0) _exit(3);
                                             },
                                             [] {
                                               ++turns;
                                               if (void (*const turn)() = on_turn; turn != nullptr) turn();
                                             }},
                                            &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

TEST(PageGuardTest, WhoTouchesWaitsForTheData) {
  PageGuard* const guard = Guard();
  const Pages pages(4);
  const Range range = pages.All();
  ASSERT_TRUE(guard->Protect({&range, 1}));
  EXPECT_TRUE(guard->IsPending(pages.data() + 5, 1));
  const uint64_t faults = guard->counters().faults;
  std::atomic<int> read{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&, i] { read += static_cast<volatile char*>(pages.data())[i * 1000] == 'n' ? 1 : 100; });
  }
  while (guard->counters().faults < faults + 8) std::this_thread::yield();
  EXPECT_EQ(read, 0);
  const std::string news(4 * kPage, 'n');
  ASSERT_TRUE(guard->Write(range.begin, news.data(), news.size()));
  EXPECT_EQ(read, 0);
  guard->Release(range);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read, 8);
  EXPECT_EQ(guard->pending(), 0u);
}

TEST(PageGuardTest, AForkedChildWritesToItsOwnMemory) {
  PageGuard* const guard = Guard();
  const Pages pages(1);
  const pid_t child = fork();
  if (child == 0) {
    guard->OnForked();
    const bool written = guard->Write(pages.address(), "child", 6);
    _exit(written && strcmp(pages.data(), "child") == 0 && !guard->MayMiss() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pages.data()[0], 'o');
}

TEST(PageGuardTest, AWriteComesBehindTheData) {
  PageGuard* const guard = Guard();
  const Pages pages(1);
  const Range range = pages.All();
  ASSERT_TRUE(guard->Protect({&range, 1}));
  const uint64_t faults = guard->counters().faults;
  std::thread writer([&] { static_cast<volatile char*>(pages.data())[1] = 'w'; });
  while (guard->counters().faults == faults) std::this_thread::yield();
  ASSERT_TRUE(guard->Write(range.begin, "nnn", 3));
  guard->Release(range);
  writer.join();
  EXPECT_EQ(std::string(pages.data(), 4), "nwno");
}

TEST(PageGuardTest, AwaitingGivesTurnsMeanwhile) {
  PageGuard* const guard = Guard();
  const Pages pages(1);
  const Range range = pages.All();
  ASSERT_TRUE(guard->Protect({&range, 1}));
  const int before = turns;
  std::thread other([&] {
    while (turns < before + 2) std::this_thread::yield();
    guard->Release(range);
  });
  guard->Await(pages.data() + 1, 1);
  other.join();
  EXPECT_GE(turns, before + 2);
}

TEST(PageGuardTest, WhoAsksIsToldOfLostDataOnceTheRestIsThere) {
  PageGuard* const guard = Guard();
  const Pages pages(4);
  const uintptr_t at = pages.address();
  const Range ranges[] = {{at, at + kPage}, {at + kPage, at + 2 * kPage}, {at + 3 * kPage, at + 4 * kPage}};
  ASSERT_TRUE(guard->Protect(ranges));
  guard->MarkLost(ranges[1]);
  const PageGuard::OnWait on_wait = [] { ++turns; };
  EXPECT_TRUE(guard->Await(pages.data() + 2 * kPage, kPage, on_wait));
  EXPECT_FALSE(guard->Await(pages.data() + 2 * kPage - 1, 1, on_wait));
  EXPECT_FALSE(guard->Await(pages.data() + 2 * kPage - 1, kPage, on_wait));
  const int before = turns;
  std::thread other([&] {
    while (turns < before + 2) std::this_thread::yield();
    guard->Release(ranges[0]);
    while (turns < before + 4) std::this_thread::yield();
    guard->Release(ranges[2]);
  });
  EXPECT_FALSE(guard->AwaitAll(on_wait));
  other.join();
  EXPECT_EQ(guard->pending(), 1u);
  guard->Release(ranges[1]);
  EXPECT_TRUE(guard->AwaitAll(on_wait));
}

TEST(PageGuardTest, WhoWritesToWhatIsSentWaitsAndReadsAreFree) {
  PageGuard* const guard = Guard();
  const Pages pages(2);
  const Range ranges[] = {{pages.address(), pages.address() + kPage},
                          {pages.address() + kPage, pages.address() + 2 * kPage}};
  ASSERT_TRUE(guard->ProtectSent(ranges));
  EXPECT_FALSE(guard->ProtectSent({ranges, 1}));
  const uint64_t faults = guard->counters().faults;
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage + 5], 'o');
  EXPECT_EQ(guard->counters().faults, faults);
  std::atomic<bool> written{false};
  std::thread writer([&] {
    static_cast<volatile char*>(pages.data())[kPage + 5] = 'w';
    written = true;
  });
  while (guard->counters().faults == faults) std::this_thread::yield();
  guard->Release(ranges[0]);
  pages.data()[5] = 'w';
  EXPECT_FALSE(written);
  EXPECT_EQ(pages.data()[kPage + 5], 'o');
  guard->Release(ranges[1]);
  writer.join();
  EXPECT_EQ(pages.data()[kPage + 5], 'w');
  EXPECT_EQ(guard->pending(), 0u);
}

TEST(PageGuardTest, RangesOfACallAreReleasedOneByOne) {
  PageGuard* const guard = Guard();
  const Pages pages(3);
  const uintptr_t at = pages.address();
  const Range ranges[] = {{at, at + kPage}, {at + kPage, at + 2 * kPage}, {at + 2 * kPage, at + 3 * kPage}};
  ASSERT_TRUE(guard->Protect(ranges));
  guard->Release(ranges[1]);
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage], 'o');
  EXPECT_TRUE(guard->IsPending(pages.data(), 1));
  EXPECT_FALSE(guard->IsPending(pages.data() + kPage, kPage));
  EXPECT_TRUE(guard->IsPending(pages.data() + kPage, kPage + 1));
  guard->Release(ranges[0]);
  guard->Release(ranges[2]);
}

// The same where the kernel waits.
class MissingTest : public testing::Test {
 protected:
  void SetUp() override {
    guard_ = Guard();
    const char* why = "";
    if (!guard_->MayMiss() && !guard_->StartMissing(&why)) GTEST_SKIP() << why;
  }
  PageGuard* guard_ = nullptr;
};

TEST_F(MissingTest, WhoTouchesWaitsAndIsCounted) {
  const Pages pages(4);
  const Range range = pages.All();
  bool is_kept = false;
  const auto keep = [&] { is_kept = pages.data()[0] == 'o' && guard_->IsPending(pages.data(), 1); };
  ASSERT_TRUE(guard_->ProtectMissing({&range, 1}, keep));
  EXPECT_TRUE(is_kept);
  const uint64_t faults = guard_->counters().faults, wait_ns = guard_->counters().wait_ns, touches = guard_->touches();
  std::thread reader([&] { EXPECT_EQ(static_cast<volatile char*>(pages.data())[5000], 'n'); });
  while (guard_->TouchAt(touches).ns == 0) std::this_thread::yield();  // it is counted before it is told
  EXPECT_EQ(guard_->TouchAt(touches).address / kPage, (pages.address() + 5000) / kPage);
  const std::string news(4 * kPage, 'n');
  ASSERT_TRUE(guard_->Fill(range, news.data()));
  reader.join();
  EXPECT_EQ(guard_->pending(), 0u);
  EXPECT_EQ(guard_->counters().faults, faults + 1);
  EXPECT_GT(guard_->counters().wait_ns, wait_ns);
  EXPECT_EQ(std::string(pages.data(), 4 * kPage), news);
}

TEST_F(MissingTest, AThreadThatWaitsTakesTurns) {
  const Pages pages(1);
  const Range range = pages.All();
  static std::atomic<pthread_t> taker{};
  static std::atomic<int> taken{0};
  ASSERT_TRUE(guard_->ProtectMissing({&range, 1}, [] {}));
  on_turn = [] {
    taker = pthread_self();
    ++taken;
  };
  std::thread reader([&] { EXPECT_EQ(*static_cast<volatile char*>(pages.data()), 'n'); });
  while (taken < 3) std::this_thread::yield();
  EXPECT_TRUE(pthread_equal(taker, reader.native_handle()));
  ASSERT_TRUE(guard_->Fill(range, std::string(kPage, 'n').data()));
  reader.join();
  on_turn = nullptr;
}

TEST_F(MissingTest, AwaitingIsAsEver) {
  const Pages pages(2);
  const Range ranges[] = {{pages.address(), pages.address() + kPage},
                          {pages.address() + kPage, pages.address() + 2 * kPage}};
  ASSERT_TRUE(guard_->ProtectMissing(ranges, [] {}));
  guard_->MarkLost(ranges[1]);
  const int before = turns;
  std::thread other([&] {
    while (turns < before + 2) std::this_thread::yield();
    EXPECT_TRUE(guard_->Fill(ranges[0], std::string(kPage, 'n').data()));
  });
  EXPECT_FALSE(guard_->Await(pages.data(), 2 * kPage, [] { ++turns; }));
  other.join();
  EXPECT_EQ(pages.data()[0], 'n');
  EXPECT_TRUE(guard_->IsPending(pages.data(), 2 * kPage));
  guard_->ReleaseMissing(ranges[1]);
  EXPECT_FALSE(guard_->IsPending(pages.data(), 2 * kPage));
  EXPECT_EQ(pages.data()[kPage], 0);
}

TEST_F(MissingTest, MemoryThatTheKernelRefusesIsReleased) {
  const Pages pages(2);
  ASSERT_EQ(syscall(SYS_mlock, pages.data(), kPage), 0);  // sanitizers' mlock() does nothing
  const Range range = pages.All();
  EXPECT_FALSE(guard_->ProtectMissing({&range, 1}, [] {}));
  EXPECT_EQ(guard_->pending(), 0u);
  memset(pages.data(), 'w', 2 * kPage);
  bool is_kept = false;
  ASSERT_TRUE(guard_->Protect({&range, 1}));
  EXPECT_FALSE(guard_->ProtectMissing({&range, 1}, [&] { is_kept = true; }));
  EXPECT_FALSE(is_kept);
  guard_->Release(range);
}

// Of pages: a copy of each, and how the guard knows them.
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

TEST(SnapshotTest, WhoWritesCopiesAndReadsAreFree) {
  PageGuard* const guard = Guard();
  const Pages pages(3);
  Snapshots snapshots(pages, 3);
  ASSERT_TRUE(guard->ProtectSnapshots(snapshots.all));
  const uint64_t copies = guard->counters().copies, faults = guard->counters().faults;
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[kPage], 'o');
  EXPECT_EQ(guard->counters().copies, copies);
  static_cast<volatile char*>(pages.data())[kPage + 7] = 'w';
  EXPECT_EQ(guard->counters().copies, copies + 1);
  EXPECT_EQ(guard->counters().faults, faults);
  EXPECT_EQ(snapshots.copy, std::string(kPage, 'c') + std::string(kPage, 'o') + std::string(kPage, 'c'));
  for (const PendingRanges::Found& one : snapshots.all) guard->SettleSnapshot(one);
  EXPECT_EQ(snapshots.copy, std::string(3 * kPage, 'o'));
  EXPECT_EQ(guard->counters().copies, copies + 1);
  EXPECT_EQ(guard->pending(), 0u);
  memset(pages.data(), 'w', 3 * kPage);
  EXPECT_EQ(guard->counters().copies, copies + 1);
}

TEST(SnapshotTest, WhoeverWritesTheCopyHasWhatWasThere) {
  PageGuard* const guard = Guard();
  constexpr uint64_t kCount = 64;
  for (int round = 0; round < 20; ++round) {
    const Pages pages(kCount);
    Snapshots snapshots(pages, kCount);
    ASSERT_TRUE(guard->ProtectSnapshots(snapshots.all));
    std::vector<std::thread> writers;
    for (uint64_t i = 0; i < 3; ++i) {
      writers.emplace_back([&, i] {
        for (uint64_t at = 0; at < kCount * kPage; at += 64) static_cast<volatile char*>(pages.data())[at + i] = 'w';
      });
    }
    for (const PendingRanges::Found& one : snapshots.all) guard->SettleSnapshot(one);
    for (std::thread& writer : writers) writer.join();
    ASSERT_EQ(snapshots.copy, std::string(kCount * kPage, 'o'));
    ASSERT_EQ(pages.data()[(kCount - 1) * kPage], 'w');
    ASSERT_EQ(guard->pending(), 0u);
  }
}

TEST(SnapshotTest, AwaitingCopiesAndDroppingDoesNot) {
  PageGuard* const guard = Guard();
  const Pages pages(2);
  Snapshots snapshots(pages, 2);
  ASSERT_TRUE(guard->ProtectSnapshots(snapshots.all));
  guard->Await(pages.data() + 5, 1);
  EXPECT_TRUE(guard->IsPending(pages.data(), 2 * kPage));
  EXPECT_FALSE(guard->IsPending(pages.data(), kPage));
  for (const PendingRanges::Found& one : snapshots.all) guard->DropSnapshot(one);
  EXPECT_EQ(snapshots.copy, std::string(kPage, 'o') + std::string(kPage, 'c'));
  memset(pages.data(), 'w', 2 * kPage);
  EXPECT_EQ(guard->pending(), 0u);
}

// As where one buffer is sent twice: the second call finds the first one's pages, and copies itself.
TEST(SnapshotTest, NoPageIsProtectedTwice) {
  PageGuard* const guard = Guard();
  const Pages pages(2);
  Snapshots first(pages, 2), second(pages, 2);
  ASSERT_TRUE(guard->ProtectSnapshots(first.all));
  EXPECT_FALSE(guard->ProtectSnapshots(second.all));
  const Range range = pages.All();
  EXPECT_FALSE(guard->Protect({&range, 1}));
  for (const uint64_t at : {uint64_t{0}, kPage}) static_cast<volatile char*>(pages.data())[at] = 'w';
  // Copied, and not yet taken out.
  ASSERT_TRUE(guard->ProtectSnapshots(second.all));
  for (const PendingRanges::Found& one : first.all) guard->SettleSnapshot(one);
  EXPECT_EQ(first.copy, std::string(2 * kPage, 'o'));
  static_cast<volatile char*>(pages.data())[1] = 'x';
  EXPECT_EQ(second.copy.substr(0, 3), "woo");
  for (const PendingRanges::Found& one : second.all) guard->SettleSnapshot(one);
  EXPECT_EQ(guard->pending(), 0u);
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

TEST(PageGuardTest, FaultsElsewhereGoToTheProgramsHandler) {
  PageGuard* const guard = Guard();
  struct sigaction action {};
  action.sa_sigaction = JumpOut;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  struct sigaction before {};
  ASSERT_EQ(guard->ActOnFault(SIGSEGV, &action, &before), 0);
  const Pages pages(1);
  ASSERT_EQ(mprotect(pages.data(), kPage, PROT_NONE), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(FaultAt(pages.data() + 7), pages.data() + 7);
  struct sigaction now {};
  ASSERT_EQ(guard->ActOnFault(SIGSEGV, &before, &now), 0);
  EXPECT_EQ(now.sa_sigaction, JumpOut);
}

using PageGuardDeathTest = testing::Test;

TEST(PageGuardDeathTest, WithoutAHandlerAFaultKills) {
  struct sigaction before {};
  Guard()->ActOnFault(SIGSEGV, nullptr, &before);
  if (before.sa_handler != SIG_DFL) GTEST_SKIP() << "there is a handler, as sanitizers have";
  const Pages pages(1);
  ASSERT_EQ(mprotect(pages.data(), kPage, PROT_NONE), 0);
  EXPECT_EXIT(static_cast<volatile char*>(pages.data())[0] = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(*static_cast<volatile char*>(nullptr) = 1, testing::KilledBySignal(SIGSEGV), "");
}

// In a child, which has a monitor of its own.
TEST(PageGuardDeathTest, LostDataIsNotReadByTheKernel) {
  PageGuard* const guard = Guard();
  const char* reason = "";
  if (!guard->MayMiss() && !guard->StartMissing(&reason)) GTEST_SKIP() << reason;
  const auto touch_what_is_lost = [&] {
    guard->OnForked();
    const char* why = "";
    const Pages pages(1);
    const Range range = pages.All();
    if (!guard->StartMissing(&why) || !guard->ProtectMissing({&range, 1}, [] {})) _exit(1);
    guard->MarkLost(range);
    int ends[2];
    if (pipe(ends) == 0 && write(ends[1], pages.data(), 1) == 1) _exit(2);
  };
  EXPECT_EXIT(touch_what_is_lost(), testing::ExitedWithCode(3), "lost");
}

TEST(PageGuardDeathTest, LostDataIsNotRead) {
  PageGuard* const guard = Guard();
  const Pages pages(1);
  const Range range = pages.All();
  ASSERT_TRUE(guard->Protect({&range, 1}));
  guard->MarkLost(range);
  EXPECT_EXIT(static_cast<void>(static_cast<volatile char*>(pages.data())[0]), testing::ExitedWithCode(3), "lost");
  guard->Release(range);
  EXPECT_EQ(static_cast<volatile char*>(pages.data())[0], 'o');
}

}  // namespace
}  // namespace copse::tnbc
