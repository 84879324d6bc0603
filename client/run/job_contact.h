// SPDX-License-Identifier: Apache-2.0
//
// What a job's nodes have to know to join its planner: it travels in the launcher's environment.
#ifndef COPSE_CLIENT_RUN_JOB_CONTACT_H_
#define COPSE_CLIENT_RUN_JOB_CONTACT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::run {

// The library starts kStarterVariable's program with kNodeDaemonFlag on a node that has no daemon yet
// (client/port/job_daemon.h).
inline constexpr char kStarterVariable[] = "COPSE_RUN_STARTER";
inline constexpr char kNodeDaemonFlag[] = "--node-daemon";
inline constexpr char kContactVariable[] = "COPSE_RUN_CONTACT";
inline constexpr char kSecretVariable[] = "COPSE_RUN_SECRET";

struct JobContact {
  uint16_t planner_port = 0;
  uint16_t lease_port = 0;
  std::vector<std::string> addresses;  // of the launching machine
};

// The text has neither commas nor spaces: "PORT/PORT/ADDRESS/ADDRESS".
std::string ContactText(const JobContact& contact);
// INVALID_ARGUMENT if it is none.
absl::StatusOr<JobContact> ParseContact(const std::string& text);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_JOB_CONTACT_H_
