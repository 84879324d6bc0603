// SPDX-License-Identifier: Apache-2.0
//
// Implements the verbs `topo show`, `import`, `diff`, `export` and `list` for the planner's topology and its versions.
// The planner parses and writes the formats, except hwloc's, which copsectl parses.
#ifndef COPSE_CLI_CTL_TOPO_VERBS_H_
#define COPSE_CLI_CTL_TOPO_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> TopoVerbs();

std::string RenderTopology(const v1::ShowTopologyReply& reply, const Style& style);
std::string RenderImport(const v1::ImportTopologyReply& reply, bool dry_run, const Style& style);
std::string RenderChanges(const v1::DiffTopologyReply& reply, const Style& style);
std::string RenderVersions(const v1::ListTopologiesReply& reply, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TOPO_VERBS_H_
