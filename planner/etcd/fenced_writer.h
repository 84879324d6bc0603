// SPDX-License-Identifier: Apache-2.0
//
// Writes to etcd as long as this planner leads.
#ifndef COPSE_PLANNER_ETCD_FENCED_WRITER_H_
#define COPSE_PLANNER_ETCD_FENCED_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "planner/etcd/etcd_client.h"

namespace copse::planner {

// These limit one transaction; etcd's own limits are 128 operations and kEtcdRequestBytesMax, by default.
inline constexpr size_t kOperationsMax = 120;
inline constexpr size_t kValueBytesMax = size_t{1} << 20;

// A FencedWriter makes writes one after the other, each in one transaction, or in several if it is too long. A
// transaction changes nothing unless the leader's key was created at `fence`.
//
// Transactions also carry a number, which is kept at PREFIX/commit and only grows. So one that was delayed in the
// network changes nothing either, once a later one was made, and one that was made is not made again.
//
// Thread-safe. Calls share the object, which may end later than its owner's interest.
class FencedWriter : public std::enable_shared_from_this<FencedWriter> {
 public:
  // `*client` must outlive the object's calls, as its destructor sees to.
  FencedWriter(EtcdClient* client, const std::string& prefix, int64_t fence);

  // Calls `done` on a thread of gRPC, or at once. No value is longer than kValueBytesMax, no key is changed twice.
  // Without operations it only asks whether this planner leads. Errors: ABORTED: another planner leads; this
  // transaction and those after it were not made. Any other: it is not known whether it was made; those after it were
  // not.
  void Write(std::vector<etcdserverpb::RequestOp> operations, std::function<void(const absl::Status&)> done);

  int64_t fence() const { return fence_; }

 private:
  struct Job {
    std::deque<etcdserverpb::TxnRequest> transactions;  // those that are left
    std::function<void(const absl::Status&)> done;
    bool is_begun = false;  // a transaction of it was made
  };

  void SendNext();
  etcdserverpb::TxnRequest NextTransaction() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string FenceText() const;
  std::string NumberText() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAnswer(const absl::StatusOr<etcdserverpb::TxnResponse>& response);
  absl::Status Outcome(const absl::StatusOr<etcdserverpb::TxnResponse>& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EtcdClient* const client_;
  const std::string leader_key_;
  const std::string number_key_;
  const int64_t fence_;

  Mutex mutex_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;  // the first one is being made, or has just ended
  // Number of the last transaction that was sent. 0: that which only makes sure that there is PREFIX/commit.
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;  // transaction 0 was made
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_FENCED_WRITER_H_
