// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_workers.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

// A Gate holds workers up until it is opened.
class Gate {
 public:
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting_;
    opened_.notify_all();
    opened_.wait(lock, [this] { return open_; });
  }
  void AwaitOneAtIt() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  int waiting_ = 0;
};

class PlanWorkersTest : public testing::Test {
 protected:
  void RunUntil(size_t done) {
    while (done_.size() < done) queue_.RunUntil(absl::InfiniteFuture());
  }
  // Adds a job that is noted as `name` when it is done.
  void Add(PlanWorkers& workers, uint32_t user, char name) {
    workers.Run(
        user, [] {}, [this, name] { done_ += name; });
  }

  MonotonicClock clock_;
  TaskQueue queue_{&clock_};
  std::string done_;
};

TEST_F(PlanWorkersTest, WorksElsewhereAndIsDoneHere) {
  PlanWorkers workers(&queue_, 2);
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id worked, was_done;
  workers.Run(
      1, [&] { worked = std::this_thread::get_id(); },
      [&] {
        was_done = std::this_thread::get_id();
        done_ += 'x';
      });
  RunUntil(1);
  EXPECT_NE(worked, here);
  EXPECT_EQ(was_done, here);
}

// A user with many jobs delays another user's by one.
TEST_F(PlanWorkersTest, UsersWhoseJobsAreEquallyLongTakeTurns) {
  PlanWorkers workers(&queue_, 1, 0, [] { return absl::ZeroDuration(); });
  Gate gate;
  workers.Run(
      1, [&] { gate.Pass(); }, [this] { done_ += 'g'; });
  gate.AwaitOneAtIt();
  for (const char name : {'a', 'b', 'c'}) Add(workers, 1, name);
  for (const char name : {'x', 'y'}) Add(workers, 2, name);
  Add(workers, 3, 'z');
  EXPECT_EQ(workers.waiting(), 6u);
  gate.Open();
  RunUntil(7);
  EXPECT_EQ(workers.waiting(), 0u);
  EXPECT_EQ(done_, "gxzaybc");
}

TEST_F(PlanWorkersTest, AUserWithLongJobsGetsNoMoreTimeThanOneWithShortOnes) {
  std::atomic<int> seconds{0};
  PlanWorkers workers(&queue_, 1, 0, [&] { return absl::Seconds(seconds.load()); });
  const auto add = [&](uint32_t user, int takes, char name) {
    workers.Run(
        user, [&seconds, takes] { seconds += takes; }, [this, name] { done_ += name; });
  };
  Gate gate;
  workers.Run(
      1, [&] { gate.Pass(); }, [this] { done_ += 'g'; });
  gate.AwaitOneAtIt();
  for (const char name : {'A', 'B'}) add(1, 3, name);
  for (const char name : {'v', 'w', 'x', 'y', 'z'}) add(2, 1, name);
  gate.Open();
  RunUntil(8);
  EXPECT_EQ(done_, "gvAwxByz");
  // A user who was away has saved nothing up, and one who has used more is behind still.
  Gate second;
  workers.Run(
      2, [&] { second.Pass(); }, [this] { done_ += 'h'; });
  second.AwaitOneAtIt();
  add(1, 1, 'C');
  add(3, 3, 'N');
  add(3, 3, 'O');
  add(2, 1, 'a');
  second.Open();
  RunUntil(13);
  EXPECT_EQ(done_.substr(8), "hNaCO");
}

TEST_F(PlanWorkersTest, EndsWithoutTheJobsThatWait) {
  auto workers = std::make_unique<PlanWorkers>(&queue_, 1);
  Gate gate;
  std::atomic<bool> worked{false};
  workers->Run(
      1, [&] { gate.Pass(); }, [this] { done_ += 'g'; });
  gate.AwaitOneAtIt();
  workers->Run(
      1, [&] { worked = true; }, [this] { done_ += 'n'; });
  std::thread opener([&] { gate.Open(); });
  workers.reset();
  opener.join();
  RunUntil(1);
  EXPECT_TRUE(done_ == "g" || worked) << done_;  // the worker may have been quicker
}

}  // namespace
}  // namespace copse::planner
