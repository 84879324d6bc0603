// SPDX-License-Identifier: Apache-2.0
//
// Resets TCP connections of a process, as a firewall or a failing switch between both ends may.
#ifndef COPSE_INTEGRATION_TESTS_PROCS_RESET_CONNECTION_H_
#define COPSE_INTEGRATION_TESTS_PROCS_RESET_CONNECTION_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "base/prng.h"

namespace copse::procs {

// Resets one connection of the process that is established and whose own address is `address` (IPv4, without a port),
// chosen by `*prng`: both ends find it reset, and what was under way is lost. Returns false if there is none at the
// moment. Errors: those of the system; PERMISSION_DENIED unless the caller may trace the process.
absl::StatusOr<bool> ResetConnection(pid_t pid, const std::string& address, Prng* prng);

}  // namespace copse::procs

#endif  // COPSE_INTEGRATION_TESTS_PROCS_RESET_CONNECTION_H_
