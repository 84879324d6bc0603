// SPDX-License-Identifier: Apache-2.0
//
// The candidates that the planner compares: structures and segment sizes, with prices.
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

// Teams of up to so many nodes have plans of their own for messages beyond schedule::kMessageBytesMax.
inline constexpr uint32_t kLongNodesMax = 256;
// Fewer candidates are priced above this many nodes.
inline constexpr uint32_t kThoroughNodesMax = 1024;

// Returns the algorithms worth comparing for a team: flat, binomial, k-nomial and k-ary with k of 2, 3, 4, 8, 16 and
// 32, and up to schedule::kExchangeNodesMax nodes dissemination and recursive doubling. An algorithm that equals an
// earlier one for this n is left out, and above kThoroughNodesMax so is every second k.
std::vector<std::string> CandidateAlgorithms(uint32_t node_count);

// Returns the segment sizes worth comparing for messages of up to `bytes_max`; 0: not cut. Each gives at most
// schedule::kSegmentsMax segments. The first is the size with which algorithms are compared.
std::vector<uint32_t> SegmentSizes(uint64_t bytes_max);

// Returns the sizes for collectives of blocks, which make long messages for any block size: short blocks gain little
// from a longer segment, but a daemon would reserve memory for it.
std::vector<uint32_t> BlockSegmentSizes(Collective collective, uint64_t bytes_max);

// Makes a plan from a structure, without id and prediction.
schedule::Plan PlanOf(Structure structure, Collective collective, uint64_t bytes_min, uint64_t bytes_max,
                      uint32_t segment_bytes);

// Returns true if the plan's calls are priced by running their sequences (Price): all of the common collectives, and
// those of blocks whose segments are not too many, nodes times segments of the whole call. Other calls are priced by
// formulas (BlockPriceNs). All plans that a planner makes for a call are priced the same way, so that prices are
// comparable; a plan of another origin, reported by a daemon, may cut finer.
inline constexpr uint64_t kRunSegmentsMax = 8192;
bool IsPricedByRunning(const schedule::Plan& plan, const schedule::TeamShape& shape, const CallArguments& arguments);

// Returns the predicted duration of the plan's call, by which plans are compared.
absl::StatusOr<int64_t> PredictedNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                    const TeamCosts& costs, const CallArguments& arguments);

struct Candidate {
  uint32_t structure = 0;  // index
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
};

// PricedCall is a call of one team for which candidates are priced. It borrows its members.
struct PricedCall {
  const schedule::TeamShape& shape;
  const TeamCosts& costs;
  const CallArguments& arguments;
  uint64_t bytes_max = 0;               // upper end of its size class
  std::vector<uint32_t> segment_sizes;  // SegmentSizes(bytes_max), or a rule's size
};

// Prices the structures with the indices `which`, which can all carry the call, with their best segment size: all with
// the first of the sizes, the cheapest kRefined of them with the others too, up to kThoroughNodesMax nodes.
// Output:  one candidate for each structure, in the order of `which`; `every` (may be null) gets all that were priced.
// Errors:  those of Price.
inline constexpr size_t kRefined = 3;
absl::StatusOr<std::vector<Candidate>> PriceCandidates(absl::Span<const Structure> structures,
                                                       absl::Span<const uint32_t> which, const PricedCall& call,
                                                       std::vector<Candidate>* every);

// Selects from `which`, in its order, the structures worth pricing for the next class, whose messages are longer than
// those that `shorter` was priced for: those within kHopeful times the cheapest, those with fewer neighbors than every
// cheaper one (the number of neighbors may be limited), and those without a price.
inline constexpr int64_t kHopeful = 2;
std::vector<uint32_t> StillWorthPricing(absl::Span<const Structure> structures, absl::Span<const uint32_t> which,
                                        absl::Span<const Candidate> shorter);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_CANDIDATES_H_
