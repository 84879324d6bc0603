// SPDX-License-Identifier: Apache-2.0
//
// Computes completion times of several algorithms over clusters, sizes and seeds.
#ifndef COPSE_CLI_SIM_SWEEP_H_
#define COPSE_CLI_SIM_SWEEP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/algorithms/trees/block_tree.h"
#include "planner/topology/topology.h"

namespace copse::simcli {

// A Method is a way to compute the completion time of a call.
enum class Method : uint8_t {
  kReplay,  // replay of the tree's edges by section 3.1 of the MGO paper, for messages of any size
  kCosts,   // prediction of the cost model
  kRun,     // simulated execution, charged by the cost model; for block collectives by the replay's rules
};
absl::StatusOr<Method> MethodOf(std::string_view name);
std::string_view MethodName(Method method);

// A SweepPoint is one point of the horizontal axis: a number of nodes and a number of bytes.
struct SweepPoint {
  uint32_t nodes = 0;
  uint64_t bytes = 0;
};

struct SweepRequest {
  // Makes a cluster with `nodes` nodes from a seed. It is called once for each point and seed; all algorithms then use
  // this cluster.
  std::function<absl::StatusOr<topology::Topology>(uint32_t nodes, uint64_t seed)> cluster;
  std::vector<SweepPoint> points;
  std::vector<uint64_t> seeds;
  std::vector<std::string> algorithms;
  Collective collective = Collective::kBcast;
  std::optional<planner::BlockCollective>
      blocks;  // if set, used instead of `collective`, for blocks of a point's bytes
  uint32_t root = 0;
  uint32_t ranks_per_node = 1;
  Method method = Method::kReplay;
  std::function<void(uint64_t done, uint64_t all)> progress;  // may be empty
};

// A SweepCell holds statistics over the seeds, in nanoseconds. Percentiles are nearest-rank values of the sorted times.
struct SweepCell {
  SweepPoint point;
  std::string algorithm;
  uint32_t runs = 0;
  double mean_ns = 0;
  int64_t least_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, most_ns = 0;
  double deviation_ns = 0;  // sample standard deviation; 0 for one run
};
SweepCell Summarize(const SweepPoint& point, const std::string& algorithm, std::vector<int64_t> times_ns);

// Returns a cell for each point and algorithm: the first point's cells for all algorithms, then the second's, and so
// on. Errors: INVALID_ARGUMENT if the replay is requested for a collective other than bcast and `blocks`, the replay or
//         `blocks` with several ranks per node, or the cost model for `blocks`, or if the root is no rank; those of
//         `cluster`, MakeTeam, MakePlan, MakeBroadcast, MakeBlockTrees, Price, RunPlan and RunBlocks.
absl::StatusOr<std::vector<SweepCell>> Sweep(const SweepRequest& request);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_SWEEP_H_
