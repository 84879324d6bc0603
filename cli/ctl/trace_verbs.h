// SPDX-License-Identifier: Apache-2.0
//
// Implements the verb `trace`, which writes the daemons' recent activity, or that of the next seconds, for a trace
// viewer.
#ifndef COPSE_CLI_CTL_TRACE_VERBS_H_
#define COPSE_CLI_CTL_TRACE_VERBS_H_

#include <vector>

#include "cli/ctl/verb.h"

namespace copse::ctl {

std::vector<Verb> TraceVerbs();

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACE_VERBS_H_
