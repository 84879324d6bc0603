// SPDX-License-Identifier: Apache-2.0
//
// Defines plans. A plan is one parametric schedule for (team, collective, size class, algorithm). Root, count and
// segments are its arguments; expand.h makes the primitive sequences of one call from them. The byte layout is in
// docs/reference/plan-format.md.
#ifndef COPSE_SCHEDULE_PLAN_H_
#define COPSE_SCHEDULE_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/element_types.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"

namespace copse::schedule {

// These bounds are enforced by the verifier, and memory pools are computed from them.
inline constexpr uint32_t kNodeCountMax = 1u << 20;
inline constexpr uint32_t kSegmentsMax = 16;
inline constexpr uint32_t kPhasesMax = 44;               // 2 * log2(kNodeCountMax) + 4
inline constexpr uint64_t kMessageBytesMax = 64 * 1024;  // one call of the port; a longer message takes several
inline constexpr uint64_t kCallBytesMax = uint64_t{1} << 46;
inline constexpr uint32_t kLocalRanksMax = 256;
// A segment fits into one frame, and a frame into one fragment of UCX's TCP transport: two would cost twice as much.
inline constexpr uint32_t kSegmentBytesMax = 60 * 1024;
// The default segment length is long enough to be worth a frame, short enough that a node can forward a segment while
// it receives the next one.
inline constexpr uint32_t kSegmentBytesUsual = 8 * 1024;
// A scan's segments are shorter, since scratch also holds a prefix and a sum of each segment's length.
inline constexpr uint32_t kScanSegmentBytesMax = 8 * 1024;
inline constexpr uint32_t SegmentBytesMax(Collective collective) {
  return IsScan(collective) ? kScanSegmentBytesMax : kSegmentBytesMax;
}
inline constexpr uint32_t kSegmentUnitBytes = kElementBytesMax;  // segments end between elements of any type
inline constexpr uint32_t kExchangeNodesMax = 4096;  // limit of symmetric schedules, which the verifier executes
// Limits the nodes from which a node receives in a round in which it also sends. With the node's own value they are the
// operands that the ALU takes at once, so they can be reduced in order of nodes.
inline constexpr uint32_t kRoundPartnersMax = 6;

// A TeamShape is the placement of a team's ranks: node_of_rank[r] is the index of the node on which rank r runs. Every
// index below node_count has a rank (CheckShape).
struct TeamShape {
  std::vector<NodeIndex> node_of_rank;
  uint32_t node_count = 0;

  uint32_t size() const { return static_cast<uint32_t>(node_of_rank.size()); }
  friend bool operator==(const TeamShape&, const TeamShape&) = default;
};

// A ShapeIndex is a shape prepared for look-ups: O(size) to build, O(1) per query. It is immutable, and keeps no
// reference to the shape.
class ShapeIndex {
 public:
  // Dies unless CheckShape(shape) is OK.
  explicit ShapeIndex(const TeamShape& shape);

  uint32_t size() const { return static_cast<uint32_t>(node_of_rank_.size()); }
  uint32_t node_count() const { return static_cast<uint32_t>(first_.size()) - 1; }
  NodeIndex NodeOf(Rank rank) const { return node_of_rank_[rank.value()]; }
  // Returns the ranks of one node, ascending. A rank's local index is its position in this list.
  absl::Span<const Rank> RanksOf(NodeIndex node) const;
  uint32_t LocalIndexOf(Rank rank) const { return local_index_[rank.value()]; }

