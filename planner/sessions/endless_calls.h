// SPDX-License-Identifier: Apache-2.0
//
// Ends calls whose callers are not believed any more.
#ifndef COPSE_PLANNER_SESSIONS_ENDLESS_CALLS_H_
#define COPSE_PLANNER_SESSIONS_ENDLESS_CALLS_H_

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "rpc/authorizer.h"

namespace copse::planner {

// An EndlessCall goes on until its caller, or the server, ends it.
class EndlessCall {
 public:
  virtual ~EndlessCall() = default;
  // Finishes the call. No locks are held.
  virtual void Refuse(const absl::Status& why) = 0;
};

// EndlessCalls are the calls of a service that go on. Exactly one of two finishes a call: Check, or whoever has removed
// it. Thread-safe.
class EndlessCalls {
 public:
  void Add(EndlessCall* call, rpc::Principal caller);
  // Returns whether the call is to be finished by its owner; false if Check does so.
  bool Remove(EndlessCall* call);
  // Refuses the calls whose callers' certificates are not believed any more.
  void Check(const rpc::Authorizer& authorizer);

 private:
  Mutex mutex_;
  std::map<EndlessCall*, rpc::Principal> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_ENDLESS_CALLS_H_
