// SPDX-License-Identifier: Apache-2.0
//
// A plan is one parametric schedule for (team, collective, size class, algorithm). Root, count and segments are its
// arguments; expand.h makes the primitive sequences of one call. Byte layout: docs/reference/plan-format.md.
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

// Bounds that the verifier enforces and that pools are computed from.
inline constexpr uint32_t kNodeCountMax = 1u << 20;
inline constexpr uint32_t kSegmentsMax = 16;
inline constexpr uint32_t kPhasesMax = 44;               // 2 * log2(kNodeCountMax) + 4
inline constexpr uint64_t kMessageBytesMax = 64 * 1024;  // of one call of the port; a longer message runs as several
inline constexpr uint64_t kCallBytesMax = uint64_t{1} << 46;
inline constexpr uint32_t kLocalRanksMax = 256;
// A segment fits a frame, and a frame one fragment of UCX's TCP: two fragments cost twice as much.
inline constexpr uint32_t kSegmentBytesMax = 60 * 1024;
// The default: long enough to be worth a frame, short enough that segments follow one another closely.
inline constexpr uint32_t kSegmentBytesUsual = 8 * 1024;
// A scan's limit is lower, since prefixes and sums lie in scratch beside each segment.
inline constexpr uint32_t kScanSegmentBytesMax = 8 * 1024;
inline constexpr uint32_t SegmentBytesMax(Collective collective) {
  return IsScan(collective) ? kScanSegmentBytesMax : kSegmentBytesMax;
}
inline constexpr uint32_t kSegmentUnitBytes = kElementBytesMax;  // segments end between elements of any type
inline constexpr uint32_t kExchangeNodesMax = 4096;  // the verifier follows every contribution of an exchange
// Partners that a node may have in a round in which it also sends: with its own value they are the operands that the
// ALU takes at once, in any order.
inline constexpr uint32_t kRoundPartnersMax = 6;

// The placement of a team's ranks: ranks[r] is the team's node on which rank r lives. Node indices are dense,
// numbered by the first rank that lives there.
struct TeamShape {
  std::vector<NodeIndex> node_of_rank;
  uint32_t node_count = 0;

  uint32_t size() const { return static_cast<uint32_t>(node_of_rank.size()); }
  friend bool operator==(const TeamShape&, const TeamShape&) = default;
};

// A shape prepared for look-ups: O(size) to build, O(1) per query.
class ShapeIndex {
 public:
  // Precondition: CheckShape(shape) is OK; CHECKed.
  explicit ShapeIndex(const TeamShape& shape);

  uint32_t size() const { return static_cast<uint32_t>(node_of_rank_.size()); }
  uint32_t node_count() const { return static_cast<uint32_t>(first_.size()) - 1; }
  NodeIndex NodeOf(Rank rank) const { return node_of_rank_[rank.value()]; }
  // Ranks of one node, ascending: a rank's local index is its position here.
  absl::Span<const Rank> RanksOf(NodeIndex node) const;
  uint32_t LocalIndexOf(Rank rank) const { return local_index_[rank.value()]; }

 private:
  std::vector<NodeIndex> node_of_rank_;
  std::vector<uint32_t> local_index_;
  std::vector<uint32_t> first_;  // ranks of node n are by_node_[first_[n], first_[n + 1])
  std::vector<Rank> by_node_;
};

// INVALID_ARGUMENT: no ranks, a node index out of range or without a rank, more than kLocalRanksMax ranks on one node.
absl::Status CheckShape(const TeamShape& shape);

// kTree: an undirected tree over the team's nodes. A call's root (for barrier and allreduce: `root_node`) directs it:
// the neighbor towards the root is the parent, the others are children in the order of `neighbours`. Phases: 0 up, 1
// down.
//
// kExchange: explicit rounds, the same for all calls (dissemination, recursive doubling, hierarchical). A round is a
// phase.
//
// kCirculant: the nodes in a cycle, and distances along it: a node sends to the nodes that follow it by the distances,
// and receives from those that precede it by them. The collective and the distances determine the data: {1} is a ring,
// on which a chunk travels from its owner to all, or to its owner from all; {1, 2, 4, ...} doubles a node's data in
// each round, or is the owner's binomial tree (allreduce, reduce_scatter: cycle_tree.h); with {1, 2, 3, ... n - 1}
// every node sends to every other. The plan's size is linear in the team's, where explicit steps would grow by its
// square. In a long allreduce each segment is owned by another node: RotationsOf.
enum class PlanKind : uint8_t { kTree = 0, kExchange = 1, kCirculant = 2 };

