// SPDX-License-Identifier: Apache-2.0
//
// Reports failures inside libcopse: the function that detects one calls Fail, which keeps the line for copse_last_error
// and returns the status; callers return the status without another report.
#ifndef COPSE_CLIENT_PORT_ERROR_H_
#define COPSE_CLIENT_PORT_ERROR_H_

#include "base/failure.h"
#include "client/copse.h"

namespace copse::client {

// A CallScope names the API call that this thread is in, with which error lines begin. Nested scopes keep the outer
// name. `name` must outlive the scope.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  bool outermost_;
};

// Returns whether this thread's last error would name the call `name`, so that its text need not.
bool IsCurrentCall(const char* name);

// Sets this thread's last error to "copse: <call>: <text>", logs it, and returns `status`. The text has the form
// `why (thing=value, limit=value)`; control characters, which may come from a peer, are replaced.
[[nodiscard]] copse_status_t Fail(copse_status_t status, const char* format, ...) __attribute__((format(printf, 2, 3)));
// Does what Fail does, with `facts` in place of UsualFacts(status).
[[nodiscard]] copse_status_t FailWith(copse_status_t status, const FailureFacts& facts, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// Returns this thread's latest line of Fail, valid until the next one; "" if it had none.
const char* LastError();
// Returns the status of LastError and sets *facts; COPSE_OK if this thread had no failure.
copse_status_t LastFailure(FailureFacts* facts);

// Returns the facts of a failure of which only the status is known: the usual cause of the status.
FailureFacts UsualFacts(copse_status_t status);
// Returns the facts of a failure at `node`.
FailureFacts FactsOfNode(FailureCause cause, const char* node);

const char* StatusString(copse_status_t status);

// Returns `value`, a number from the daemon, if it is COPSE_OK or an error of copse.h, else COPSE_ERR_INTERNAL.
copse_status_t StatusFromWire(int32_t value);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ERROR_H_
