// SPDX-License-Identifier: Apache-2.0
//
// The caller of a call that may return early, as the call knows it.
#ifndef COPSE_CLIENT_TNBC_CALLER_H_
#define COPSE_CLIENT_TNBC_CALLER_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/access_order.h"

namespace copse::tnbc {

// A Caller makes a call, and says what happens while it waits. The thread that makes the call calls its functions, but
// for OnEnd and OnLate.
class Caller {
 public:
  virtual ~Caller() = default;
  // As copse_post, waiting for room.
  virtual copse_status_t Post(copse_request_t* request) = 0;
  // Until the request is complete, or the caller has no more time: then it has given it up.
  virtual copse_status_t Await(copse_request_t* request) = 0;
  // For how long it waits for anything else at a time, seconds, and what it does then. False: it has no more time.
  virtual double slice() const = 0;
  virtual bool Turn() = 0;
  // The cost of a call that returned early and is over: the time in it, and what the program waited for its data since.
  // By any thread that makes a call, or ends.
  struct Cost {
    uint64_t inside_ns = 0, waited_ns = 0;
    std::vector<uint32_t> order;  // in which its fragments were brought
    std::vector<AccessOrder::Access> accesses;
  };
  virtual void OnEnd(const Cost& cost) = 0;
  // A call that has returned early has failed, for the reason `why`. By the library's own thread; allocates nothing,
  // waits for nothing.
  virtual void OnLate(copse_status_t status, const char* why) = 0;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALLER_H_
