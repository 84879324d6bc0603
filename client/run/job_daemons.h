// SPDX-License-Identifier: Apache-2.0
//
// Starts a planner and a daemon for one job, without root, which end with it.
#ifndef COPSE_CLIENT_RUN_JOB_DAEMONS_H_
#define COPSE_CLIENT_RUN_JOB_DAEMONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse::run {

struct JobDaemonsOptions {
  std::string planner;  // path of copse-planner
  std::string daemon;   // path of copsed
  // A folder of this user alone is made in here, and removed at the job's end.
  std::string parent = "/tmp";
  absl::Duration patience = absl::Seconds(10);  // until the daemon is ready
};

// Starts both on this machine, and returns the path of the socket at which the daemon serves clients. A process that
// keeps them ends them when the process that called this has ended, however it did, also as another program; nothing is
// left then but what kill -9 of the keeper itself leaves. UNAVAILABLE with the reason if they are not ready in time:
// nothing is left then either.
absl::StatusOr<std::string> StartJobDaemons(const JobDaemonsOptions& options);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_JOB_DAEMONS_H_
