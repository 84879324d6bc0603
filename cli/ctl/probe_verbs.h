// SPDX-License-Identifier: Apache-2.0
//
// Implements the verb `topo probe`, which has daemons measure the topology.
#ifndef COPSE_CLI_CTL_PROBE_VERBS_H_
#define COPSE_CLI_CTL_PROBE_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> ProbeVerbs();

std::string RenderProbe(const v1::ProbeTopologyReply& reply, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PROBE_VERBS_H_
