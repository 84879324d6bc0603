// SPDX-License-Identifier: Apache-2.0
//
// Connections of a job's nodes to the machine that launched it. They carry nothing: each end learns by its connection
// that the other has gone.
#ifndef COPSE_CLIENT_RUN_LEASE_H_
#define COPSE_CLIENT_RUN_LEASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace copse::run {

struct LeaseListener {
  UniqueFd fd;  // the kernel makes the connections, and ends all of them with the process that has this open
  uint16_t port = 0;
};
// Listens on all of this machine's IPv4 addresses. UNAVAILABLE.
absl::StatusOr<LeaseListener> ListenForLeases();

// Returns this machine's IPv4 addresses that are up, kAddressesMax at most, those of loopback last.
inline constexpr size_t kAddressesMax = 16;
std::vector<std::string> OwnAddresses();

struct Lease {
  UniqueFd fd;        // readable or hung up once the other side has gone; some 20 s later if its machine has
  std::string there;  // which address has answered
  std::string here;   // this machine's address towards it
};
// Connects to the first of these addresses that answers. UNAVAILABLE with all of them if none does in time.
absl::StatusOr<Lease> TakeLease(const std::vector<std::string>& addresses, uint16_t port, absl::Duration patience);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LEASE_H_
