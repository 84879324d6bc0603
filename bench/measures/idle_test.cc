// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bench/measures/process_usage.h"

namespace copse::bench {
namespace {

TEST(SlopeTest, IsThatOfTheLine) {
  EXPECT_DOUBLE_EQ(Slope({{0, 5}, {1, 7}, {3, 11}}), 2);
  EXPECT_DOUBLE_EQ(Slope({{0, 0}, {1, 1}, {2, 0}}), 0);
}

TEST(ProcessUsageTest, CountsOurOwn) {
  const auto cpu = CpuTime(getpid());
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  const auto before = ReadPss(getpid());
  ASSERT_TRUE(before.ok()) << before.status();
  // Both grow by what we do. Volatile, or a compiler sees that nobody reads it.
  constexpr size_t kBytes = 8 << 20;
  const auto memory = std::make_unique<char[]>(kBytes);
  volatile char* const pages = memory.get();
  for (size_t i = 0; i < kBytes; i += 4096) pages[i] = 1;
  const auto after = ReadPss(getpid());
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(after->own_kb - before->own_kb, 8000);
  EXPECT_GE(after->total_kb, after->own_kb);
  EXPECT_GT(*CpuTime(getpid()), *cpu);
}

TEST(ProcessUsageTest, ThereMustBeSuchAProcess) {
  constexpr pid_t kNobody = 1 << 22;  // beyond the kernel's largest
  EXPECT_TRUE(absl::IsNotFound(CpuTime(kNobody).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadPss(kNobody).status()));
}

TEST(IdleTest, EachCostIsMeasured) {
  std::vector<Row> rows;
  const absl::Status status = RunIdle({.quick = true}, {}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].metric, "cpu");
  EXPECT_GT(rows[0].median, 0);
  EXPECT_LT(rows[0].median, 50);  // it sleeps, whatever else runs
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].metric, "memory");
    EXPECT_GT(rows[i].median, 0) << rows[i].what;
  }
}

}  // namespace
}  // namespace copse::bench
