// SPDX-License-Identifier: Apache-2.0
//
// Checks and restores the store of a planner that does not run.
#ifndef COPSE_PLANNER_SERVER_STOPPED_PLANNER_H_
#define COPSE_PLANNER_SERVER_STOPPED_PLANNER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/server/settings.h"

namespace copse::planner {

// Restores the store that the settings name from the file `path`, and returns a line that says what it has now. Errors:
// those of DecodeState and RestoreState; FAILED_PRECONDITION if there is no store, or a planner uses it.
absl::StatusOr<std::string> RestoreStore(const Settings& settings, const std::string& path, bool replace);

// Returns a line for each thing in the store that is damaged, or was put aside. The store stays as it is; etcd may be
// in use. Errors: those of opening it.
absl::StatusOr<std::vector<std::string>> CheckStore(const Settings& settings);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_STOPPED_PLANNER_H_
