// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_RUN_BLOCKS_H_
#define COPSE_CLI_SIM_RUN_BLOCKS_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/sim/verb.h"
#include "planner/algorithms/trees/block_tree.h"

namespace copse::simcli {

// Runs `copse-sim run --charge mgo --collective scatter|gather|allgather` with the model's events instead of the
// engines, which would split messages into segments. Errors: those of a verb; INVALID_ARGUMENT also for options that
// only apply to engines.
absl::Status RunBlockVerb(const Arguments& arguments, planner::BlockCollective collective, std::ostream& out);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_RUN_BLOCKS_H_
