// SPDX-License-Identifier: Apache-2.0
//
// Blocking calls that return before their data is there: what the C API asks of who makes them so (client/tnbc), where
// that is linked.
#ifndef COPSE_CLIENT_EARLY_BLOCKING_H_
#define COPSE_CLIENT_EARLY_BLOCKING_H_

#include <cstdint>
#include <memory>

#include "client/arguments.h"
#include "client/copse.h"
#include "client/deadline.h"

namespace copse::client {

// Of one context, whose handles it is given. Thread-safe. Its functions fail as those of the C API do.
class EarlyBlocking {
 public:
  virtual ~EarlyBlocking() = default;

  // What this process does, by what it was asked for and what its system allows.
  virtual copse_early_t mode() const = 0;

  // Makes a blocking call of the team; `plan` is what `args` is, `site` where the program makes it.
  virtual copse_status_t Call(copse_team_t* team, const copse_coll_args_t& args, const CallPlan& plan, const void* site,
                              Deadline deadline) = 0;
  // Before another call of the team is posted: waits for its buffers, and tells what has failed.
  virtual copse_status_t BeforePost(copse_team_t* team, const CallPlan& plan) = 0;
  // Until nothing of the memory is pending; of any memory, if it is null. Errors: TIMED_OUT.
  virtual copse_status_t Await(const void* memory, uint64_t bytes, Deadline deadline) = 0;
  // Until all calls are over that have returned early. Errors: TIMED_OUT.
  virtual copse_status_t Drain(Deadline deadline) = 0;
  // The team was destroyed, and no call of it is under way. Tells what has failed and nobody knows yet.
  virtual copse_status_t Leave(copse_team_t* team) = 0;
  // As Drain, for the last time: what is still under way at the deadline is given up. Tells as Leave, of all teams.
  virtual copse_status_t Finish(Deadline deadline) = 0;
};

// Set before main by who offers early returns; null: nobody does. Null as its result: `mode` is off. Throws
// std::system_error if there is no thread.
using StartEarlyBlocking = std::unique_ptr<EarlyBlocking> (*)(copse_context_t* context, copse_early_t mode);
inline StartEarlyBlocking the_start_early_blocking = nullptr;

}  // namespace copse::client

#endif  // COPSE_CLIENT_EARLY_BLOCKING_H_
