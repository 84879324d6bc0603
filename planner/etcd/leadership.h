// SPDX-License-Identifier: Apache-2.0
//
// Elects one of several planners by a key in etcd.
#ifndef COPSE_PLANNER_ETCD_LEADERSHIP_H_
#define COPSE_PLANNER_ETCD_LEADERSHIP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "planner/etcd/etcd_client.h"

namespace copse::planner {

struct LeadershipOptions {
  std::string prefix;   // of the keys; the planners that share it elect one
  std::string address;  // HOST:PORT, by which other planners and daemons reach this one
  // Without renewal the leadership ends after this time. etcd counts whole seconds, and at least 2 (with its default
  // election timeout).
  absl::Duration lease = absl::Seconds(10);
};

// Returns the key that the leader owns.
inline std::string LeaderKey(const std::string& prefix) { return prefix + "/leader"; }

// LeadershipEvents receives the events of a Leadership, on its thread: OnLeader*, then OnWon, then OnLost. They must
// return soon, as the thread renews the lease, and must not destroy the Leadership or call Resign.
class LeadershipEvents {
 public:
  virtual ~LeadershipEvents() = default;
  // Another planner leads, which has this address and this fence.
  virtual void OnLeader(const std::string& address, int64_t fence) = 0;
  // This planner leads. `fence` is the create revision of the key, which is greater than that of each leader before: a
  // transaction that compares it changes nothing when another planner leads.
  virtual void OnWon(int64_t fence) = 0;
  // It does not lead any more, and this object will not campaign again.
  virtual void OnLost(const absl::Status& why) = 0;
};

// A Leadership campaigns until it has won, then keeps the key until it is lost, or the object's end. The key belongs to
// a lease, which a thread of the object renews four times in its length. While etcd cannot be reached, a campaign goes
// on, and a leader stays until its lease may have ended.
class Leadership {
 public:
  // `*client` and `*events` must outlive the object.
  Leadership(EtcdClient* client, LeadershipOptions options, LeadershipEvents* events);
  // Ends without notice, like a crash: others win when the lease has ended. Call Resign before to hand over.
  ~Leadership();

  // Ends the campaign or the leadership; there are no events any more. Waits until etcd knows, so that another planner
  // may lead at once, but at most for a second; after OnLost for 3 s. A leader that has lost should resign too: a
  // leader that etcd elects anew gives all leases their whole time again.
  void Resign();

  // Returns whether no other planner can lead at this moment, also if the process or the machine was stopped just
  // before. Once it was true, and then false, it stays false. Thread-safe.
  bool is_valid() const;

 private:
  struct Signal;

  // A Term is a leadership, or the attempt at one.
  struct Term {
    int64_t lease = 0;   // 0: none
    int64_t fence = 0;   // 0: not won
    absl::Time renewed;  // when its last renewal that was answered had been sent
  };

  void Run();
  absl::Status Campaign();
  absl::Status CreateKey();
  absl::Status AwaitChange(int64_t revision);
  absl::Status Lead();
  absl::Status CheckKey();
  bool Extend(absl::Time renewed);
  absl::Duration Remaining() const;
  void Stop();
  bool Pause(absl::Duration pause);
  template <typename Response, typename Start>
  absl::StatusOr<Response> Call(const Start& start);

  EtcdClient* const client_;
  const LeadershipOptions options_;
  LeadershipEvents* const events_;
  const std::string key_;
  const BootClock clock_;
  const std::shared_ptr<Signal> signal_;  // shared with calls, which may end later than the object

  // These belong to thread_, and to Resign when that has ended.
  Term term_;
  bool lost_ = false;
  int64_t led_by_ = 0;   // the fence of the last leader that was notified
  std::string trouble_;  // the last one that was logged

  mutable Mutex mutex_;
  absl::Time valid_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // by clock_

  std::thread thread_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_LEADERSHIP_H_
