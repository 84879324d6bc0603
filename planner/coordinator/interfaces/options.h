// SPDX-License-Identifier: Apache-2.0
//
// Defines the settings and limits of a coordinator.
#ifndef COPSE_PLANNER_COORDINATOR_INTERFACES_OPTIONS_H_
#define COPSE_PLANNER_COORDINATOR_INTERFACES_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/coordinator/interfaces/terms.h"

namespace copse::coordinator {

struct CoordinatorOptions {
  absl::Duration team_formation_timeout = absl::Seconds(30);  // from the first join to the last
  absl::Duration prepare_timeout = absl::Seconds(10);         // from Prepare to the last PrepareReply
  // Calls beyond the window wait while a switch is undecided, so a switch has at most this time, which is shorter.
  absl::Duration switch_timeout = absl::Seconds(2);
  absl::Duration register_timeout = absl::Seconds(10);  // from connection to Register
  absl::Duration forget_records = absl::Hours(1);       // drops a team's record if all members are away this long
  absl::Duration forget_nodes = absl::Hours(24 * 30);   // drops a node in no team if it is away this long
  uint32_t window = 8;                                  // calls of a team in flight on an edge
  uint32_t team_size_max = 65536;
  uint32_t nodes_at_once = 1000;         // the change of a larger team takes several turns
  uint32_t formations_max = 65536;       // teams whose joins are being gathered
  std::vector<std::string> join_tokens;  // a daemon must present one of these; empty: none required
  std::string fresh_cluster;             // UUID of the cluster if the store has none; empty: it stays without one
  // How many terms are skipped after a store was lost; at least kLostTerms. Another number at each start: if the store
  // is lost again before all daemons are back, the first of them may lead to the same term.
  uint64_t lost_terms = kLostTerms;
};

// A planner whose store was lost, or is older than the daemons' state, issues no ids until all daemons have had time to
// connect (they retry at least every 5 s) and to report the terms that they know.
inline constexpr absl::Duration kSettle = absl::Seconds(6);

// At most this many joins of a session wait.
inline constexpr size_t kRequestsMax = 16384;

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INTERFACES_OPTIONS_H_
