// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/mgo.h"

#include <limits>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

constexpr uint32_t kNone = 0xffffffff;

class Run {
 public:
  Run(const BroadcastCosts& costs, uint32_t root)
      : costs_(costs), ready_(costs.node_count(), 0), has_(costs.node_count(), false), marked_(costs.vertex_count()) {
    tree_.root = root;
    Reach(root);
  }

  BroadcastTree Build() && {
    FindLevel();
    while (level_ != kNone) {
      OpenSubCluster();
      if (!AnyCandidate()) FindLevel();
    }
    tree_.phase1_edges = static_cast<uint32_t>(tree_.edges.size());
    while (tree_.edges.size() + 1 < costs_.node_count()) ServeEarliest();
    tree_.completion_ns = Completion(costs_, tree_.edges);
    return std::move(tree_);
  }

 private:
  // Returns the node's ancestor at that depth; kNone if the node's switch is less deep.
  uint32_t AncestorAt(uint32_t node, uint32_t depth) const {
    uint32_t v = costs_.ParentOf(node);
    if (costs_.DepthOf(v) < depth) return kNone;
    while (costs_.DepthOf(v) > depth) v = costs_.ParentOf(v);
    return v;
  }

  void Reach(uint32_t node) {
    has_[node] = true;
    for (uint32_t v = costs_.ParentOf(node); v != topology::kNoParent; v = costs_.ParentOf(v)) marked_[v] = true;
  }

  void FindLevel() {
    level_ = kNone;
    for (uint32_t v = costs_.node_count(); v < costs_.vertex_count(); ++v) {
      if (!marked_[v]) level_ = std::min(level_, costs_.DepthOf(v));
    }
  }

  bool IsCandidate(uint32_t node) const {
    const uint32_t at = AncestorAt(node, level_);
    return at != kNone && !marked_[at];
  }
  bool AnyCandidate() const {
    for (uint32_t v = 0; v < costs_.node_count(); ++v) {
      if (IsCandidate(v)) return true;
    }
    return false;
  }

  uint32_t HelperOf(uint32_t s) const {
    const uint32_t own = AncestorAt(s, level_);
    uint32_t helper = kNone;
    for (uint32_t v = 0; own != kNone && v < costs_.node_count(); ++v) {
      if (has_[v] || AncestorAt(v, level_) != own) continue;
      if (helper == kNone || std::make_tuple(costs_.Stream(s, v), costs_.Travel(s, v)) <
                                 std::make_tuple(costs_.Stream(s, helper), costs_.Travel(s, helper))) {
        helper = v;
      }
    }
    return helper;
  }

  void OpenSubCluster() {
    int64_t best = std::numeric_limits<int64_t>::max();
    uint32_t s = kNone, r1 = kNone, r2 = kNone;
    for (uint32_t i = 0; i < costs_.node_count(); ++i) {
      if (!has_[i]) continue;
      const uint32_t helper = HelperOf(i);
      const int64_t start = ready_[i] + (helper == kNone ? 0 : costs_.Busy(i, helper));
      for (uint32_t j = 0; j < costs_.node_count(); ++j) {
        if (!IsCandidate(j) || start + costs_.Cost(i, j) >= best) continue;
        best = start + costs_.Cost(i, j);
        s = i, r1 = j, r2 = helper;
      }
    }
    CHECK(s != kNone);
    if (r2 != kNone) Send(s, r2);
    Send(s, r1);
  }

  void ServeEarliest() {
    int64_t best = std::numeric_limits<int64_t>::max();
    uint32_t s = kNone, r = kNone;
    for (uint32_t i = 0; i < costs_.node_count(); ++i) {
      for (uint32_t j = 0; has_[i] && j < costs_.node_count(); ++j) {
        if (has_[j] || ready_[i] + costs_.Cost(i, j) >= best) continue;
        best = ready_[i] + costs_.Cost(i, j);
        s = i, r = j;
      }
    }
    CHECK(s != kNone);
    Send(s, r);
  }

  void Send(uint32_t s, uint32_t r) {
    ready_[s] += costs_.Busy(s, r);
    ready_[r] = ready_[s] + costs_.Travel(s, r);
    tree_.edges.push_back({s, r});
    Reach(r);
  }

  const BroadcastCosts& costs_;
  BroadcastTree tree_;
  std::vector<int64_t> ready_;
  std::vector<bool> has_, marked_;
  uint32_t level_ = kNone;
};

}  // namespace

BroadcastTree BuildMgoPlainly(const BroadcastCosts& costs, uint32_t root) { return Run(costs, root).Build(); }

}  // namespace copse::planner
