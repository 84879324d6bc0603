// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/worker.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

// Notes the thread that destroys it.
struct Noted {
  explicit Noted(std::thread::id* by) : destroyed_by(by) {}
  ~Noted() { *destroyed_by = std::this_thread::get_id(); }
  std::thread::id* const destroyed_by;
};

TEST(WorkerTest, RunsFunctionsInOrderOnItsThreadAndAllBeforeItsEnd) {
  std::vector<int> order;
  std::thread::id thread;
  {
    Worker worker;
    worker.Post([&] {
      thread = std::this_thread::get_id();
      worker.Post([&] { order.push_back(2); });
      order.push_back(0);
    });
    worker.Post([&] { order.push_back(1); });
  }
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[1] + order[2], 3);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkerTest, ObjectsMayOutliveIt) {
  std::thread::id destroyed_by;
  std::shared_ptr<const Noted> object = Worker().DisposeOf<Noted>(std::make_shared<const Noted>(&destroyed_by));
  object.reset();
  EXPECT_EQ(destroyed_by, std::this_thread::get_id());
}

TEST(WorkerTest, DisposesOfObjectsOnItsThread) {
  std::thread::id destroyed_by;
  {
    Worker worker;
    std::shared_ptr<const Noted> object = worker.DisposeOf<Noted>(std::make_shared<const Noted>(&destroyed_by));
    EXPECT_EQ(object->destroyed_by, &destroyed_by);
    std::shared_ptr<const Noted> copy = object;
    object.reset();
    EXPECT_EQ(copy.use_count(), 1);
    copy.reset();
  }
  EXPECT_NE(destroyed_by, std::thread::id());
  EXPECT_NE(destroyed_by, std::this_thread::get_id());
}

}  // namespace
}  // namespace copse::daemon
