// SPDX-License-Identifier: Apache-2.0
//
// Why data is lost, for who accesses it: he has returned from the call that failed long ago.
#ifndef COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
#define COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_

namespace copse::tnbc {

// Keeps `why` the first call of this process has failed after its return, and its name `call`: what fails after it
// mostly fails for the same reason. Allocates nothing, waits for nothing. Thread-safe.
void NoteLateFailure(const char* call, const char* why);

// What is kept, as "CALL: why", or that there is nothing. For handlers, too.
const char* DescribeLateFailure();

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_LATE_FAILURE_H_
