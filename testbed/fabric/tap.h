// SPDX-License-Identifier: Apache-2.0
//
// A node's Ethernet device, in the node's network namespace, whose other end the fabric holds.
#ifndef COPSE_TESTBED_FABRIC_TAP_H_
#define COPSE_TESTBED_FABRIC_TAP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::fabric {

inline constexpr char kDevice[] = "eth0";

// Up to this many nodes get permanent entries for each other's MAC addresses. More would take long to set; then the
// fabric answers their ARP requests, but a burst to a new neighbor may lose packets in the sender's kernel.
inline constexpr uint32_t kNeighborsMax = 256;

// Creates kDevice in the namespace `netns` ("/proc/PID/ns/net") with node i's addresses, and brings it up. It lives as
// long as the descriptor, which does not block and reads and writes frames after a virtio_net_hdr.
//
// The calling thread enters that namespace, so no other thread may depend on it meanwhile. Errors name namespace and
// call: PERMISSION_DENIED without root, NOT_FOUND without TUN or that namespace, UNAVAILABLE if it has that device.
absl::StatusOr<UniqueFd> OpenTap(const std::string& netns, uint32_t node, uint32_t node_count, uint32_t mtu);

// Sets whether the node's kernel may pass super-packets. It leaves checksums undone in any case: no wire will corrupt
// the packets.
absl::Status SetOffload(int tap, bool super_packets);

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_TAP_H_
