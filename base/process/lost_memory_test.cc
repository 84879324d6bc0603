// SPDX-License-Identifier: Apache-2.0

#include "base/process/lost_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/mapping_beyond_end.h"

namespace copse {
namespace {

const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

uint8_t Read(const uint8_t* at) { return *const_cast<const volatile uint8_t*>(at); }

TEST(LostMemoryTest, AFaultCostsItsMappingAlone) {
  CatchMemoryFaults();
  const MappingBeyondEnd first(0, 4 * kPage), second(0, 4 * kPage);
  {
    const TrackedMemory one = *TrackedMemory::Track(first.data(), first.bytes());
    const TrackedMemory other = *TrackedMemory::Track(second.data(), second.bytes());
    EXPECT_FALSE(AnyMemoryLost());
    EXPECT_EQ(Read(first.data() + kPage + 5), 0);
    EXPECT_TRUE(AnyMemoryLost());
    EXPECT_TRUE(one.lost());
    EXPECT_FALSE(other.lost());
    // The whole mapping counts as lost, and nothing beside it.
    EXPECT_TRUE(IsMemoryLost(first.data(), 1));
    EXPECT_TRUE(IsMemoryLost(first.data() + first.bytes() - 1, 100));
    EXPECT_FALSE(IsMemoryLost(second.data(), second.bytes()));
    // A write loses a second page of it.
    first.data()[3 * kPage] = 7;
    EXPECT_EQ(Read(first.data() + 3 * kPage), 7);
  }
  EXPECT_FALSE(AnyMemoryLost());
  EXPECT_FALSE(IsMemoryLost(first.data(), first.bytes()));
}

TEST(LostMemoryTest, OtherPagesKeepWhatTheyHold) {
  CatchMemoryFaults();
  const MappingBeyondEnd memory(2 * kPage, 3 * kPage);
  const TrackedMemory tracked = *TrackedMemory::Track(memory.data(), memory.bytes());
  memory.data()[2 * kPage - 1] = 9;
  EXPECT_FALSE(tracked.lost());
  EXPECT_EQ(Read(memory.data() + 2 * kPage), 0);
  EXPECT_TRUE(tracked.lost());
  EXPECT_EQ(Read(memory.data() + 2 * kPage - 1), 9);
}

TEST(LostMemoryTest, FaultsMayComeOnAnyThreadAndWithinLibc) {
  CatchMemoryFaults();
  const MappingBeyondEnd memory(0, 64 * kPage);
  const TrackedMemory tracked = *TrackedMemory::Track(memory.data(), memory.bytes());
  std::vector<std::thread> threads;
  std::vector<uint8_t> copies[4];
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      copies[i].assign(16 * kPage, 1);
      std::memcpy(copies[i].data(), memory.data() + static_cast<uint64_t>(i) * 16 * kPage, 16 * kPage);
    });
  }
  for (std::thread& each : threads) each.join();
  for (const auto& copy : copies) EXPECT_EQ(copy, std::vector<uint8_t>(16 * kPage, 0));
  EXPECT_TRUE(tracked.lost());
}

TEST(LostMemoryTest, MovesWithItsMark) {
  CatchMemoryFaults();
  const MappingBeyondEnd memory(0, kPage);
  TrackedMemory first = *TrackedMemory::Track(memory.data(), kPage);
  TrackedMemory second = std::move(first);
  Read(memory.data());
  EXPECT_FALSE(first.lost());  // NOLINT: the moved-from state
  EXPECT_TRUE(second.lost());
  first = std::move(second);
  EXPECT_TRUE(first.lost());
  first = TrackedMemory();
  EXPECT_FALSE(AnyMemoryLost());
}

TEST(LostMemoryTest, IsBounded) {
  std::vector<TrackedMemory> all;
  const auto address = [](uint64_t i) { return reinterpret_cast<const void*>((uint64_t{1} << 40) + i * kPage); };
  for (uint64_t i = 0; i < kTrackedMappingsMax; ++i) all.push_back(*TrackedMemory::Track(address(i), kPage));
  EXPECT_TRUE(absl::IsResourceExhausted(TrackedMemory::Track(address(kTrackedMappingsMax), kPage).status()));
  all.pop_back();
  EXPECT_TRUE(TrackedMemory::Track(address(kTrackedMappingsMax), kPage).ok());
}

// Death tests run in a process of their own, in which no handler was installed before.
class LostMemoryDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void ReadElsewhere() {
  const MappingBeyondEnd tracked(0, kPage), other(0, kPage);
  const auto of_others = TrackedMemory::Track(tracked.data(), kPage);
  Read(tracked.data());
  Read(other.data());
}

TEST_F(LostMemoryDeathTest, AFaultElsewhereEndsTheProcess) { EXPECT_DEATH((CatchMemoryFaults(), ReadElsewhere()), ""); }

TEST_F(LostMemoryDeathTest, AFaultElsewhereIsTheEarlierHandlers) {
  const auto test = [] {
    signal(SIGBUS, [](int) { _exit(7); });
    CatchMemoryFaults();
    ReadElsewhere();
  };
  EXPECT_EXIT(test(), testing::ExitedWithCode(7), "");
}

TEST_F(LostMemoryDeathTest, ASignalThatWasSentEndsTheProcess) {
  EXPECT_DEATH((CatchMemoryFaults(), raise(SIGBUS)), "");
}

}  // namespace
}  // namespace copse
