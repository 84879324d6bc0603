// SPDX-License-Identifier: Apache-2.0
#include "base/process/time_slice.h"

#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <thread>

#include "gtest/gtest.h"

namespace copse {
namespace {

bool KernelHasSlices() {
  utsname name;
  int major = 0, minor = 0;
  return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 12));
}

// Each test runs in a thread of its own, so that none changes another's slice.

TEST(TimeSliceTest, IsSetWhereTheKernelHasIt) {
  std::thread([] {
    const auto before = TimeSlice();
    ASSERT_EQ(before.has_value(), KernelHasSlices());
    ASSERT_EQ(SetTimeSlice(kShortSliceNs), KernelHasSlices());
    if (!KernelHasSlices()) return;
    EXPECT_EQ(TimeSlice(), kShortSliceNs);
    std::thread([] { EXPECT_EQ(TimeSlice(), kShortSliceNs); }).join();
    EXPECT_TRUE(SetTimeSlice(*before));
    EXPECT_EQ(TimeSlice(), before);
  }).join();
}

TEST(TimeSliceTest, KeepsNiceness) {
  std::thread([] {
    ASSERT_EQ(nice(3), 3);
    SetTimeSlice(kShortSliceNs);
    EXPECT_EQ(nice(0), 3);
  }).join();
}

TEST(TimeSliceTest, LeavesOtherPoliciesAlone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_FALSE(TimeSlice().has_value());
    EXPECT_FALSE(SetTimeSlice(kShortSliceNs));
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace copse
