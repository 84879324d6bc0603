// SPDX-License-Identifier: Apache-2.0
//
// Keeps what a planner says of itself and its cluster, for all who look.
#ifndef COPSE_CLI_WEB_PLANNER_VIEW_H_
#define COPSE_CLI_WEB_PLANNER_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/client/admin_client.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::web {

// Figures are one answer of the planner.
struct Figures {
  absl::Status status;  // UNAVAILABLE, DEADLINE_EXCEEDED, ...: it does not answer, and the rest is empty
  v1::GetPlannerStatusReply planner;
  v1::GetPlannerStatsReply stats;
};

// A PlannerView asks the planner again and again on a thread of its own, so that its load depends on no number of
// viewers. It asks for lists only while somebody looks at them, the less often the larger the cluster, and for teams
// that somebody looks at. Thread-safe; no call waits for the planner, but figures() for the first answer.
class PlannerView {
 public:
  // What nobody has asked for during this time is no longer asked of the planner.
  static constexpr absl::Duration kInterest = absl::Seconds(10);
  // Teams that are looked at at once.
  static constexpr size_t kTeamsMax = 32;

  // Asks at once, and then each `pause` after the last answer.
  static std::unique_ptr<PlannerView> Start(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause);
  virtual ~PlannerView() = default;

  // Returns the newest answer; before the first one waits for it.
  virtual std::shared_ptr<const Figures> figures() const = 0;

  // Returns the cluster as JSON (PageParts::After): planner, counters, error (empty: the planner answers), and what
  // cluster_json.h asks for, which is absent until it has been answered.
  virtual std::string Cluster(uint64_t after) = 0;
  // Returns a team as JSON: {"team", "plans"}, or {"error": why}, or {} until it has been asked for. Errors:
  // RESOURCE_EXHAUSTED beyond kTeamsMax.
  virtual absl::StatusOr<std::string> Team(uint64_t id) = 0;
  // Returns the last hour as JSON (history.h).
  virtual std::string LastHour() = 0;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_PLANNER_VIEW_H_
