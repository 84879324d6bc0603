// SPDX-License-Identifier: Apache-2.0
//
// Lists and prices the candidates that the planner compares: structures with segment sizes.
#ifndef COPSE_PLANNER_CANDIDATES_H_
#define COPSE_PLANNER_CANDIDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/structure.h"
#include "schedule/plan.h"

namespace copse::planner {

// Teams of up to this many nodes have separate plans for messages beyond schedule::kMessageBytesMax.
inline constexpr uint32_t kLongNodesMax = 256;
// Fewer candidates are priced above this many nodes.
inline constexpr uint32_t kThoroughNodesMax = 1024;

// Returns the algorithms worth comparing for a team: flat, binomial, k-nomial and k-ary with k of 2, 3, 4, 8, 16 and
// 32, and for 2 to schedule::kExchangeNodesMax nodes dissemination and recursive doubling. An algorithm that equals an
// earlier one for this number of nodes is left out, and above kThoroughNodesMax nodes so is every second k.
std::vector<std::string> CandidateAlgorithms(uint32_t node_count);

// Returns the segment sizes worth comparing for messages of up to `bytes_max`; 0: not cut. Each gives at most
// schedule::kSegmentsMax segments in a call of the port. Algorithms are compared with the first size.
std::vector<uint32_t> SegmentSizes(uint64_t bytes_max);

// Returns the one segment size for a collective of blocks, whose messages are long for any block size. Only blocks
// beyond schedule::kMessageBytesMax get the longest segment: shorter ones gain little from it, but daemons would
// reserve memory for it.
std::vector<uint32_t> BlockSegmentSizes(Collective collective, uint64_t bytes_max);

// Returns the structure as a plan for the collective and size class, without id and prediction.
schedule::Plan PlanOf(Structure structure, Collective collective, uint64_t bytes_min, uint64_t bytes_max,
                      uint32_t segment_bytes);

// Returns whether a call of the plan is priced by running its sequences (Price). Calls of the common collectives are;
// others are if nodes times segments of the whole call do not exceed kRunSegmentsMax, and else are priced by formulas
// (BlockPriceNs), as are scans whose ranks are many and not in the nodes' order. All plans that a planner makes for one
// call are priced by the same method, so that prices are comparable; a plan that a daemon has reported may have shorter
// segments, and be priced by the other method.
inline constexpr uint64_t kRunSegmentsMax = 8192;
bool IsPricedByRunning(const schedule::Plan& plan, const schedule::TeamShape& shape, const CallArguments& arguments);

// Returns the price of the plan's call in ns, by which plans are compared. Errors: those of Price and BlockPriceNs.
absl::StatusOr<int64_t> PredictedNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                    const TeamCosts& costs, const CallArguments& arguments);

// Returns the price of the plan's call of so many bytes (CallOfBytes). Of messages that are longer than those that are
// priced, bandwidth decides: their price grows with their bytes. Errors: those of PredictedNs.
absl::StatusOr<double> PredictedUsOfBytes(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                          const TeamCosts& costs, uint64_t bytes);

struct Candidate {
  uint32_t structure = 0;  // index into the structures that were priced
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
};

// PricedCall is a call of one team for which candidates are priced. The referenced objects must outlive it.
struct PricedCall {
  const schedule::TeamShape& shape;
  const TeamCosts& costs;
  const CallArguments& arguments;
  uint64_t bytes_max = 0;               // upper end of its size class
  std::vector<uint32_t> segment_sizes;  // at least one: SegmentSizes, BlockSegmentSizes, or the size of a rule or plan
};

// Prices the structures with the indices `which`, which can all carry the call: each with the first segment size, then
// the cheapest kRefined of them with the other sizes, too, in teams of up to kThoroughNodesMax nodes.
// Output:  one candidate for each structure, with its cheapest segment size, in the order of `which`. All that were
//          priced are appended to `*every`, unless it is null.
// Errors:  those of PredictedNs.
inline constexpr size_t kRefined = 3;
absl::StatusOr<std::vector<Candidate>> PriceCandidates(absl::Span<const Structure> structures,
                                                       absl::Span<const uint32_t> which, const PricedCall& call,
                                                       std::vector<Candidate>* every);

// Returns the indices in `which`, in their order, that are worth pricing for the next class of longer messages, given
// the candidates of the class before: structures that cost at most about kHopeful times the cheapest, trees and cycles
// with fewer neighbors than every cheaper one (since neighbors may be limited), and structures without a price.
inline constexpr int64_t kHopeful = 2;
std::vector<uint32_t> StillWorthPricing(absl::Span<const Structure> structures, absl::Span<const uint32_t> which,
                                        absl::Span<const Candidate> shorter);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_CANDIDATES_H_
