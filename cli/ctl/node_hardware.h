// SPDX-License-Identifier: Apache-2.0
//
// Reads lstopo's description of a node: the only library of copsectl that depends on libhwloc. It is read here and not
// in the planner, so that foreign XML, and the library's plugins, stay out of a server process.
#ifndef COPSE_CLI_CTL_NODE_HARDWARE_H_
#define COPSE_CLI_CTL_NODE_HARDWARE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace copse::ctl {

struct NodeHardware {
  uint32_t packages = 0;
  uint32_t numa_nodes = 0;
  uint32_t cores = 0;    // equal to threads where the file has none
  uint32_t threads = 0;  // processing units
};

// Reads `xml`, a file of `lstopo FILE.xml`. INVALID_ARGUMENT "file: why": not hwloc's XML, or of a machine without
// processors.
absl::StatusOr<NodeHardware> ReadHwloc(const std::string& xml, const std::string& file);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_NODE_HARDWARE_H_
