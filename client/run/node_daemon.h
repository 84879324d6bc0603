// SPDX-License-Identifier: Apache-2.0
//
// Starts a job's daemon on one of its nodes, once, whichever of the job's processes there asks first.
#ifndef COPSE_CLIENT_RUN_NODE_DAEMON_H_
#define COPSE_CLIENT_RUN_NODE_DAEMON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/run/job_contact.h"

namespace copse::run {

struct NodeDaemonOptions {
  std::string daemon;  // path of copsed
  std::string socket;  // its folder is made for this user alone, and removed at the job's end
  std::string secret;
  JobContact contact;
  absl::Duration patience = absl::Seconds(10);
};

// Returns once the daemon serves its socket and the planner has accepted it; callers that come meanwhile wait for that,
// or get the same error. A process that keeps the daemon ends it when the launching machine's keeper has ended.
// Errors: UNAVAILABLE with the reason; PERMISSION_DENIED if others have a hand in the folder.
absl::Status StartNodeDaemon(const NodeDaemonOptions& options);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_NODE_DAEMON_H_
