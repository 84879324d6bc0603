// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/barrier_model.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/sim/plan_maker.h"
#include "planner/candidates.h"
#include "planner/pricing/calibration.h"
#include "planner/structure.h"
#include "planner/topology/topology.h"

namespace copse::simcli {
namespace {

constexpr uint64_t kPublishedBytes = 48;

topology::FlatCosts NodesOf(const TriggerOverheads& overheads) {
  topology::FlatCosts nodes;
  nodes.overhead_ns = overheads.send_ns;
  nodes.receive_overhead_ns = overheads.receive_ns;
  nodes.latency_ns = overheads.transfer_ns / 2;  // a path has two links
  nodes.bandwidth_bytes_per_s = topology::kBandwidthBytesPerSecondMax;
  return nodes;
}

planner::CostParameters ParametersOf(const TriggerOverheads& overheads) {
  planner::CostParameters parameters;
  parameters.arm_ns = overheads.arm_ns;
  parameters.wake_ns = parameters.takeover_ns = overheads.wake_ns;
  parameters.client_hop_ns = overheads.client_hop_ns;
  parameters.send_ps_per_byte = parameters.receive_ps_per_byte = 0;
  parameters.copy_ps_per_byte = parameters.alu_ps_per_byte = 0;
  return parameters;
}

absl::StatusOr<schedule::Plan> PlanOver(const std::string& algorithm, uint32_t nodes, const CallArguments& call) {
  planner::NodeOrder order(nodes);
  std::iota(order.begin(), order.end(), 0);
  ASSIGN_OR_RETURN(const planner::Structure structure, planner::BuildStructure(algorithm, order));
  if (!planner::CanCarry(structure, call.collective)) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm: does not do this collective (algorithm=", algorithm, ")"));
  }
  const uint64_t bytes = call.collective == Collective::kBarrier ? 0 : call.bytes();
  schedule::Plan plan = planner::PlanOf(structure, call.collective, 0, bytes,
                                        bytes > schedule::kSegmentBytesUsual ? schedule::kSegmentBytesUsual : 0);
  plan.id = PlanId(1);
  return plan;
}

TriggerOverheads OverheadsOf(const planner::ClusterCosts& costs) {
  const topology::FlatCosts& nodes = costs.nodes;
  return {.send_ns = nodes.overhead_ns,
          .transfer_ns = 2 * nodes.latency_ns,
          .receive_ns = nodes.receive_overhead_ns > 0 ? nodes.receive_overhead_ns : nodes.overhead_ns,
          .arm_ns = costs.parameters.arm_ns,
          .wake_ns = costs.parameters.wake_ns,
          .client_hop_ns = costs.parameters.client_hop_ns};
}

schedule::TeamShape OneRankEach(uint32_t nodes) {
  schedule::TeamShape shape{.node_of_rank = {}, .node_count = nodes};
  for (uint32_t v = 0; v < nodes; ++v) shape.node_of_rank.push_back(NodeIndex(v));
  return shape;
}

}  // namespace

TriggerOverheads DaemonOverheads() { return OverheadsOf({}); }

absl::StatusOr<planner::Prediction> PriceOnTriggers(const schedule::Plan& plan, const CallArguments& call,
                                                    const TriggerOverheads& overheads) {
  std::vector<std::string> names;
  names.reserve(plan.node_count);
  for (uint32_t v = 0; v < plan.node_count; ++v) names.push_back(absl::StrCat("n", v));
  ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names, NodesOf(overheads)));
  ASSIGN_OR_RETURN(const planner::TeamCosts costs,
                   planner::TeamCosts::Create(names, topology, ParametersOf(overheads)));
  return planner::Price(plan, OneRankEach(plan.node_count), costs, call, {.critical_path = false, .post_ns = {}});
}

absl::StatusOr<int64_t> TimeOnTriggers(const std::string& algorithm, uint32_t nodes, const CallArguments& call,
                                       const TriggerOverheads& overheads) {
  ASSIGN_OR_RETURN(const schedule::Plan plan, PlanOver(algorithm, nodes, call));
  ASSIGN_OR_RETURN(const planner::Prediction prediction, PriceOnTriggers(plan, call, overheads));
  return prediction.total_ns;
}

