// SPDX-License-Identifier: Apache-2.0
//
// The trees and exchanges that are compared for one team's calls.
#ifndef COPSE_PLANNER_STRUCTURE_TABLE_H_
#define COPSE_PLANNER_STRUCTURE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/tree.h"
#include "planner/pricing/team_costs.h"
#include "planner/size_class.h"
#include "planner/structure.h"

namespace copse::planner {

// A StructureTable builds structures when they are first asked for, and each only once: trees by position (flat,
// k-nomial, ...) serve every call, trees by cost are made for a direction and a message.
//
// - bcast: one-to-many trees from the team's first node; reduce: many-to-one trees to it;
// - barrier and allreduce: trees that are good in both directions, from the first node and from the node that is
//   nearest to all, since these calls have no root; and an exchange between the parts of the cluster;
// - gather and scatter: trees as of a reduce and a bcast of one block; allgather and reduce_scatter: trees that are
// good in
//   both directions, and cycles in the topology's order; scans: cycles in the order of ranks, or else trees; alltoall:
//   a cycle in which all are neighbours;
// - messages that are cut into segments: trees made for the whole message (size_class.h says which), trees made for one
// segment, and trees of few
//   children (chain, pipeline-K).
//
// Thread-compatible. The costs must outlive it.
class StructureTable {
 public:
  // `first_node`: where rank 0 lives. `fanouts`: as PlannerOptions (planner.h). `all`: candidates are all trees by cost
  // that there are, for people to compare; else MGO's and `best`, which has looked at the others.
  // `ranks_in_order`: each node's ranks follow one another, and the nodes' numbers follow them; else no cycle carries a
  // scan.
  StructureTable(const TeamCosts* costs, uint32_t first_node, std::vector<uint32_t> fanouts, bool all = false,
                 bool ranks_in_order = true);

  // Indices of what is worth comparing for calls of the class; trees that are equal once, under the first name.
  // Above kThoroughNodesMax nodes trees by cost are made for one direction and message only, and serve all.
  absl::StatusOr<std::vector<uint32_t>> Candidates(Collective collective, const SizeClass& size_class);

  // Indices of all structures that `algorithm` has for such calls: at least one.
  // Errors: INVALID_ARGUMENT as BuildStructure and BuildByCost, or if it cannot carry the collective.
  absl::StatusOr<std::vector<uint32_t>> Named(std::string_view algorithm, Collective collective,
                                              const SizeClass& size_class);

  const std::vector<Structure>& structures() const { return structures_; }

 private:
  // What trees by cost are made for.
  struct Purpose {
    Collective collective;  // barrier stands for what uses a tree both ways
    uint64_t bytes;
    friend bool operator==(const Purpose&, const Purpose&) = default;
  };
  std::vector<Purpose> PurposesOf(Collective collective, const SizeClass& size_class) const;
  // Makes `message_costs_` and `centre_` those of the purpose.
  absl::Status Prepare(const Purpose& purpose);
  std::vector<uint32_t> RootsFor(const Purpose& purpose) const;
  absl::StatusOr<uint32_t> ByPosition(std::string_view algorithm, Collective collective);
  absl::StatusOr<uint32_t> ByCost(std::string_view algorithm, const Purpose& purpose, uint32_t root);
  // Index of the first structure that is the same tree.
  uint32_t FirstLike(uint32_t index);

  const TeamCosts* costs_;
  uint32_t first_node_;
  std::vector<uint32_t> fanouts_;
  bool all_;
  bool ranks_in_order_;
  NodeOrder order_;
  std::vector<Structure> structures_;
  std::vector<std::optional<Purpose>> purposes_;  // of each structure
  std::vector<uint32_t> first_like_;
  absl::flat_hash_map<size_t, std::vector<uint32_t>> by_hash_;
  std::optional<Purpose> prepared_;
  std::optional<BroadcastCosts> message_costs_;
  uint32_t centre_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_TABLE_H_
