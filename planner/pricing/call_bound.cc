// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/call_bound.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/center.h"
#include "planner/algorithms/lower_bound.h"
#include "planner/pricing/message_costs.h"

namespace copse::planner {
namespace {

// Returns the most segments into which a plan that the verifier lets pass cuts a call: kSegmentsMax if one chunk has it
// all, else as many of each chunk, whose last segment may be cut off.
uint64_t SegmentsMax(uint64_t bytes) {
  return std::max<uint64_t>(schedule::kSegmentsMax,
                            bytes * (schedule::kSegmentsMax + 1) / schedule::kMessageBytesMax + 1);
}

}  // namespace

absl::StatusOr<int64_t> CallLowerBoundNs(const TeamCosts& costs, const schedule::TeamShape& shape,
                                         const CallArguments& arguments) {
  const CostParameters& parameters = costs.parameters();
  const int64_t ends =
      2 * parameters.client_hop_ns + std::min(parameters.wake_ns, parameters.takeover_ns) + parameters.arm_ns;
  if (costs.node_count() == 1) return ends;
  const bool is_reduce = arguments.collective == Collective::kReduce;
  ASSIGN_OR_RETURN(const BroadcastCosts empty, EmptyMessageCosts(costs, is_reduce));
  std::vector<uint32_t> roots;
  if (HasRoot(arguments.collective)) {
    roots.push_back(shape.node_of_rank[arguments.root].value());
  } else {
    roots.push_back(FarthestFrom(empty, 0));
    roots.push_back(FarthestFrom(empty, roots[0]));
  }
  // For each segment, 1 byte, which arrives with the head, and 1 ns, since times are rounded down, are not counted.
  const uint64_t bytes = arguments.collective == Collective::kBarrier ? 0 : arguments.bytes();
  const uint64_t segments = SegmentsMax(bytes);
  const uint64_t streamed = bytes - std::min(bytes, segments) + 1;
  const int64_t work = PerByteNs(bytes, std::max(parameters.send_ps_per_byte, parameters.receive_ps_per_byte));
  int64_t least = 0;
  for (const uint32_t root : roots) {
    least = std::max(least, LowerBoundNs(empty, root));
    for (uint32_t v = 0; v < costs.node_count() && bytes > 0; ++v) {
      if (v == root) continue;
      const int64_t stream = StreamNs(streamed, costs.PathBetween(root, v).bandwidth_bytes_per_s);
      least = std::max(least, empty.Cost(root, v) + std::max(stream, work) - static_cast<int64_t>(segments));
    }
  }
  return ends + least;
}

}  // namespace copse::planner
