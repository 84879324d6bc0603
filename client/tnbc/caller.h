// SPDX-License-Identifier: Apache-2.0
//
// Defines what a fragmented call needs of its caller: posting, waiting, MPI progress, and reports.
#ifndef COPSE_CLIENT_TNBC_CALLER_H_
#define COPSE_CLIENT_TNBC_CALLER_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/access_order.h"

namespace copse::tnbc {

// A Caller posts the requests of a call, waits for them, and makes MPI progress meanwhile. The thread that makes the
// call calls its functions, except OnEnd and OnLate.
class Caller {
 public:
  virtual ~Caller() = default;
  // Posts as copse_post does, but waits while there is no room. Errors: those of copse_post; COPSE_ERR_NO_RESOURCE if
  // the caller's time is over.
  virtual copse_status_t Post(copse_request_t* request) = 0;
  // Waits until the request is complete and returns its result. If the caller's time is over before, cancels the
  // request and returns COPSE_ERR_TIMED_OUT.
  virtual copse_status_t Await(copse_request_t* request) = 0;
  // The call waits for anything else for slice() seconds at a time, and then calls Turn(), which makes MPI progress.
  // Turn returns false if the caller's time is over.
  virtual double slice() const = 0;
  virtual bool Turn() = 0;
  // A Cost is what a call that returned early has cost the program: the time in the call, and the time for which
  // threads have waited for pending data since it returned.
  struct Cost {
    uint64_t inside_ns = 0, waited_ns = 0;
    std::vector<uint32_t> order;  // fragments, in the order in which they were posted
    // Accesses that waited for this call's data, in their order.
    std::vector<AccessOrder::Access> accesses;
  };
  // It is called if the call fails with `status` before all of it was posted, perhaps on this rank alone.
  virtual void OnNotPosted(copse_status_t status) = 0;
  // AsynchronousCompletion::Reap calls it once, after all data of a call that returned early has arrived.
  virtual void OnEnd(const Cost& cost) = 0;
  // The thread that detects the failure of a call that has returned early calls it, with the reason `why`: often the
  // completion thread, with the call's lock held. It must not allocate or block.
  virtual void OnLate(copse_status_t status, const char* why) = 0;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALLER_H_
