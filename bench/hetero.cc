// SPDX-License-Identifier: Apache-2.0
//
// Collectives over a wide area: what knowing the network is worth, and whether the model foresees it.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/analyses.h"
#include "bench/plans.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"

namespace copse::bench {
namespace {

constexpr char kBest[] = "copse-best";
constexpr double kProbeSeconds = 60;
constexpr absl::Duration kProbePatience = absl::Seconds(90);
constexpr absl::Duration kImportPatience = absl::Seconds(10);

// What the model says of the very plan that serves the call, one rank a node, all entering it together.
absl::StatusOr<double> PredictUs(const schedule::Plan& plan, const topology::Topology& topology, uint64_t bytes) {
  schedule::TeamShape shape;
  std::vector<std::string> names;
  for (const topology::Node& node : topology.nodes()) {
    shape.node_of_rank.push_back(NodeIndex(shape.node_count++));
    names.push_back(node.name);
  }
  ASSIGN_OR_RETURN(const planner::TeamCosts costs, planner::TeamCosts::Create(names, topology, topology.costs()));
  const CallArguments call = {.collective = plan.collective, .count = bytes};
  ASSIGN_OR_RETURN(const planner::Prediction prediction, planner::Price(plan, shape, costs, call));
  return static_cast<double>(prediction.total_ns) / 1e3;
}

class PredictionAnalysis final : public Analysis {
 public:
  // All planners get the sites with the figures that daemons measured, of links and of nodes.
  absl::Status Prepare(const Options&, const Testbeds& testbeds, Contest*) override {
    v1::ProbeTopologyRequest request;
    request.set_tree("known");
    request.set_seconds(kProbeSeconds);
    ASSIGN_OR_RETURN(const v1::ProbeTopologyReply probed,
                     testbeds.front()->cluster()->admin().ProbeTopology(request, kProbePatience));
    for (const auto& testbed : testbeds) {
      RETURN_IF_ERROR(testbed->cluster()->admin().ImportTopology(probed.topology(), kImportPatience).status());
    }
    ASSIGN_OR_RETURN(topology_, topology::ParseTopologyYaml(probed.topology(), "probe"));
    return absl::OkStatus();
  }
  absl::Status OnPlan(const std::string& system, const Case& what, const Testbed::PlanSummary&,
                      Testbed* testbed) override {
    if (system != kBest) return absl::OkStatus();
    ASSIGN_OR_RETURN(const schedule::Plan plan,
                     ReadPlan(testbed->cluster()->admin(), *CollectiveFromName(what.row.collective), what.row.bytes));
    ASSIGN_OR_RETURN(predicted_us_[what.row.what], PredictUs(plan, *topology_, what.row.bytes));
    return absl::OkStatus();
  }
  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    const auto predicted = predicted_us_.find(row.what);
    if (row.system != kBest || row.metric != "latency" || predicted == predicted_us_.end()) return;
    Row error = row;
    error.note = absl::StrFormat("predicted %.0f us, measured %.0f us", predicted->second, row.median);
    report(
        Figure(error, "prediction error", "%", {100 * std::abs(row.median - predicted->second) / predicted->second}));
  }

 private:
  std::optional<topology::Topology> topology_;
  std::map<std::string, double> predicted_us_;  // of kBest, by case
};

}  // namespace

std::unique_ptr<Analysis> NewPredictionAnalysis() { return std::make_unique<PredictionAnalysis>(); }

}  // namespace copse::bench
