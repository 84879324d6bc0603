// SPDX-License-Identifier: Apache-2.0
//
// The Ethernet device of a node, in the node's network namespace, whose other end is ours.
#ifndef COPSE_TESTBED_FABRIC_TAP_H_
#define COPSE_TESTBED_FABRIC_TAP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::fabric {

inline constexpr char kDevice[] = "eth0";

// Up to that many nodes know each other's MAC addresses for good. More would take long to tell; then the fabric answers
// their ARP requests, but a burst to somebody new may lose packets in the sender's kernel.
inline constexpr uint32_t kNeighboursMax = 256;

// Makes kDevice in the namespace `netns` ("/proc/PID/ns/net") with node i's addresses, and brings it up. It lives as
// long as the descriptor, which does not block and reads and writes frames after a virtio_net_hdr.
//
// The calling thread visits that namespace, so no other thread may depend on it meanwhile. Errors name namespace and
// call: PERMISSION_DENIED without root, NOT_FOUND without TUN or that namespace, UNAVAILABLE if it has that device.
absl::StatusOr<daemon::UniqueFd> OpenTap(const std::string& netns, uint32_t node, uint32_t node_count, uint32_t mtu);

// Whether the node's kernel may hand over super-packets. Checksums it leaves undone in any case: no wire will harm
// them.
absl::Status SetOffload(int tap, bool super_packets);

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_TAP_H_
