// SPDX-License-Identifier: Apache-2.0
//
// The labels that the neighbors of a new sub-team issue for this node.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_LABEL_EXCHANGE_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_LABEL_EXCHANGE_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "protocol/control.h"

namespace copse::daemon {

// A LabelExchange has the neighbors of a sub-team that are connected for it, and collects their labels.
// Thread-compatible.
class LabelExchange {
 public:
  // The node is connected. It is the neighbor `index` of the new team, and its label will come.
  void Expect(const schedule::TeamNode& node, NodeIndex index) {
    neighbors_.push_back(node);
    unlabeled_.emplace(node.incarnation, index);
  }
  // The node is connected, and its label is that of an earlier team: see SetLabels.
  void Connect(const schedule::TeamNode& node) { neighbors_.push_back(node); }
  // Returns false if the daemon is no neighbor, or has issued its label before.
  bool Add(Incarnation from, uint32_t label) {
    const auto node = unlabeled_.extract(from);
    if (node.empty()) return false;
    labels_.push_back({node.mapped(), label});
    return true;
  }
  void SetLabels(std::vector<schedule::EdgeLabel> labels) { labels_ = std::move(labels); }

  bool is_complete() const { return unlabeled_.empty(); }
  const std::vector<schedule::EdgeLabel>& labels() const { return labels_; }
  const std::vector<schedule::TeamNode>& neighbors() const { return neighbors_; }
  // Returns the neighbors, for which connections are not needed any more. Labels stay.
  std::vector<schedule::TeamNode> TakeNeighbors() { return std::exchange(neighbors_, {}); }

 private:
  std::vector<schedule::TeamNode> neighbors_;
  std::map<Incarnation, NodeIndex> unlabeled_;  // the neighbors' indices in the new team
  std::vector<schedule::EdgeLabel> labels_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_LABEL_EXCHANGE_H_
