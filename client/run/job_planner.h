// SPDX-License-Identifier: Apache-2.0
//
// Starts a planner for one job on the machine that launches it, without root. It ends with the job.
#ifndef COPSE_CLIENT_RUN_JOB_PLANNER_H_
#define COPSE_CLIENT_RUN_JOB_PLANNER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/run/job_contact.h"

namespace copse::run {

struct JobPlannerOptions {
  std::string planner;  // path of copse-planner
  std::string parent;   // a folder of this user alone is made in here, and removed at the job's end
  absl::Duration patience = absl::Seconds(10);
};

struct JobPlanner {
  JobContact contact;
  std::string secret;
  std::string folder;  // with a name that nobody knows before
};

// A process that keeps the planner ends it when the process that called this has ended, however it did, also as another
// program. With it go the leases of all nodes. UNAVAILABLE with the reason: nothing is left then.
absl::StatusOr<JobPlanner> StartJobPlanner(const JobPlannerOptions& options);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_JOB_PLANNER_H_