 private:
  std::vector<NodeIndex> node_of_rank_;
  std::vector<uint32_t> local_index_;
  std::vector<uint32_t> first_;  // ranks of node n are by_node_[first_[n], first_[n + 1])
  std::vector<Rank> by_node_;
};

// Returns INVALID_ARGUMENT if there are no ranks, a node index is out of range or has no rank, or a node has more than
// kLocalRanksMax ranks.
absl::Status CheckShape(const TeamShape& shape);

// A PlanKind is the structure of a plan.
//
// kTree is an undirected tree over the team's nodes. The node of the call's root (`root_node` if the collective has no
// root) directs it: the neighbor towards that node is the parent, the others are children in the order of `neighbors`.
// Phase 0 is up, phase 1 is down.
//
// kExchange has explicit rounds, which are equal for all calls (dissemination, recursive doubling, hierarchical). A
// round is a phase.
//
// kCirculant has a cycle of the nodes, and distances along it: a node sends to the nodes that follow it by the
// distances, and receives from those that precede it by them. The collective and the distances determine the data. {1}
// is a ring, on which a segment is sent from its owner to all nodes, or is reduced from all nodes to its owner.
// {1, 2, 4, ...} doubles a node's data in each round, or is each owner's binomial tree (allreduce, reduce_scatter:
// cycle_tree.h). With {1, 2, 3, ... n - 1} every node sends to every other. The size of the plan is linear in the
// number of nodes, while explicit steps would be quadratic. In a long allreduce consecutive segments have different
// owners (RotationsOf).
enum class PlanKind : uint8_t { kTree = 0, kExchange = 1, kCirculant = 2 };

// It stands in place of a node index: nothing to send or receive, or no parent.
inline constexpr uint32_t kNobody = 0xffffffff;
// An ExchangeStep is one send, one receive, or both, of a node in a round of a symmetric schedule. A node first sends
// all its messages of the round, then awaits all that it receives, and then reduces them with its own value in order of
// node indices, so that all nodes with equal contributions get equal bits.
struct ExchangeStep {
  uint16_t round = 0;
  uint32_t send_to = kNobody;       // node index
  uint32_t receive_from = kNobody;  // node index
  // True: the received data is reduced with the accumulated value. False: it replaces that value, since it is the
  // result, and the node receives nothing else in the round.
  bool combine = true;
  friend bool operator==(const ExchangeStep&, const ExchangeStep&) = default;
};

// VerifyPlan (verify.h) checks that a Plan's fields fit together.
struct Plan {
  PlanId id{0};
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0;  // size class, both ends included; messages beyond kMessageBytesMax run as several chunks
  uint64_t bytes_max = 0;
  std::string algorithm;  // "flat", "binomial", "knomial-4", "kary-2", "mgo", "best", "dissemination",
                          // "recursive-doubling", ...
  PlanKind kind = PlanKind::kTree;
  uint32_t node_count = 0;
  uint32_t segment_bytes =
      0;  // length of the segments of longer messages, a multiple of kSegmentUnitBytes; 0: messages are never cut
  uint8_t priority = 0;
  // kTree: neighbors[v] has the neighbors of node v in the order of sends down, and of operands up (after v's own
  // ranks). kCirculant: two lists, the cycle (every node once) and the distances (ascending, from 1, below node_count).
  NodeIndex root_node{0};
  std::vector<std::vector<uint32_t>> neighbors;
  // kExchange: the steps of node v are steps[v], in order of rounds.
  std::vector<std::vector<ExchangeStep>> steps;
  double predicted_us = 0;  // time of a typical call of its class with root 0, by the cost model; 0: not priced

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Return the cycle and the distances of a circulant plan.
inline absl::Span<const uint32_t> CycleOf(const Plan& plan) { return plan.neighbors[0]; }
inline absl::Span<const uint32_t> DistancesOf(const Plan& plan) { return plan.neighbors[1]; }

// Returns whether nodes of an alltoall forward other nodes' data, in rounds of distances 1, 2, 4, ... It is false for
// an alltoall in which every node sends to every other directly, and for other collectives.
inline bool PassesOn(const Plan& plan) {
  return plan.kind == PlanKind::kCirculant && plan.collective == Collective::kAlltoall &&
         DistancesOf(plan).size() + 1 < plan.node_count;
}
// Limits the nodes of a plan that PassesOn, so that a byte of each of the streams in a message fits into a segment.
// Such a plan is for short blocks only: nodes that forward must know all blocks' sizes, but do not in an alltoallv,
// which runs by the plan for the longest blocks.
inline constexpr uint32_t kPassingNodesMax = 2048;

// Returns the bytes of the longest message, or chunk of a message, that one call of the port carries by the plan: a
// multiple of segment_bytes if the plan cuts messages into chunks of several segments.
uint64_t ChunkBytesMax(const Plan& plan);
// Returns the number of segments of a message; 1 for 0 bytes.
uint32_t SegmentCount(const Plan& plan, uint64_t bytes);
// Returns the number of segments after which a call's sequences repeat: 1, except for a circulant allreduce. There node
// i of the cycle owns segments i, i + n, ... of the whole message: their sums are complete at this node, which sends
// them to all others.
uint32_t RotationsOf(const Plan& plan);
// Returns the number of phases of the plan's packets. A segment has a counter for each.
uint32_t PhaseCount(const Plan& plan);
// Returns every node that `node` sends packets to or receives packets from, ascending. Each is an edge of `node`.
std::vector<NodeIndex> NeighborsOf(const Plan& plan, NodeIndex node);
// Returns the neighbors of every node in any of the plans, by node, in linear time. Requires verified plans of as many
// nodes.
std::vector<std::vector<uint32_t>> NeighborsByNode(absl::Span<const Plan> plans, uint32_t node_count);

// Returns whether both are trees, with the same root node and the same neighbors in the same order.
bool HaveSameTree(const Plan& a, const Plan& b);

// EncodePlan and DecodePlan convert a plan to and from the plan format. DecodePlan accepts any bytes; it checks lengths
// and enumerators, but not meaning (verify.h does).
// Errors: FAILED_PRECONDITION if the format version is incompatible, INVALID_ARGUMENT if the bytes are malformed.
std::string EncodePlan(const Plan& plan);
absl::StatusOr<Plan> DecodePlan(std::string_view bytes);
// Return, or replace, the id of an encoded plan. Requires bytes that EncodePlan returned; of others only that there are
// kEncodedIdEnd of them.
PlanId PlanIdIn(std::string_view encoded);
void SetPlanIdIn(PlanId id, std::string* encoded);
inline constexpr size_t kEncodedIdEnd = 16;
// Returns a hash of encoded plans, which planner and daemon compare. It is not cryptographic.
uint64_t PlanHash(std::string_view encoded);

// Returns the first of `plans` for this collective with `bytes` in its size class; null if there is none.
const Plan* SelectPlan(absl::Span<const Plan> plans, Collective collective, uint64_t bytes);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_PLAN_H_
