// SPDX-License-Identifier: Apache-2.0
//
// Opens connections from inside another network namespace.
#ifndef COPSE_TESTBED_NETNS_CONNECT_H_
#define COPSE_TESTBED_NETNS_CONNECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace copse::netns {

// Makes a TCP connection to `address` (IPv4:PORT) from the namespace "/proc/PID/ns/net". Only the calling thread
// enters it, for a moment. Errors: UNAVAILABLE if there is no connection within `timeout`; INVALID_ARGUMENT;
// PERMISSION_DENIED. Thread-safe.
absl::StatusOr<UniqueFd> ConnectFrom(const std::string& network_namespace, const std::string& address,
                                     absl::Duration timeout);

}  // namespace copse::netns

#endif  // COPSE_TESTBED_NETNS_CONNECT_H_
