// SPDX-License-Identifier: Apache-2.0
//
// Failures inside libcopse: the function that decides on one calls Fail, which keeps the line for copse_last_error and
// returns the status; callers pass the status on.
#ifndef COPSE_CLIENT_PORT_ERROR_H_
#define COPSE_CLIENT_PORT_ERROR_H_

#include "base/failure.h"
#include "client/copse.h"

namespace copse::client {

// Names the API call that this thread is in, with which error lines begin. Nested scopes keep the outer name.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  bool outermost_;
};

// Sets this thread's last error to "copse: <call>: <text>", logs it, and returns `status`. The text has the form
// `why (thing=value, limit=value)`; control characters, which may come from a peer, are replaced.
[[nodiscard]] copse_status_t Fail(copse_status_t status, const char* format, ...) __attribute__((format(printf, 2, 3)));
// Does the same, with what is known of the failure beside its status.
[[nodiscard]] copse_status_t FailWith(copse_status_t status, const FailureFacts& facts, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

const char* LastError();
// Returns the status and the facts of LastError; COPSE_OK if this thread had no failure.
copse_status_t LastFailure(FailureFacts* facts);

// Returns the facts that follow from a status alone.
FailureFacts UsualFacts(copse_status_t status);
// Return the facts of a failure of the process's own daemon, or of a time of `seconds` that is over.
FailureFacts FactsOfNode(FailureCause cause, const char* node);
FailureFacts FactsOfTime(FailureCause cause, double seconds);

const char* StatusString(copse_status_t status);

// Returns `value`, a number from the daemon, if it is a status, else COPSE_ERR_INTERNAL.
copse_status_t StatusFromWire(int32_t value);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ERROR_H_
