// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/verbs.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/sim/cluster_source.h"
#include "cli/sim/options.h"
#include "cli/sim/plan_maker.h"
#include "cli/sim/plot.h"
#include "cli/sim/progress.h"
#include "cli/sim/sweep.h"
#include "cli/sim/text.h"
#include "collectives/call_arguments.h"
#include "nlohmann/json.hpp"
#include "planner/algorithms/trees/block_tree.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "schedule/plan.h"

namespace copse::simcli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAlgorithms[] = "ft,bt,fef-cost,fcef,la,mgo,best";

// An Axis is the variable on the horizontal axis.
enum class Axis : uint8_t { kNodes, kBytes };

// Returns a topology of the first `nodes` nodes of `whole` and all of its switches. Errors: INVALID_ARGUMENT if it has
// fewer nodes.
absl::StatusOr<topology::Topology> FirstNodes(const topology::Topology& whole, uint32_t nodes) {
  if (nodes > whole.nodes().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes: more than the topology has (nodes=", nodes, ", limit=", whole.nodes().size(), ")"));
  }
  std::vector<topology::Node> some(whole.nodes().begin(), whole.nodes().begin() + nodes);
  return topology::Topology::Create(whole.switches(), std::move(some), whole.costs());
}

absl::StatusOr<SweepRequest> ReadRequest(const Arguments& arguments, Axis axis) {
  SweepRequest request;
  if (arguments.Has("topology") == arguments.Has("generate")) {
    return absl::InvalidArgumentError("usage: one of --topology and --generate is needed; try --help");
  }
  const bool is_file = arguments.Has("topology");
  uint32_t nodes_limit = topology::kNodeCountMax;
  if (is_file) {
    ASSIGN_OR_RETURN(topology::Topology whole, LoadCluster(arguments));
    nodes_limit = static_cast<uint32_t>(whole.nodes().size());
    // All points use the first nodes of one topology.
    auto shared = std::make_shared<const topology::Topology>(std::move(whole));
    request.cluster = [shared](uint32_t nodes, uint64_t) { return FirstNodes(*shared, nodes); };
    if (arguments.Has("seeds")) {
      return absl::InvalidArgumentError("seeds: a topology file has none (option=--seeds)");
    }
    request.seeds = {1};
  } else {
    const std::string name = arguments.Text("generate");
    request.cluster = [name](uint32_t nodes, uint64_t seed) {
      return Generate({.name = name, .nodes = nodes, .seed = seed});
    };
    ASSIGN_OR_RETURN(request.seeds, NumberListOption(arguments, "seeds", "1-10", 0, ~uint64_t{0}));
  }
  ASSIGN_OR_RETURN(const std::vector<uint64_t> bytes,
                   BytesListOption(arguments, "bytes", axis == Axis::kNodes ? "1000" : "1,64,1000,8000,64000"));
  const std::string all_nodes = absl::StrCat(nodes_limit);
  const std::string nodes_fallback =
      axis == Axis::kNodes ? (is_file ? all_nodes : "4,8,16,32,64,128,256,512") : (is_file ? all_nodes : "64");
  ASSIGN_OR_RETURN(const std::vector<uint64_t> nodes,
                   NumberListOption(arguments, "nodes", nodes_fallback, 1, nodes_limit));
  const std::vector<uint64_t>& fixed = axis == Axis::kNodes ? bytes : nodes;
  if (fixed.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        axis == Axis::kNodes ? "bytes" : "nodes", ": this verb varies the other (values=", fixed.size(), ", limit=1)"));
  }
  for (const uint64_t n : nodes) {
    for (const uint64_t b : bytes) request.points.push_back({static_cast<uint32_t>(n), b});
  }
  request.algorithms = absl::StrSplit(arguments.Text("algorithms", kAlgorithms), ',', absl::SkipEmpty());
  for (std::string& algorithm : request.algorithms) algorithm = planner::AlgorithmName(algorithm);
  if (request.algorithms.empty()) {
    return absl::InvalidArgumentError("algorithms: none is given (algorithms=0, least=1)");
  }
  request.blocks = planner::BlockCollectiveFromName(arguments.Text("collective"));
  if (!request.blocks.has_value()) {
    ASSIGN_OR_RETURN(request.collective, CollectiveOption(arguments, "bcast", kBlockCollectives));
  }
  ASSIGN_OR_RETURN(const uint64_t ppn, NumberOption(arguments, "ppn", 1, 1, schedule::kLocalRanksMax));
  request.ranks_per_node = static_cast<uint32_t>(ppn);
  ASSIGN_OR_RETURN(const uint64_t root, NumberOption(arguments, "root", 0, 0, 0xffffffff));
  request.root = static_cast<uint32_t>(root);
  ASSIGN_OR_RETURN(request.method, MethodOf(arguments.Text("by", "replay")));
  return request;
}

std::string CollectiveOf(const SweepRequest& request) {
  return std::string(request.blocks.has_value() ? planner::BlockCollectiveName(*request.blocks)
                                                : CollectiveName(request.collective));
}

std::string AxisText(Axis axis, const SweepPoint& point) {
  return axis == Axis::kNodes ? absl::StrCat(point.nodes) : absl::StrCat(point.bytes);
}

