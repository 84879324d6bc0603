// SPDX-License-Identifier: Apache-2.0
//
// Keeps what a planner says of itself, for all who look.
#ifndef COPSE_CLI_WEB_PLANNER_VIEW_H_
#define COPSE_CLI_WEB_PLANNER_VIEW_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/ctl/admin_client.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::web {

// Figures are one answer of the planner.
struct Figures {
  absl::Status status;  // UNAVAILABLE, DEADLINE_EXCEEDED, ...: it does not answer, and the rest is empty
  v1::GetPlannerStatusReply planner;
  v1::GetPlannerStatsReply stats;
};

// A PlannerView asks the planner again and again on a thread of its own, so that its load depends on no number of
// viewers. Thread-safe.
class PlannerView {
 public:
  // Asks at once, and then each `pause` after the last answer.
  static std::unique_ptr<PlannerView> Start(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause);
  virtual ~PlannerView() = default;

  // Returns the newest answer; before the first one waits for it.
  virtual std::shared_ptr<const Figures> figures() const = 0;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_PLANNER_VIEW_H_