std::vector<PublishedFigure> PublishedFigures() {
  return {{"knomial-4", Collective::kAllreduce, 64, 24'940},
          {"knomial-4", Collective::kAllreduce, 128, 31'210},
          {"knomial-4", Collective::kAllreduce, 256, 38'420},
          {"knomial-8", Collective::kReduce, 128, 5'610},
          {"kary-8", Collective::kReduce, 128, 4'790}};
}

std::vector<PublishedOrdering> PublishedOrderings() {
  const auto knomial = [](int k) { return absl::StrCat("knomial-", k); };
  const auto kary = [](int k) { return absl::StrCat("kary-", k); };
  std::vector<PublishedOrdering> orderings = {{"allreduce: 2-nomial best of k-nomials at 16 to 64 nodes", {}},
                                              {"allreduce: 4-nomial best of k-nomials at 128 and 256 nodes", {}},
                                              {"allreduce: k-ary faster than k-nomial", {}},
                                              {"reduce: larger k faster, k-nomial", {}},
                                              {"reduce: larger k faster, k-ary", {}},
                                              {"reduce: 8-ary faster than 8-nomial at 128 nodes", {}}};
  for (const uint32_t nodes : {16, 32, 64}) {
    for (const int k : {4, 8}) {
      orderings[0].comparisons.push_back({Collective::kAllreduce, nodes, knomial(2), knomial(k)});
    }
  }
  for (const uint32_t nodes : {128, 256}) {
    for (const int k : {2, 8}) {
      orderings[1].comparisons.push_back({Collective::kAllreduce, nodes, knomial(4), knomial(k)});
    }
  }
  for (const uint32_t nodes : {16, 32, 64, 128, 256}) {
    for (const int k : {2, 4, 8}) {
      orderings[2].comparisons.push_back({Collective::kAllreduce, nodes, kary(k), knomial(k)});
    }
    for (const int k : {4, 8}) {
      orderings[3].comparisons.push_back({Collective::kReduce, nodes, knomial(k), knomial(k / 2)});
      orderings[4].comparisons.push_back({Collective::kReduce, nodes, kary(k), kary(k / 2)});
    }
  }
  orderings[5].comparisons.push_back({Collective::kReduce, 128, kary(8), knomial(8)});
  return orderings;
}

absl::StatusOr<Holding> CountHolding(const PublishedOrdering& ordering, const TriggerOverheads& overheads) {
  Holding result;
  for (const PublishedOrdering::Comparison& comparison : ordering.comparisons) {
    const CallArguments call = CallOf(comparison.collective, kPublishedBytes, 0);
    ASSIGN_OR_RETURN(const int64_t faster, TimeOnTriggers(comparison.faster, comparison.nodes, call, overheads));
    ASSIGN_OR_RETURN(const int64_t slower, TimeOnTriggers(comparison.slower, comparison.nodes, call, overheads));
    if (faster < slower) ++result.holding;
    if (faster == slower) ++result.equal;
  }
  return result;
}

absl::StatusOr<TriggerOverheads> FitToPublished(const TriggerOverheads& start) {
  std::vector<planner::Observation> observations;
  for (const PublishedFigure& figure : PublishedFigures()) {
    if (figure.collective != Collective::kAllreduce) continue;
    planner::Observation observation;
    observation.arguments = CallOf(figure.collective, kPublishedBytes, 0);
    observation.shape = OneRankEach(figure.nodes);
    ASSIGN_OR_RETURN(observation.plan, PlanOver(figure.algorithm, figure.nodes, observation.arguments));
    observation.measured_ns = static_cast<double>(figure.ns);
    observations.push_back(std::move(observation));
  }
  planner::ClusterCosts costs{.parameters = ParametersOf(start), .nodes = NodesOf(start)};
  ASSIGN_OR_RETURN(const planner::Calibration fit, planner::Calibrate(observations, costs));
  return OverheadsOf(fit.costs);
}

std::vector<TriggerOverheads> OverheadGrid() {
  std::vector<TriggerOverheads> grid;
  for (const int64_t send : {100, 1'000, 10'000}) {
    for (const int64_t receive : {100, 1'000, 10'000}) {
      for (const int64_t transfer : {100, 1'000, 10'000, 100'000}) {
        grid.push_back({.send_ns = send, .transfer_ns = transfer, .receive_ns = receive});
      }
    }
  }
  return grid;
}

}  // namespace copse::simcli
