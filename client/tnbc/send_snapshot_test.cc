// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/send_snapshot.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
constexpr uint64_t kBytes = 3 << 20;

PageGuard* Guard() {
  const char* why = "";
  PageGuard* const guard = PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

// A broadcast's root, whose calls send what lies between `offsets`.
Fragmentation RootOf(const std::vector<uint64_t>& offsets) {
  Fragmentation fragmentation;
  fragmentation.is_source = true;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    SubCall call;
    call.args.type = COPSE_DT_UINT8;
    call.args.count = offsets[i + 1] - offsets[i];
    call.receive_offset = offsets[i];
    fragmentation.calls.push_back(call);
  }
  return fragmentation;
}

class SendSnapshotTest : public testing::Test {
 protected:
  SendSnapshotTest() : copy_(kBytes, 0), snapshot_(Guard()) {
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    sent_ = memory_ + 100;  // not where a page begins
    for (uint64_t i = 0; i < kBytes; ++i) sent_[i] = ByteAt(i);
  }
  ~SendSnapshotTest() override {
    snapshot_.Drop();
    EXPECT_EQ(Guard()->pending(), 0u);
    munmap(memory_, kBytes + kPage);
  }
  static uint8_t ByteAt(uint64_t i) { return static_cast<uint8_t>(i + i / 251 + 1); }
  void Start(const Fragmentation& fragmentation, SendSnapshot::Way way = SendSnapshot::Way::kInPieces) {
    snapshot_.Start(fragmentation, sent_, copy_.data(), way, kPage);
  }
  bool HasBytes(uint64_t begin, uint64_t end) const {
    for (uint64_t i = begin; i < end; ++i) {
      if (copy_[i] != ByteAt(i)) return false;
    }
    return true;
  }

  uint8_t *memory_, *sent_;
  std::vector<uint8_t> copy_;
  SendSnapshot snapshot_;
};

TEST_F(SendSnapshotTest, CopiesInTheOrderOfCalls) {
  const Fragmentation fragmentation = RootOf({5000, 1'000'000, 2'000'001, kBytes});
  Start(fragmentation);
  EXPECT_FALSE(snapshot_.HasCall(0));
  for (uint32_t call = 0; call < 3; ++call) {
    while (!snapshot_.HasCall(call)) ASSERT_TRUE(snapshot_.CopyNext());
    const uint64_t begin = fragmentation.calls[call].receive_offset;
    EXPECT_TRUE(HasBytes(begin, begin + fragmentation.calls[call].args.count));
    EXPECT_EQ(snapshot_.HasAll(), call == 2);
  }
  EXPECT_FALSE(snapshot_.CopyNext());
  EXPECT_EQ(copy_[4999], 0);  // which nobody sends
}

TEST_F(SendSnapshotTest, CopiesAtOnceIfToldSo) {
  Start(RootOf({5000, 1'000'000, kBytes}), SendSnapshot::Way::kAtOnce);
  EXPECT_TRUE(snapshot_.HasCall(1));
  EXPECT_TRUE(snapshot_.HasAll());
  EXPECT_TRUE(HasBytes(5000, kBytes));
}

TEST_F(SendSnapshotTest, WhatTheProgramWritesIsNotSent) {
  Start(RootOf({0, 1'000'000, kBytes}));
  ASSERT_TRUE(snapshot_.CopyNext());
  ASSERT_TRUE(snapshot_.Protect());
  std::thread writer([this] { memset(sent_, 0, kBytes); });
  while (snapshot_.CopyNext()) {
  }
  writer.join();
  EXPECT_TRUE(snapshot_.HasAll());
  EXPECT_TRUE(HasBytes(0, kBytes));
  EXPECT_EQ(sent_[kBytes - 1], 0);
}

TEST_F(SendSnapshotTest, SeveralThatSendTheSameMemoryAllHaveIt) {
  Start(RootOf({0, kBytes}));
  ASSERT_TRUE(snapshot_.Protect());
  std::vector<uint8_t> other_copy(kBytes);
  SendSnapshot other(Guard());
  other.Start(RootOf({0, kBytes}), sent_, other_copy.data(), SendSnapshot::Way::kInPieces, kPage);
  EXPECT_FALSE(other.Protect());
  while (other.CopyNext()) {
  }
  memset(sent_, 0, kBytes);
  while (snapshot_.CopyNext()) {
  }
  EXPECT_TRUE(HasBytes(0, kBytes));
  EXPECT_EQ(other_copy, copy_);
}

// As an alltoallv may, whose blocks lie where the program likes.
TEST_F(SendSnapshotTest, CallsThatSendTheSameBytesAreCopiedAtOnce) {
  Fragmentation fragmentation = RootOf({0, 1'000'000});
  fragmentation.calls.push_back(fragmentation.calls[0]);
  Start(fragmentation);
  EXPECT_TRUE(snapshot_.HasAll());
  EXPECT_TRUE(HasBytes(0, 1'000'000));
}

TEST_F(SendSnapshotTest, WhatIsDroppedIsNotCopied) {
  Start(RootOf({0, 2 * kPage, kBytes}));
  EXPECT_TRUE(snapshot_.HasCall(0));  // too short
  ASSERT_TRUE(snapshot_.Protect());
  snapshot_.Drop();
  EXPECT_EQ(Guard()->pending(), 0u);
  memset(sent_, 0, kBytes);
  EXPECT_FALSE(snapshot_.CopyNext());
  EXPECT_FALSE(HasBytes(2 * kPage, kBytes));
}

}  // namespace
}  // namespace copse::tnbc
