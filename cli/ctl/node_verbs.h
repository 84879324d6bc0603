// SPDX-License-Identifier: Apache-2.0
//
// Implements the verbs `node list`, `node show`, `node drain`, `node undrain`, `node remove` and `daemon status`.
#ifndef COPSE_CLI_CTL_NODE_VERBS_H_
#define COPSE_CLI_CTL_NODE_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> NodeVerbs();

std::string RenderNodes(const v1::ListNodesReply& reply, const Style& style);
std::string RenderNode(const v1::ShowNodeReply& reply, const Style& style);
std::string RenderDaemonStatus(const v1::StatusAnswer& answer, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_NODE_VERBS_H_
