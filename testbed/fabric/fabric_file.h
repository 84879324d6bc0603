// SPDX-License-Identifier: Apache-2.0
//
// Describes the network to be emulated: the topology file, and in it the section `fabric`, which the planner skips:
//
//   fabric:
//     seed: 7
//     mtu: 1500
//     offload: true
//     defaults: {queue: 1MiB}
//     links:
//       rack1: {jitter: 20us, queue: 256KiB}
//       "n[1-4]": {loss: 0.1%}
//
// Latency and bandwidth are the topology's unless `links` sets others: then the emulated network differs from the
// planner's topology.
#ifndef COPSE_TESTBED_FABRIC_FABRIC_FILE_H_
#define COPSE_TESTBED_FABRIC_FABRIC_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/topology/topology.h"
#include "testbed/fabric/link_settings.h"
#include "testbed/fabric/switch_core.h"

namespace copse::fabric {

inline constexpr uint32_t kMtuMin = 576;
inline constexpr uint32_t kMtuMax = 9000;
inline constexpr uint32_t kNodesMax = 4096;  // each with a TAP

struct FabricFile {
  topology::Topology topology;
  std::vector<LinkSettings> switch_links;  // by index of the topology; meaningless for the root
  std::vector<LinkSettings> node_links;    // by index of the topology
  uint64_t seed = 1;
  uint32_t mtu = 1500;
  bool offload = true;  // super-packets may occur
};

// Errors: INVALID_ARGUMENT "file:line: what: why (thing=value, limit=value)", in ParseTopologyYaml's format.
absl::StatusOr<FabricFile> ParseFabricFile(std::string_view text, std::string_view filename);

// Switches and the nodes that take part.
struct Wiring {
  std::vector<Vertex> vertices;    // all switches, then the nodes in their order
  std::vector<std::string> names;  // by vertex
  uint32_t switch_count = 0;

  // Returns the vertices whose links `hostlist` names. Errors: NOT_FOUND, INVALID_ARGUMENT; the root has no link.
  absl::StatusOr<std::vector<uint32_t>> FindLinks(std::string_view hostlist) const;
};

// Errors: INVALID_ARGUMENT for a node that is not in the file, appears twice, or is named like a switch, and for too
// many nodes.
absl::StatusOr<Wiring> Wire(const FabricFile& file, const std::vector<std::string>& nodes);

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_FABRIC_FILE_H_
