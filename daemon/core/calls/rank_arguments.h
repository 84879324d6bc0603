// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_DAEMON_CORE_CALLS_RANK_ARGUMENTS_H_
#define COPSE_DAEMON_CORE_CALLS_RANK_ARGUMENTS_H_

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "protocol/control.h"

namespace copse::daemon {

// RankArguments are the arguments that one rank gave for a call.
struct RankArguments {
  Rank rank{0};
  CallArguments arguments;
};

// Returns the failure of call number `call`, for which rank `a` on `node_a` and rank `b` on `node_b` gave different
// arguments.
schedule::FailureReport MismatchReport(uint64_t call, const RankArguments& a, std::string_view node_a,
                                       const RankArguments& b, std::string_view node_b);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_RANK_ARGUMENTS_H_
