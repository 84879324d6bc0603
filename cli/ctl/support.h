// SPDX-License-Identifier: Apache-2.0
//
// Collects what a report of a bug needs.
#ifndef COPSE_CLI_CTL_SUPPORT_H_
#define COPSE_CLI_CTL_SUPPORT_H_

#include <vector>

#include "cli/ctl/verb.h"

namespace copse::ctl {

// Returns the verb `support`, which writes an archive with the answers of those of `verbs()` that read, what copse-info
// says of this machine, and configuration files without their secrets.
Verb SupportVerb(const std::vector<Verb>& (*verbs)());

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_SUPPORT_H_
