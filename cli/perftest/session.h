// SPDX-License-Identifier: Apache-2.0
//
// Makes this process a member of the measured team.
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

// Converts the status of a libcopse call that this thread has just made. An error has the text of copse_last_error().
// UNAVAILABLE: no daemon; DEADLINE_EXCEEDED: timed out; UNIMPLEMENTED: not supported; ABORTED: any other error.
absl::Status ToStatus(copse_status_t status);

// A Session attaches this process to its node's daemon and makes it a member of the team, from Join to the destructor.
// Join and Combine communicate: all ranks must call them in the same order. Thread-compatible.
class Session {
 public:
  // Forms the team. Sets COPSE_TIMEOUT in this process's environment if the options have a time-out. Errors: those of
  // ToStatus; FAILED_PRECONDITION if the ranks' options differ where they must agree.
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

  // Replaces each value by its reduction with `op` over all ranks, which must have equally many values. Messages are as
  // long as all ranks allow. Errors: those of ToStatus.
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
