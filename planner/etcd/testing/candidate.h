// SPDX-License-Identifier: Apache-2.0
//
// Campaigns for the leadership in a test.
#ifndef COPSE_PLANNER_ETCD_TESTING_CANDIDATE_H_
#define COPSE_PLANNER_ETCD_TESTING_CANDIDATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "planner/etcd/etcd_client.h"
#include "planner/etcd/leadership.h"

namespace copse::planner::testing {

inline constexpr absl::Duration kLease = absl::Seconds(2);
inline constexpr absl::Duration kTimeout = absl::Seconds(20);

// A Candidate campaigns, and keeps its events as texts.
class Candidate : public LeadershipEvents {
 public:
  Candidate(const EtcdClientOptions& options, const std::string& prefix, const std::string& address,
            absl::Duration lease = kLease)
      : client_(EtcdClient::Create(options).value()),
        leadership_(std::make_unique<Leadership>(
            client_.get(), LeadershipOptions{.prefix = prefix, .address = address, .lease = lease}, this)) {}

  void OnLeader(const std::string& address, int64_t /*fence*/) override { Add("leader " + address); }
  void OnWon(int64_t fence) override {
    {
      MutexLock lock(&mutex_);
      fence_ = fence;
    }
    Add("won");
  }
  void OnLost(const absl::Status& why) override { Add(absl::StrCat("lost ", absl::StatusCodeToString(why.code()))); }

  std::string Next(absl::Duration timeout = kTimeout) {
    MutexLock lock(&mutex_);
    while (events_.empty()) {
      if (!changed_.WaitFor(&mutex_, timeout)) return "nothing";
    }
    std::string event = events_.front();
    events_.pop_front();
    return event;
  }

  int64_t fence() {
    MutexLock lock(&mutex_);
    return fence_;
  }
  EtcdClient* client() { return client_.get(); }
  Leadership* leadership() { return leadership_.get(); }
  void Vanish() { leadership_.reset(); }

 private:
  void Add(const std::string& event) {
    MutexLock lock(&mutex_);
    events_.push_back(event);
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> events_ ABSL_GUARDED_BY(mutex_);
  int64_t fence_ ABSL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<EtcdClient> client_;
  std::unique_ptr<Leadership> leadership_;
};

}  // namespace copse::planner::testing

#endif  // COPSE_PLANNER_ETCD_TESTING_CANDIDATE_H_
