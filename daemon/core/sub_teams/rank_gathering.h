// SPDX-License-Identifier: Apache-2.0
//
// Gathers the joins of a sub-team at the root of its parent's tree.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_RANK_GATHERING_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_RANK_GATHERING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::daemon {

// A RankGathering holds the ranks of one sub-team that have joined. Joins may come twice. Thread-compatible.
class RankGathering {
 public:
  // Adds ranks of one node of the parent, whose name is `name`. Returns why the sub-team cannot be formed; kNone: it
  // can.
  schedule::FailureReport Add(NodeIndex node, const std::string& name, const std::vector<Rank>& ranks, uint32_t size);
  bool complete() const { return size_ != 0 && node_of_rank_.size() == size_; }
  // Returns the nodes of the parent by rank. Requires complete().
  std::vector<NodeIndex> NodeOfRank() const;
  // Returns the failure of a sub-team whose ranks have not all joined within `timeout`.
  schedule::FailureReport Late(absl::Duration timeout) const;

 private:
  struct Claim {
    NodeIndex node{0};
    std::string name;
  };

  uint32_t size_ = 0;  // 0: no rank has joined
  std::map<Rank, Claim> node_of_rank_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_RANK_GATHERING_H_
