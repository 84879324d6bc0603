// SPDX-License-Identifier: Apache-2.0
//
// Implements the verbs `team list`, `team show`, `team replan` and `team break`.
#ifndef COPSE_CLI_CTL_TEAM_VERBS_H_
#define COPSE_CLI_CTL_TEAM_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> TeamVerbs();

std::string RenderTeams(const v1::ListTeamsReply& reply, const Style& style);
std::string RenderTeam(const v1::TeamRow& team, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TEAM_VERBS_H_
