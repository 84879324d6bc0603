// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/missing_pages.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/tnbc/test_pages.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// What is closed, and what was said of it.
class Observer final : public MissingPages::Owner {
 public:
  State StateOf(uintptr_t address) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [range, state] : closed_) {
      if (address >= range.begin && address < range.end) return state;
    }
    return State::kOpen;
  }
  void NoteFault(uintptr_t address) override {
    address_ = address;
    ++faults;
  }
  void NoteWaited(uint64_t ns) override {
    waited_ns += ns;
    ++waits;
  }
  void SayLost(uintptr_t address) override { lost = address; }
  void GiveTurn() override { ++turns; }

  void Set(const Range& range, State state) {
    const std::lock_guard lock(mutex_);
    Take(range);
    if (state != State::kOpen) closed_.emplace_back(range, state);
  }
  uintptr_t address() const { return address_; }

  std::atomic<uint64_t> faults{0}, waits{0}, waited_ns{0}, turns{0};
  std::atomic<uintptr_t> lost{0};

 private:
  void Take(const Range& range) {
    std::erase_if(closed_, [&](const auto& one) { return one.first == range; });
  }

  std::mutex mutex_;
  std::vector<std::pair<Range, State>> closed_;
  std::atomic<uintptr_t> address_{0};
};

Observer& Seen() {
  static auto* const observer = new Observer;
  return *observer;
}

// Of handlers.
MissingPages* of_handler = nullptr;
std::atomic<int> turns_at{0};
std::atomic<uintptr_t> stuck_at{0};

void TakeTurn(int, siginfo_t* info, void* context) {
  if (!of_handler->IsTurn(*info)) _exit(4);
  const uintptr_t at = of_handler->StuckAt(*info, context);
  if (at == 0) return;
  stuck_at = at;
  ++turns_at;
}

// One of the process.
MissingPages* Missing(const char** why) {
  static const char* reason = "";
  static MissingPages* const missing = [] {
    of_handler = MissingPages::Start(&Seen(), &reason);
    struct sigaction action {};
    action.sa_sigaction = TakeTurn;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, nullptr);
    return of_handler;
  }();
  *why = reason;
  return missing;
}

class MissingPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* why = "";
    missing_ = Missing(&why);
    if (missing_ == nullptr) GTEST_SKIP() << why;
  }
  bool Close(const Range& range) {
    Seen().Set(range, Observer::State::kPending);
    return missing_->Close({&range, 1});
  }
  void Open(const Range& range) {
    missing_->Open(range, [&] { Seen().Set(range, Observer::State::kOpen); });
  }
  static void AwaitFaults(uint64_t count) {
    while (Seen().faults < count) std::this_thread::yield();
  }

  MissingPages* missing_ = nullptr;
};

TEST_F(MissingPagesTest, WhoTouchesWaitsForTheData) {
  const Pages pages(4);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults, waits = Seen().waits;
  ASSERT_TRUE(Close(range));
  std::atomic<int> read{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&, i] { read += static_cast<volatile char*>(pages.data())[i * 1000] == 'n' ? 1 : 100; });
  }
  AwaitFaults(faults + 8);
  EXPECT_GE(Seen().address(), range.begin);
  EXPECT_LT(Seen().address(), range.end);
  // Of any address.
  const std::string news(4 * kPage + 1, 'n');
  ASSERT_TRUE(missing_->Fill(range, news.data() + 1));
  EXPECT_EQ(read, 0);
  Open(range);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read, 8);
  EXPECT_EQ(Seen().faults, faults + 8);
  EXPECT_EQ(Seen().waits, waits + 8);
  EXPECT_EQ(std::string(pages.data(), 4 * kPage), news.substr(1));
}

TEST_F(MissingPagesTest, AWriteComesBehindTheData) {
  const Pages pages(1);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults;
  ASSERT_TRUE(Close(range));
  std::thread writer([&] { static_cast<volatile char*>(pages.data())[1] = 'w'; });
  AwaitFaults(faults + 1);
  ASSERT_TRUE(missing_->Fill(range, std::string(kPage, 'n').data()));
  Open(range);
  writer.join();
  EXPECT_EQ(std::string(pages.data(), 3), "nwn");
}

