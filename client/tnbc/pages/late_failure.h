// SPDX-License-Identifier: Apache-2.0
//
// Keeps the reason why data is lost, for a thread that accesses it after the failed call has returned.
#ifndef COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
#define COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_

namespace copse::tnbc {

// Keeps the name `call` and the reason `why` of the process's first call that fails after its return; later ones are
// ignored, since they mostly have the same reason. Does not allocate or block. Thread-safe.
void NoteLateFailure(const char* call, const char* why);

// Returns the failure as "CALL: why", or a text without them if none is kept yet. Async-signal-safe.
const char* DescribeLateFailure();

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
