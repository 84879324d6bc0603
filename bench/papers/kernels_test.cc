// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/tnbc.h"

#include <gtest/gtest.h>

namespace copse::bench::papers {
namespace {

// Microseconds; two calls an iteration, of which the first is long.
const std::vector<double> kTwoIterations = {9000, 1, 2,                       // total, hash
                                            4000, 0, 1000, 500, 10, 0, 0, 5,  // 3 may be hidden, 1.5 is there
                                            2000, 0, 4000, 500, 10, 0, 0, 5};

TEST(KernelsTest, ReadsWhatALaunchHasSaid) {
  const auto run = ParseKernelRun(kTwoIterations, 2, 2, 4);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->total, 9);
  EXPECT_EQ(run->hash, (uint64_t{1} << 32) + 2);
  ASSERT_EQ(run->calls.size(), 4u);
  EXPECT_EQ(run->calls[2].call, 2);
  EXPECT_EQ(run->calls[2].related, 4);
  EXPECT_EQ(run->calls[2].rest, 0.5);
  EXPECT_EQ(run->calls[2].blocks, 8u);
  EXPECT_EQ(run->calls[2].first_part, 0.25);
}

TEST(KernelsTest, RefusesALineOfHalfAnIteration) {
  for (const std::vector<double>& samples :
       {std::vector<double>(), std::vector<double>(3), std::vector<double>(3 + 4), std::vector<double>(3 + 12)}) {
    EXPECT_TRUE(absl::IsInternal(ParseKernelRun(samples, 2, 2, 4).status())) << samples.size();
  }
}

TEST(KernelsTest, BoundsAreOfOneCallOfAnIteration) {
  const auto run = ParseKernelRun(kTwoIterations, 2, 2, 4);
  ASSERT_TRUE(run.ok()) << run.status();
  // The first iteration's computation, and all but the first quarter of the second's call.
  EXPECT_DOUBLE_EQ(CeilingOf(*run, 0, 2), 1.5 + 1.5);
  EXPECT_NEAR(CeilingOf(*run, 1, 2), 0.01, 1e-12);
}

}  // namespace
}  // namespace copse::bench::papers