TEST_F(MissingPagesTest, OnlyWhatIsClosedIsEmptied) {
  const Pages pages(5);
  const Range ranges[] = {pages.Some(1, 2), pages.Some(2, 3), pages.Some(4, 5)};
  for (const Range& range : ranges) Seen().Set(range, Observer::State::kPending);
  ASSERT_TRUE(missing_->Close(ranges));
  EXPECT_EQ(pages.data()[kPage - 1], 'o');
  EXPECT_EQ(pages.data()[3 * kPage], 'o');
  ASSERT_TRUE(missing_->Fill(ranges[1], std::string(kPage, 'n').data()));
  Open(ranges[1]);
  EXPECT_EQ(pages.data()[2 * kPage], 'n');
  const uint64_t faults = Seen().faults;
  std::thread reader([&] { EXPECT_EQ(static_cast<volatile char*>(pages.data())[2 * kPage - 1], 0); });
  AwaitFaults(faults + 1);
  // Without data: zeros.
  for (const Range& range : {ranges[0], ranges[2]}) Open(range);
  reader.join();
  EXPECT_EQ(pages.data()[4 * kPage], 0);
}

TEST_F(MissingPagesTest, ARangeMayHaveSeveralMappings) {
  const Pages pages(7);
  ASSERT_EQ(madvise(pages.data() + 3 * kPage, 2 * kPage, MADV_DONTDUMP), 0);
  const Range range = pages.All();
  ASSERT_TRUE(Close(range));
  std::string news(7 * kPage, 'n');
  for (uint64_t i = 0; i < 7; ++i) news[i * kPage] = static_cast<char>('0' + i);
  EXPECT_TRUE(missing_->Fill(range, news.data()));
  Open(range);
  EXPECT_EQ(std::string(pages.data(), 7 * kPage), news);
}

TEST_F(MissingPagesTest, WhatIsUnmappedIsNotFilled) {
  const Pages pages(2);
  const Range range = pages.All();
  ASSERT_TRUE(Close(range));
  munmap(pages.data() + kPage, kPage);
  EXPECT_FALSE(missing_->Fill(range, std::string(2 * kPage, 'n').data()));
  Open(range);
}

TEST_F(MissingPagesTest, LockedMemoryIsRefused) {
  const Pages pages(1);
  ASSERT_EQ(syscall(SYS_mlock, pages.data(), kPage), 0);  // sanitizers' mlock() does nothing
  const Range range = pages.All();
  EXPECT_FALSE(Close(range));
  Open(range);
  EXPECT_EQ(pages.data()[0], 'o');
}

// By no function of libc that might be wrapped.
TEST_F(MissingPagesTest, SystemCallsWait) {
  const Pages pages(2);
  const Range range = pages.All();
  int pipe_of[2];
  ASSERT_EQ(pipe(pipe_of), 0);
  // Past the beginning of a page, and to another one, which the kernel meets on its way.
  char* const middle = pages.data() + kPage - 3;
  for (const bool reads : {false, true}) {
    SCOPED_TRACE(reads);
    const uint64_t faults = Seen().faults, turns = Seen().turns;
    if (reads) {
      ASSERT_EQ(write(pipe_of[1], "abcdef", 6), 6);
    }
    ASSERT_TRUE(Close(range));
    std::atomic<long> result{0};
    std::thread caller(
        [&] { result = reads ? syscall(SYS_read, pipe_of[0], middle, 6) : syscall(SYS_write, pipe_of[1], middle, 6); });
    AwaitFaults(faults + 1);
    EXPECT_EQ(result, 0);
    // The thread cannot be told.
    while (Seen().turns == turns) std::this_thread::yield();
    std::string news(2 * kPage, 'n');
    news.replace(kPage - 3, 6, "123456");
    ASSERT_TRUE(missing_->Fill(range, news.data()));
    Open(range);
    caller.join();
    EXPECT_EQ(result, 6);
    char text[6];
    if (!reads) {
      ASSERT_EQ(read(pipe_of[0], text, 6), 6);
    }
    EXPECT_EQ(std::string(reads ? middle : text, 6), reads ? "abcdef" : "123456");
    EXPECT_EQ(pages.data()[0], 'n');
  }
  close(pipe_of[0]);
  close(pipe_of[1]);
}

TEST_F(MissingPagesTest, WhoWaitsIsToldSo) {
  const Pages pages(2);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults;
  ASSERT_TRUE(Close(range));
  const int before = turns_at;
  char* const touched = pages.data() + kPage + 5;
  std::thread reader([&] { EXPECT_EQ(*static_cast<volatile char*>(touched), 'n'); });
  while (turns_at < before + 3) std::this_thread::yield();
  // To a page, where the kernel is old.
  EXPECT_EQ(stuck_at / kPage, reinterpret_cast<uintptr_t>(touched) / kPage);
  ASSERT_TRUE(missing_->Fill(range, std::string(2 * kPage, 'n').data()));
  Open(range);
  reader.join();
  EXPECT_EQ(Seen().faults, faults + 1);
}

