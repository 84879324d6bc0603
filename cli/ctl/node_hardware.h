// SPDX-License-Identifier: Apache-2.0
//
// What lstopo wrote of a node: the one place of copsectl that knows libhwloc. It is read here and not in the planner,
// so that XML from elsewhere, and what the library loads, stay out of a process that serves.
#ifndef COPSE_CLI_CTL_NODE_HARDWARE_H_
#define COPSE_CLI_CTL_NODE_HARDWARE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace copse::ctl {

struct NodeHardware {
  uint32_t packages = 0;
  uint32_t numa_nodes = 0;
  uint32_t cores = 0;    // where the file knows none: as threads
  uint32_t threads = 0;  // processing units
};

// `xml` is a file of `lstopo FILE.xml`. INVALID_ARGUMENT "file: why": not hwloc's XML, or of a machine without
// processors.
absl::StatusOr<NodeHardware> ReadHwloc(const std::string& xml, const std::string& file);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_NODE_HARDWARE_H_
