// SPDX-License-Identifier: Apache-2.0
//
// plan list, plan show, plan explain, plan diff, plan svg.
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
// Renders the server's text, or its graph if `dot`. JSON has the plan's keys, and those of the server's own JSON that
// are not among them: each rank's predicted time, alternatives, and its critical path as "critical_path_steps".
std::string RenderExplanation(const v1::ExplainPlanReply& reply, bool dot, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_VERBS_H_
