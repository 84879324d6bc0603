// SPDX-License-Identifier: Apache-2.0
//
// Builds the structures that are compared for the calls of one team.
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

// A StructureTable builds structures on demand, and each only once. Structures by position (flat, k-nomial, ...) serve
// calls of every size; structures by cost are made for a direction and a message. Beside those by position, it has:
//
// - for bcast, one-to-many trees from the team's first node; for reduce, many-to-one trees to that node;
// - for barrier and allreduce, trees that are good in both directions, from the first node and from the node that is
//   nearest to all, since these calls have no root; and a symmetric schedule between the groups of the cluster;
// - for long bcasts, reduces and allreduces in teams of 3 to kLongNodesMax nodes, cycles in the topology's order;
// - for gather and scatter, the trees of a reduce and a bcast of one block;
// - for allgather and reduce_scatter, trees that are good in both directions, and cycles in the topology's order;
// - for scans, cycles in the order of ranks, or else trees; for alltoall, cycles alone;
// - for messages that are cut into segments, trees made for the whole message (size_class.h defines its size), trees
//   made for one segment, and trees with few children (chain, pipeline-K).
//
// Thread-compatible. `*costs` must outlive it.
class StructureTable {
 public:
  // `first_node` has rank 0. If `all`, the trees of all algorithms by cost are candidates, for display; otherwise only
  // those of "mgo" and of "best", which includes the others. `ranks_in_order` is true if each node's ranks are
  // contiguous and in the nodes' order; otherwise no cycle carries a scan.
  StructureTable(const TeamCosts* costs, uint32_t first_node, bool all = false, bool ranks_in_order = true);

  // Returns the indices of the structures worth comparing for calls of the class; equal trees appear once, under the
  // first name. Above kThoroughNodesMax nodes, trees by cost are made for one direction and message only, and serve all
  // calls. Errors: RESOURCE_EXHAUSTED for an alltoall between more nodes than a node may have neighbors.
  absl::StatusOr<std::vector<uint32_t>> Candidates(Collective collective, const SizeClass& size_class);

  // Returns the indices of all structures that `algorithm` has for calls of the class: at least one. In place of
  // "bruck", an alltoall has "pairwise" where blocks are too long or nodes too many to forward blocks.
  // Errors: INVALID_ARGUMENT if `algorithm` cannot carry the collective, if a node would have too many neighbors, and
  //         from BuildStructure, BuildByCost and MessageCosts.
  absl::StatusOr<std::vector<uint32_t>> Named(std::string_view algorithm, Collective collective,
                                              const SizeClass& size_class);

  const std::vector<Structure>& structures() const { return structures_; }
  // Returns the message size in bytes for which a structure by cost was made; 0: it does not depend on the size.
  uint64_t BuiltForBytes(uint32_t index) const { return purposes_[index].has_value() ? purposes_[index]->bytes : 0; }

 private:
  // Purpose is the call for which structures by cost are made. {kScan, 0} marks cycles in the order of ranks.
  struct Purpose {
    Collective collective;
    uint64_t bytes;
    friend bool operator==(const Purpose&, const Purpose&) = default;
  };
  std::vector<Purpose> PurposesOf(Collective collective, const SizeClass& size_class) const;
  // Sets `message_costs_` and `center_` for the purpose.
  absl::Status Prepare(const Purpose& purpose);
  std::vector<uint32_t> RootsFor(const Purpose& purpose) const;
  absl::StatusOr<uint32_t> ByPosition(std::string_view algorithm, Collective collective);
  absl::StatusOr<uint32_t> ByCost(std::string_view algorithm, const Purpose& purpose, uint32_t root);
  // Returns the index of the first structure that is an equal tree, which may be `index` itself.
  uint32_t FirstLike(uint32_t index);

  const TeamCosts* costs_;
  uint32_t first_node_;
  bool all_;
  bool ranks_in_order_;
  NodeOrder order_;
  std::vector<Structure> structures_;
  std::vector<std::optional<Purpose>> purposes_;  // by structure; nullopt: by position in the topology's order
  std::vector<uint32_t> first_like_;
  absl::flat_hash_map<size_t, std::vector<uint32_t>> by_hash_;
  std::optional<Purpose> prepared_;
  std::optional<BroadcastCosts> message_costs_;
  uint32_t center_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_TABLE_H_
