// SPDX-License-Identifier: Apache-2.0
#include "bench/hetero.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/contest.h"
#include "bench/plan_of.h"
#include "bench/rank_contender.h"
#include "bench/site.h"
#include "bench/wide_area.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin.pb.h"
#include "schedule/plan.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr char kBest[] = "copse-best";
constexpr absl::Duration kTimeMax = absl::Minutes(3);  // of one system but the first
constexpr double kProbeSeconds = 60;
constexpr absl::Duration kProbePatience = absl::Seconds(90);
constexpr absl::Duration kImportPatience = absl::Seconds(10);

struct System {
  const char* name;
  const char* ranks;      // as Site::StartRanks has it
  const char* algorithm;  // of all of Copse's plans; "": the planner's choice
};
constexpr System kSystems[] = {{kBest, "copse", ""},
                               {"copse-mgo", "copse", "mgo"},
                               {"copse-bt", "copse", "bt"},
                               {"openmpi", "openmpi", nullptr},
                               {"mpich", "mpich", nullptr}};

struct Case {
  const char* what;
  RankCell cell;
};
const Case kCases[] = {{"bcast 1 kB", {"together", "bcast", 1'000}},
                       {"bcast 64 kB", {"together", "bcast", 64'000}},
                       {"barrier", {"together", "barrier", 0}},
                       {"allreduce 48 B", {"together", "allreduce", 48}},
                       {"gather 1 kB", {"together", "gather", 1'000}},
                       {"scatter 1 kB", {"together", "scatter", 1'000}},
                       {"allgather 1 kB", {"together", "allgather", 1'000}}};

Row RowOf(const Case& each, uint32_t nodes) {
  Row row;
  row.bench = "hetero";
  row.what = each.what;
  row.collective = each.cell.collective;
  row.nodes = nodes;
  row.ppn = 1;
  row.bytes = each.cell.bytes;
  row.metric = "latency";
  row.unit = "us";
  return row;
}

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

// The sites with the figures that daemons measured, of links and of nodes: all planners get them.
absl::StatusOr<topology::Topology> ProbeFor(const std::vector<std::unique_ptr<Site>>& sites) {
  v1::ProbeTopologyRequest request;
  request.set_tree("known");
  request.set_seconds(kProbeSeconds);
  ASSIGN_OR_RETURN(const v1::ProbeTopologyReply probed,
                   sites.front()->cluster()->admin().ProbeTopology(request, kProbePatience));
  for (const auto& site : sites) {
    RETURN_IF_ERROR(site->cluster()->admin().ImportTopology(probed.topology(), kImportPatience).status());
  }
  return topology::ParseTopologyYaml(probed.topology(), "probe");
}

Row PredictionRow(const Row& measured, double predicted_us) {
  Row row = measured;
  row.metric = "prediction error";
  row.unit = "%";
  const auto error = [&](double us) { return 100 * std::abs(us - predicted_us) / predicted_us; };
  Summarize({error(measured.median)}, &row);
  row.note = absl::StrFormat("predicted %.0f us, measured %.0f us", predicted_us, measured.median);
  return row;
}

}  // namespace

absl::Status RunHetero(const Options& options, const Reporter& report) {
  const topology::Topology told = ThreeSitesAcross();
  const auto nodes = static_cast<uint32_t>(told.nodes().size());
  std::vector<Row> rows;
  std::vector<RankCell> cells;
  for (const Case& each : kCases) {
    const Row row = RowOf(each, nodes);
    if (!Wanted(options, row)) continue;
    rows.push_back(row);
    cells.push_back(each.cell);
  }
  if (rows.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TopologyFile file, TopologyFile::Write(told, options.folder));

  // Each of Copse's systems has a site of its own, since rules are the planner's; MPI libraries run on the first.
  std::vector<std::unique_ptr<Site>> sites;
  for (const System& system : kSystems) {
    if (system.algorithm == nullptr) continue;
    SiteOptions site = {.nodes = nodes, .parent = options.folder, .fabric = file.path()};
    site.algorithm = system.algorithm;
    ASSIGN_OR_RETURN(sites.emplace_back(), Site::Open(site));
  }
  ASSIGN_OR_RETURN(const topology::Topology topology, ProbeFor(sites));
  std::map<std::pair<std::string, uint64_t>, double> predicted_us;  // of kBest, by collective and bytes
  std::vector<std::unique_ptr<RankContender>> contenders;
  std::vector<Contender*> pointers;
  const RankOptions rank_options = {
      .budget = absl::Milliseconds(options.quick ? 200 : 1'500), .calls_max = 50, .cell_timeout = options.cell_timeout};
  for (size_t i = 0; i < std::size(kSystems); ++i) {
    const System& system = kSystems[i];
    Site* const site = sites[i < sites.size() ? i : 0].get();
    const auto start = [site, &system](const std::vector<std::string>& arguments) {
      return site->StartRanks(system.ranks, 1, arguments);
    };
    RankContender::Algorithm algorithm;
    if (system.algorithm != nullptr) {
      algorithm = [&, site](const RankCell& cell) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const schedule::Plan plan,
                         PlanOf(site->cluster()->admin(), *CollectiveFromName(cell.collective), cell.bytes));
        if (&system == kSystems) {
          ASSIGN_OR_RETURN(predicted_us[std::pair(cell.collective, cell.bytes)], PredictUs(plan, topology, cell.bytes));
        }
        return plan.algorithm;
      };
    }
    contenders.push_back(std::make_unique<RankContender>(system.name, start, algorithm, cells, rank_options, nullptr));
    pointers.push_back(contenders.back().get());
  }

  const auto take = WithBetterMpi(2, [&](const Row& row) {
    report(row);
    const auto predicted = predicted_us.find({row.collective, row.bytes});
    if (row.system == kBest && row.metric == "latency" && predicted != predicted_us.end()) {
      report(PredictionRow(row, predicted->second));
    }
  });
  RunContest(rows, pointers,
             {.runs = options.runs > 0 ? options.runs
                      : options.quick  ? 1u
                                       : 5u,
              .time_max = kTimeMax},
             take);
  return absl::OkStatus();
}

}  // namespace copse::bench
