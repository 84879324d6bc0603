// SPDX-License-Identifier: Apache-2.0
//
// topo show: switches, nodes and links as the planner sees them.
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

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TOPO_VERBS_H_
