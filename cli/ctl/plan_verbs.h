// SPDX-License-Identifier: Apache-2.0
//
// Implements the verbs `plan list`, `plan show`, `plan explain`, `plan diff` and `plan svg`.
#ifndef COPSE_CLI_CTL_PLAN_VERBS_H_
#define COPSE_CLI_CTL_PLAN_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> PlanVerbs();

std::string RenderPlans(const v1::ListPlansReply& reply, const Style& style);
std::string RenderPlan(const v1::PlanRow& plan, const Style& style);
// Renders the server's text, or its graph if `dot`. JSON has the plan's keys and those of the server's JSON that the
// plan lacks (such as each rank's predicted time, and alternatives); the server's "critical_path" becomes
// "critical_path_steps", since the plan has a key of that name.
std::string RenderExplanation(const v1::ExplainPlanReply& reply, bool dot, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_VERBS_H_