// One step of a symmetric schedule's round at one node. A node first sends all its messages of the round, then awaits
// all that it receives, and then combines them with its own value: by node number, so that all nodes that receive the
// same contributions get the same bits. kNobody: nothing to send, or to await.
inline constexpr uint32_t kNobody = 0xffffffff;
struct ExchangeStep {
  uint16_t round = 0;
  uint32_t send_to = kNobody;       // node index
  uint32_t receive_from = kNobody;  // node index
  // Whether the received data is combined with the accumulated value; otherwise it replaces it (the node receives the
  // result), and nothing else is received in the round.
  bool combine = true;
  friend bool operator==(const ExchangeStep&, const ExchangeStep&) = default;
};

struct Plan {
  PlanId id{0};
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0;  // size class, inclusive; a class beyond kMessageBytesMax has calls of several chunks
  uint64_t bytes_max = 0;
  std::string algorithm;  // "flat", "binomial", "knomial-4", "kary-2", "mgo", "best", "dissemination",
                          // "recursive-doubling", ...
  PlanKind kind = PlanKind::kTree;
  uint32_t node_count = 0;
  uint32_t segment_bytes =
      0;  // longer messages are cut into segments of this; multiple of kSegmentUnitBytes; 0: never cut
  uint8_t priority = 0;
  // kTree: neighbours[v] in serving order, the order of sends down, and of operands up (after v's own ranks).
  // kCirculant: two lists, the cycle (every node once) and the distances (ascending, from 1, less than node_count).
  NodeIndex root_node{0};
  std::vector<std::vector<uint32_t>> neighbours;
  // kExchange: steps[v], rounds never falling.
  std::vector<std::vector<ExchangeStep>> steps;
  double predicted_us = 0;  // by the cost model, for this plan's largest message, root at root_node

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Return the cycle and the distances of a circulant plan.
inline absl::Span<const uint32_t> CycleOf(const Plan& plan) { return plan.neighbours[0]; }
inline absl::Span<const uint32_t> DistancesOf(const Plan& plan) { return plan.neighbours[1]; }

// Whether nodes of an alltoall pass on others' data, in rounds of distances 1, 2, 4, ...; otherwise every node sends
// to every other directly.
inline bool PassesOn(const Plan& plan) {
  return plan.kind == PlanKind::kCirculant && plan.collective == Collective::kAlltoall &&
         DistancesOf(plan).size() + 1 < plan.node_count;
}
// Limit of a plan that PassesOn: intermediate nodes must know the sizes of all blocks, which they do not in an
// alltoallv, whose calls run by the plan for the longest blocks; and a part of each message must fit a segment.
inline constexpr uint32_t kPassingNodesMax = 2048;

// Bytes of the longest message, or chunk of one, that a call of the port carries by the plan. Where messages are cut
// into chunks, whole segments.
uint64_t ChunkBytesMax(const Plan& plan);
// Number of segments of a message; 1 for 0 bytes.
uint32_t SegmentCount(const Plan& plan, uint64_t bytes);
// Number of segments after which a call's sequences repeat: 1, except for an allreduce on a ring, where node i of the
// cycle owns segment i, i + n, ... of the whole message: its sum is complete there, and is sent from there to all
// others.
uint32_t RotationsOf(const Plan& plan);
// Number of phases of the plan's packets: the counters per segment.
uint32_t PhaseCount(const Plan& plan);
// Returns every node that `node` exchanges packets with, ascending: the plan's edges there.
std::vector<NodeIndex> NeighboursOf(const Plan& plan, NodeIndex node);

// Plan format. DecodePlan checks lengths and ranges, not meaning (verify.h does); INVALID_ARGUMENT names the field.
std::string EncodePlan(const Plan& plan);
absl::StatusOr<Plan> DecodePlan(std::string_view bytes);
// Content hash of the encoded bytes; planner and daemon compare it.
uint64_t PlanHash(std::string_view encoded);

// Returns the first of `plans` with this collective and `bytes` within its class; null if there is none.
const Plan* SelectPlan(absl::Span<const Plan> plans, Collective collective, uint64_t bytes);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_PLAN_H_
