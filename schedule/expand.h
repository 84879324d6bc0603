// SPDX-License-Identifier: Apache-2.0
//
// Expands a plan and a call's arguments to the primitive sequence of one node.
#ifndef COPSE_SCHEDULE_EXPAND_H_
#define COPSE_SCHEDULE_EXPAND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "schedule/plan.h"
#include "schedule/primitive.h"

namespace copse::schedule {

// A NodeView describes one call at one node without the whole team: the number of local ranks, and where the root is.
struct NodeView {
  NodeIndex node{0};
  uint32_t local_ranks = 0;
  uint32_t root_node = 0;         // node of the call's root, or else of the segment's owner, or else plan.root_node
  uint32_t root_local_index = 0;  // local index of the root rank on root_node; 0 if there is no root rank
};
// Returns the view of a call at `node`. `rotation` is the segment's number in the whole message modulo
// RotationsOf(plan). Dies if the root is not a rank of the team.
NodeView ViewOf(const ShapeIndex& shape, const Plan& plan, NodeIndex node, const CallArguments& arguments,
                uint32_t rotation = 0);

// A TreeIndex is a tree plan prepared to be directed towards any root: O(n) to build, O(log n) per query. For plans of
// other kinds it is empty and must not be queried. Precondition: the plan was verified.
class TreeIndex {
 public:
  explicit TreeIndex(const Plan& plan);
  // Returns the neighbor of `node` on the path to `root`; kNobody if node == root.
  uint32_t Towards(uint32_t node, uint32_t root) const;
  // Return preorder numbers from plan.root_node: the nodes in the subtree of `node` have the numbers [Enter, Leave).
  uint32_t Enter(uint32_t node) const { return enter_[node]; }
  uint32_t Leave(uint32_t node) const { return leave_[node]; }
  // Returns the parent towards plan.root_node; kNobody at the root itself.
  uint32_t Parent(uint32_t node) const { return parent_[node]; }

 private:
  std::vector<uint32_t> parent_;  // towards plan.root_node
  std::vector<uint32_t> enter_;   // preorder numbers: v's subtree has [enter_[v], leave_[v])
  std::vector<uint32_t> leave_;
  std::vector<std::vector<uint32_t>> children_;  // by ascending enter_
};

// Returns the sequence of `view.node` by a plan for barrier, bcast, reduce or allreduce that was verified. On trees and
// cycles, operands are the node's own ranks, ascending, and then its children in the plan's order; in each round of a
// symmetric schedule they are in order of nodes, except that the node's own value is first if the node receives from
// more than kRoundPartnersMax nodes.
// Errors: INVALID_ARGUMENT if the plan is for another collective, the message is outside its size class, node or root
//         node is out of range, the number of local ranks is 0 or above kLocalRanksMax, or root_local_index is at least
//         kLocalRanksMax.
// Cost:   O(node's neighbors + local ranks + log n); O(n) on a cycle.
// Source: papers, triggered operations (algorithms 1 and 2) and barrier model (primitives). Differs: nodes have several
//         ranks.
absl::StatusOr<NodeSequence> Expand(const Plan& plan, const TreeIndex& index, const NodeView& view,
                                    const CallArguments& arguments);

// Returns the sequence as Expand does, but without any check, and as if the plan were for `collective`: barrier, bcast,
// reduce or allreduce. The plan may be a tree; a symmetric schedule for barrier and allreduce; or a cycle for all but
// the barrier.
NodeSequence ExpandAs(Collective collective, const Plan& plan, const TreeIndex& index, const NodeView& view);

// Returns the segments of a message of `bytes` bytes, in order; one empty segment for 0 bytes.
std::vector<Segment> SegmentsOf(const Plan& plan, uint64_t bytes);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_EXPAND_H_
