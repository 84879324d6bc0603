// SPDX-License-Identifier: Apache-2.0
//
// This process as a member of the measured team.
#ifndef COPSE_CLI_PERFTEST_SESSION_H_
#define COPSE_CLI_PERFTEST_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/perftest/options.h"
#include "client/copse.h"

namespace copse::perftest {

// Converts to OK, or to an error with copse_last_error(). UNAVAILABLE: no daemon; DEADLINE_EXCEEDED: timed out;
// UNIMPLEMENTED: refused as not supported; ABORTED: any other error.
absl::Status ToStatus(copse_status_t status);

// A Session is attached to this node's daemon and in the team from Join to its end. Operations over all ranks are
// collectives of the team: every rank makes the same calls in the same order. Thread-compatible.
class Session {
 public:
  // Forms the team. FAILED_PRECONDITION if the ranks' options differ where they must agree.
  static absl::StatusOr<std::unique_ptr<Session>> Join(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  copse_context_t* context() const { return context_; }
  copse_team_t* team() const { return team_; }
  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  uint32_t nodes() const { return nodes_; }
  uint32_t ranks_per_node() const { return ranks_per_node_; }  // the maximum over the nodes

  // Combines element by element over all ranks, in messages up to the team's limit.
  absl::Status Combine(copse_op_t op, std::vector<double>* values);

 private:
  Session() = default;
  absl::Status Agree(const Options& options);
  absl::Status CountNodes(const std::string& node);

  copse_context_t* context_ = nullptr;
  copse_team_t* team_ = nullptr;
  uint32_t rank_ = 0, ranks_ = 0, nodes_ = 0, ranks_per_node_ = 0;
  uint64_t message_bytes_max_ = 0;
};

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_SESSION_H_
