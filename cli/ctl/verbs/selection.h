// SPDX-License-Identifier: Apache-2.0
//
// Options of copsectl that select rows of a list. The planner evaluates them.
#ifndef COPSE_CLI_CTL_VERBS_SELECTION_H_
#define COPSE_CLI_CTL_VERBS_SELECTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Returns `options`, then those that select rows: --node; if `owner`, --user and --job; and --state, unless `states`,
// which says what is allowed, is empty.
std::vector<cli::Parameter> WithSelection(std::vector<cli::Parameter> options, bool owner, const std::string& states);

// Sets the request's selector if an option selects rows. Errors: INVALID_ARGUMENT for a user who is not known here, or
// a user id out of range.
absl::Status ReadSelector(const cli::Arguments& arguments, v1::RowSelector* selector);
template <typename Request>
absl::Status ReadSelection(const cli::Arguments& arguments, Request* request) {
  for (const char* option : {"node", "user", "job", "state"}) {
    if (arguments.Has(option)) return ReadSelector(arguments, request->mutable_selector());
  }
  return absl::OkStatus();
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_SELECTION_H_