std::atomic<bool> is_handled{false}, may_return{false};

// While the program's handler has interrupted an access, the thread is not told: it may be anywhere in its code.
TEST_F(MissingPagesTest, WhoIsInAHandlerIsLeftAlone) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    is_handled = true;
    while (!may_return) {
    }
  };
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, &before);
  const Pages pages(1);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults;
  ASSERT_TRUE(Close(range));
  std::thread reader([&] { EXPECT_EQ(*static_cast<volatile char*>(pages.data()), 'n'); });
  AwaitFaults(faults + 1);
  pthread_kill(reader.native_handle(), SIGUSR1);
  while (!is_handled) std::this_thread::yield();
  const int told = turns_at;
  const uint64_t turns = Seen().turns;
  while (Seen().turns < turns + 3) std::this_thread::yield();
  EXPECT_EQ(turns_at, told);
  may_return = true;
  while (turns_at == told) std::this_thread::yield();
  ASSERT_TRUE(missing_->Fill(range, std::string(kPage, 'n').data()));
  Open(range);
  reader.join();
  EXPECT_EQ(Seen().faults, faults + 1);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(MissingPagesTest, TheMonitorIsToldWhatIsLost) {
  const Pages pages(1);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults;
  ASSERT_TRUE(Close(range));
  std::thread caller([&] {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(syscall(SYS_write, ends[1], pages.data(), 1), 1);
    close(ends[0]);
    close(ends[1]);
  });
  AwaitFaults(faults + 1);
  Seen().Set(range, Observer::State::kLost);
  while (Seen().lost == 0) std::this_thread::yield();
  EXPECT_EQ(Seen().lost / kPage * kPage, range.begin);
  Open(range);
  caller.join();
}

TEST_F(MissingPagesTest, AForkedChildHasMemoryOfItsOwn) {
  const Pages pages(1);
  const Range range = pages.All();
  const uint64_t faults = Seen().faults;
  ASSERT_TRUE(Close(range));
  const pid_t child = fork();
  if (child == 0) {
    missing_->OnForked();
    const bool is_empty = static_cast<volatile char*>(pages.data())[7] == 0;
    memset(pages.data(), 'c', kPage);
    _exit(is_empty ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::thread reader([&] { EXPECT_EQ(*static_cast<volatile char*>(pages.data()), 'n'); });
  AwaitFaults(faults + 1);
  ASSERT_TRUE(missing_->Fill(range, std::string(kPage, 'n').data()));
  Open(range);
  reader.join();
}

TEST_F(MissingPagesTest, ThreadsTouchWhatComes) {
  constexpr uint64_t kCount = 32;
  std::string news(kCount * kPage, 'n');
  for (uint64_t i = 0; i < kCount; ++i) news[i * kPage] = static_cast<char>(i);
  for (int round = 0; round < 50; ++round) {
    const Pages pages(kCount);
    for (uint64_t i = 0; i < kCount; ++i) ASSERT_TRUE(Close(pages.Some(i, i + 1)));
    std::vector<std::thread> readers;
    for (int thread = 0; thread < 3; ++thread) {
      readers.emplace_back([&] {
        for (uint64_t i = 0; i < kCount; ++i) {
          EXPECT_EQ(static_cast<volatile char*>(pages.data())[i * kPage], static_cast<char>(i));
        }
      });
    }
    for (uint64_t i = kCount; i-- > 0;) {
      const uint64_t at = (i * 7 + 3) % kCount;
      EXPECT_TRUE(missing_->Fill(pages.Some(at, at + 1), news.data() + at * kPage));
      Open(pages.Some(at, at + 1));
    }
    for (std::thread& reader : readers) reader.join();
  }
  // Each that has begun to wait has ended it.
  EXPECT_EQ(Seen().faults, Seen().waits);
}

// As for a user whom nothing allows it: its own call, and opening the device.
bool Forbid() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(MissingPagesStartTest, WhoMayNotIsToldWhatItTakes) {
  const pid_t child = fork();
  if (child == 0) {
    if (!Forbid()) _exit(1);
    const char* why = "";
    if (MissingPages::Start(&Seen(), &why) != nullptr) _exit(2);
    _exit(strstr(why, "vm.unprivileged_userfaultfd") != nullptr ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace copse::tnbc