std::string ToText(Axis axis, const std::vector<SweepCell>& cells) {
  cli::TableRows rows = {{"ALGORITHM", axis == Axis::kNodes ? "NODES>" : "BYTES>", "RUNS>", "MEAN>", "MEDIAN>", "P10>",
                          "P90>", "LEAST>", "MOST>", "BESIDE FIRST>"}};
  double first_mean_ns = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const SweepCell& cell = cells[i];
    const bool is_first =
        i == 0 || cell.point.nodes != cells[i - 1].point.nodes || cell.point.bytes != cells[i - 1].point.bytes;
    if (is_first) first_mean_ns = cell.mean_ns;
    const auto time = [](int64_t ns) { return FormatNs(static_cast<double>(ns)); };
    rows.push_back({cell.algorithm, AxisText(axis, cell.point), absl::StrCat(cell.runs), FormatNs(cell.mean_ns),
                    time(cell.median_ns), time(cell.p10_ns), time(cell.p90_ns), time(cell.least_ns), time(cell.most_ns),
                    is_first ? "" : FormatDifference(cell.mean_ns, first_mean_ns)});
  }
  return cli::RenderTable(rows);
}

Json ToJson(const SweepRequest& request, const std::vector<SweepCell>& cells) {
  Json json = Json::array();
  for (const SweepCell& cell : cells) {
    json.push_back({{"nodes", cell.point.nodes},
                    {"bytes", cell.point.bytes},
                    {"algorithm", cell.algorithm},
                    {"collective", CollectiveOf(request)},
                    {"by", std::string(MethodName(request.method))},
                    {"runs", cell.runs},
                    {"mean_ns", cell.mean_ns},
                    {"median_ns", cell.median_ns},
                    {"p10_ns", cell.p10_ns},
                    {"p90_ns", cell.p90_ns},
                    {"least_ns", cell.least_ns},
                    {"most_ns", cell.most_ns},
                    {"deviation_ns", cell.deviation_ns}});
  }
  return json;
}

Plot PlotOf(Axis axis, const SweepRequest& request, const std::vector<SweepCell>& cells, const std::string& cluster) {
  const SweepPoint& point = request.points.front();
  Plot plot;
  plot.title = absl::StrCat(
      CollectiveOf(request), ", ",
      axis == Axis::kNodes ? FormatBytes(static_cast<int64_t>(point.bytes)) : absl::StrCat(point.nodes, " nodes"), ", ",
      cluster, ", by ", AbslView(MethodName(request.method)), ": median of ", request.seeds.size(),
      " seeds, bars p10 to p90");
  plot.x_title = axis == Axis::kNodes ? "nodes" : "bytes";
  for (const std::string& algorithm : request.algorithms) {
    PlotSeries series{.name = algorithm, .points = {}};
    for (const SweepCell& cell : cells) {
      if (cell.algorithm != algorithm) continue;
      series.points.push_back({static_cast<double>(axis == Axis::kNodes ? cell.point.nodes : cell.point.bytes),
                               static_cast<double>(cell.p10_ns), static_cast<double>(cell.median_ns),
                               static_cast<double>(cell.p90_ns)});
    }
    std::sort(series.points.begin(), series.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    plot.series.push_back(std::move(series));
  }
  return plot;
}

absl::Status RunSweep(Axis axis, const Arguments& arguments, std::ostream& out, std::ostream& err) {
  ASSIGN_OR_RETURN(SweepRequest request, ReadRequest(arguments, axis));
  Progress progress(&err, "plans");
  request.progress = [&](uint64_t done, uint64_t all) { progress.Tell(done, all); };
  ASSIGN_OR_RETURN(const std::vector<SweepCell> cells, Sweep(request));
  if (arguments.Has("svg") || arguments.Has("png")) {
    const std::string cluster = arguments.Has("generate") ? arguments.Text("generate") : arguments.Text("topology");
    const std::string svg = DrawPlot(PlotOf(axis, request, cells, cluster));
    if (arguments.Has("svg")) RETURN_IF_ERROR(WriteTextFile(arguments.Text("svg"), svg));
    if (arguments.Has("png")) RETURN_IF_ERROR(WritePng(svg, arguments.Text("png")));
  }
  out << (WantsJson(arguments) ? ToJson(request, cells).dump(2) + "\n" : ToText(axis, cells));
  return absl::OkStatus();
}

std::vector<Parameter> Options(Axis axis) {
  return {
      {"topology", "FILE", "the cluster: a topology file; of fewer nodes its first ones"},
      {"generate", "NAME", "clusters made up, one for each seed and number of nodes: flat, mgo, racks or wan"},
      {"nodes", "LIST",
       axis == Axis::kNodes ? "default 4,8,16,32,64,128,256,512, or all of the topology"
                            : "one number; default 64, or all of the topology"},
      {"bytes", "LIST", axis == Axis::kNodes ? "one size; default 1000" : "default 1,64,1000,8000,64000"},
      {"algorithms", "LIST", absl::StrCat("as of run; default ", kAlgorithms)},
      {"seeds", "LIST", "default 1-10"},
      {"by", "HOW", "replay (default): section 3.1 of the MGO paper; costs: the cost model; run: executed"},
      {"collective", "NAME", "default bcast; the replay also knows scatter, gather and allgather, of a rank's block"},
      {"root", "R", "rank; default 0"},
      {"ppn", "N", "ranks on each node; default 1"},
      {"svg", "FILE", "a plot"},
      {"png", "FILE", "a plot; needs rsvg-convert"}};
}

}  // namespace

std::vector<Verb> SweepVerbs() {
  return {{.name = "table",
           .help = "completion of several algorithms against the number of nodes",
           .options = Options(Axis::kNodes),
           .run = [](const Arguments& arguments, std::ostream& out,
                     std::ostream& err) { return RunSweep(Axis::kNodes, arguments, out, err); }},
          {.name = "sweep",
           .help = "completion of several algorithms against the message's size",
           .options = Options(Axis::kBytes),
           .run = [](const Arguments& arguments, std::ostream& out, std::ostream& err) {
             return RunSweep(Axis::kBytes, arguments, out, err);
           }}};
}

}  // namespace copse::simcli
