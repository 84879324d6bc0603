// SPDX-License-Identifier: Apache-2.0
//
// Reads the description of a node that lstopo has written. Only this library of copsectl depends on libhwloc. copsectl
// and not the planner reads the file, so that foreign XML and libhwloc's plugins stay out of a server process.
#ifndef COPSE_CLI_CTL_VERBS_NODE_HARDWARE_H_
#define COPSE_CLI_CTL_VERBS_NODE_HARDWARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Parses `xml`, the content of a file that `lstopo FILE.xml` has written; `file` names it in errors. Errors:
// INVALID_ARGUMENT if it is not hwloc's XML, or describes no processors; INTERNAL if libhwloc cannot start.
//
// Output: all fields but `nodes`; `cores` is equal to `threads` where the file has none.
absl::StatusOr<v1::NodeHardware> ReadHwloc(const std::string& xml, const std::string& file);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_NODE_HARDWARE_H_
