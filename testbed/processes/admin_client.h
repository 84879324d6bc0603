// SPDX-License-Identifier: Apache-2.0
//
// A client of the planner's admin service whose calls have a deadline.
#ifndef COPSE_TESTBED_PROCESSES_ADMIN_CLIENT_H_
#define COPSE_TESTBED_PROCESSES_ADMIN_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::procs {

// An AdminClient talks to one planner, also after its restart. Each call ends after `timeout` at the latest. Errors:
// UNAVAILABLE if there is no answer, DEADLINE_EXCEEDED, and those of the service. Thread-safe.
class AdminClient {
 public:
  // HOST:PORT, as seen from the namespace "/proc/PID/ns/net" (then HOST is an IPv4 address), or from this one.
  explicit AdminClient(const std::string& address, const std::string& network_namespace = "");
  ~AdminClient();

  absl::StatusOr<v1::ListNodesReply> ListNodes(absl::Duration timeout) const;
  absl::StatusOr<v1::ListTeamsReply> ListTeams(absl::Duration timeout) const;
  absl::StatusOr<v1::ListPlansReply> ListPlans(absl::Duration timeout) const;
  absl::StatusOr<v1::ShowPlanReply> ShowPlan(uint64_t id, absl::Duration timeout) const;
  absl::StatusOr<v1::ExplainPlanReply> ExplainPlan(uint64_t id, absl::Duration timeout) const;
  absl::StatusOr<v1::ListCollectivesReply> ListCollectives(uint64_t team, absl::Duration timeout) const;
  // Replans all collectives, or one by name.
  absl::StatusOr<v1::ReplanTeamReply> ReplanTeam(uint64_t team, const std::string& algorithm, absl::Duration timeout,
                                                 const std::string& collective = "") const;
  // `text` is the content of a topology file.
  absl::StatusOr<v1::ImportTopologyReply> ImportTopology(const std::string& text, absl::Duration timeout) const;
  absl::StatusOr<v1::GetStatsReply> GetStats(const std::string& node, absl::Duration timeout) const;
  absl::StatusOr<v1::GetPlannerStatsReply> GetPlannerStats(absl::Duration timeout) const;
  absl::Status DrainNode(const std::string& node, bool off, absl::Duration timeout) const;
  absl::StatusOr<v1::ProbeTopologyReply> ProbeTopology(const v1::ProbeTopologyRequest& request,
                                                       absl::Duration timeout) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_ADMIN_CLIENT_H_
