// SPDX-License-Identifier: Apache-2.0

#include "base/mutex.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace copse {
namespace {

struct Box {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, ExcludesOthers) {
  Box box;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&box] {
      for (int i = 0; i < 1000; ++i) {
        MutexLock lock(&box.mutex);
        ++box.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(&box.mutex);
  EXPECT_EQ(box.value, 4000);
}

TEST(CondVarTest, WaiterSeesTheChange) {
  Box box;
  std::thread waiter([&box] {
    MutexLock lock(&box.mutex);
    while (box.value == 0) box.changed.Wait(&box.mutex);
    box.value = 2;
    box.changed.NotifyAll();
  });
  {
    MutexLock lock(&box.mutex);
    box.value = 1;
    box.changed.NotifyOne();
    while (box.value != 2) box.changed.WaitFor(&box.mutex, absl::InfiniteDuration());
  }
  waiter.join();
}

TEST(CondVarTest, WaitForTimesOutWithTheLockHeld) {
  Box box;
  MutexLock lock(&box.mutex);
  // A wait may end early for no reason, but not forever.
  while (box.changed.WaitFor(&box.mutex, absl::Milliseconds(1))) {
  }
  EXPECT_EQ(box.value, 0);
}

}  // namespace
}  // namespace copse
