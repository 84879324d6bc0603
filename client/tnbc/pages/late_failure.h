// SPDX-License-Identifier: Apache-2.0
//
// The reason why data is lost, for a thread that accesses it: it has long returned from the call that failed.
#ifndef COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
#define COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_

namespace copse::tnbc {

// Keeps the name `call` of the process's first call that has failed after its return, and the reason `why`: later
// failures mostly have the same reason. Allocates nothing, waits for nothing. Thread-safe.
void NoteLateFailure(const char* call, const char* why);

// Returns what is kept, as "CALL: why", or a text that says nothing of it. Async-signal-safe.
const char* DescribeLateFailure();

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
