// SPDX-License-Identifier: Apache-2.0
//
// Reads the description of a node that lstopo has written. Only this library of copsectl depends on libhwloc. copsectl
// and not the planner reads the file, so that foreign XML and libhwloc's plugins stay out of a server process.
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

// Parses `xml`, the content of a file that `lstopo FILE.xml` has written; `file` names it in errors. Errors:
// INVALID_ARGUMENT if it is not hwloc's XML, or describes no processors; INTERNAL if libhwloc cannot start.
absl::StatusOr<NodeHardware> ReadHwloc(const std::string& xml, const std::string& file);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_NODE_HARDWARE_H_
