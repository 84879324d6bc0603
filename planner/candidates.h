// SPDX-License-Identifier: Apache-2.0
//
// What the planner compares: structures and segment sizes, priced.
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

// Up to so many nodes messages beyond schedule::kMessageBytesMax have plans of their own.
inline constexpr uint32_t kLongNodesMax = 256;
// Above this many nodes fewer candidates are priced.
inline constexpr uint32_t kThoroughNodesMax = 1024;

// The algorithms worth comparing for a team: flat, binomial, k-nomial and k-ary with k of `fanouts`, and up to
// schedule::kExchangeNodesMax nodes dissemination and recursive doubling. What equals an earlier one for this n is left
// out, and above kThoroughNodesMax every second k.
std::vector<std::string> CandidateAlgorithms(uint32_t node_count, absl::Span<const uint32_t> fanouts);

// Segment sizes worth comparing for messages of up to `bytes_max`; 0: not cut. At most schedule::kSegmentsMax segments
// each. The first is the one to compare algorithms with.
std::vector<uint32_t> SegmentSizes(uint64_t bytes_max);

// Likewise for collectives of blocks, which make long messages whatever their size is: of short ones there is little to
// put into a longer segment, but a daemon would hold memory for it.
std::vector<uint32_t> BlockSegmentSizes(Collective collective, uint64_t bytes_max);

// A plan from a structure, without id and prediction.
schedule::Plan PlanOf(const Structure& structure, Collective collective, uint64_t bytes_min, uint64_t bytes_max,
                      uint32_t segment_bytes);

// True if the plan's calls are priced by running their sequences (Price): all of the common collectives, and those of
// blocks whose segments are not too many, nodes times segments of the whole call. Others go by formulas (BlockPriceNs).
// The same for all plans that a planner makes for a call, so that like is compared with like; a plan of another origin,
// which a daemon brought back, may cut finer.
inline constexpr uint64_t kRunSegmentsMax = 8192;
bool IsPricedByRunning(const schedule::Plan& plan, const schedule::TeamShape& shape, const CallArguments& arguments);

// How long the plan's call takes: what plans are compared by.
absl::StatusOr<int64_t> PredictedNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                    const TeamCosts& costs, const CallArguments& arguments);

struct Candidate {
  uint32_t structure = 0;  // index
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
};

// A call of one team that candidates are priced for. Borrows.
struct PricedCall {
  const schedule::TeamShape& shape;
  const TeamCosts& costs;
  const CallArguments& arguments;
  uint64_t bytes_max = 0;               // of its size class
  std::vector<uint32_t> segment_sizes;  // SegmentSizes(bytes_max), or what a rule says
};

// Prices the structures with the indices `which`, which can all carry the call, with their best segment size: all with
// the first of the sizes, the cheapest kRefined of them with the others too, up to kThoroughNodesMax nodes.
// Output:  one candidate a structure, in the order of `which`; `every` (may be null) gets all that were priced.
// Errors:  as Price.
inline constexpr size_t kRefined = 3;
absl::StatusOr<std::vector<Candidate>> PriceCandidates(absl::Span<const Structure> structures,
                                                       absl::Span<const uint32_t> which, const PricedCall& call,
                                                       std::vector<Candidate>* every);

// Which of `which` may be worth their price for messages of the next class, longer than those that `shorter` was priced
// for: what was within kHopeful times the cheapest, what has fewer neighbours than all that was cheaper (there may be a
// limit), and what was not priced. In the order of `which`.
inline constexpr int64_t kHopeful = 2;
std::vector<uint32_t> StillWorthPricing(absl::Span<const Structure> structures, absl::Span<const uint32_t> which,
                                        absl::Span<const Candidate> shorter);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_CANDIDATES_H_
