// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/mgo_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "cli/perftest/statistics.h"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/trees/block_tree.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/topology/generate.h"
#include "planner/topology/topology.h"

namespace copse::bench {
namespace {

constexpr uint32_t kNodes[] = {4, 8, 16, 32, 64, 128, 256, 512};
constexpr uint32_t kNodesQuickMax = 32;
constexpr uint64_t kSeeds = 40, kSeedsQuick = 3;
constexpr uint64_t kShort = 1024, kLong = 102'400;

constexpr const char* kPublishedAlgorithms[] = {"FT", "BT", "FEF", "FCEF", "LA", "MGO"};
constexpr double kPublishedMs[][6] = {
    {952.3, 1101.4, 1176.89, 1089.23, 1080.26, 868.15},      {1875.86, 1808.43, 2215.94, 1897, 1813.38, 1359.98},
    {3691.08, 2551.2, 3977.41, 2747.5, 2836.58, 1838.55},    {7035.98, 3307.44, 6206.96, 3396.18, 3540.57, 1964.7},
    {13647.26, 3900.3, 10209.58, 4185.06, 4360.98, 2067.95}, {26685.98, 4825.95, 15130.92, 4567.74, 5071.14, 2139.8},
    {53447.26, 5962.87, 21916.77, 5116.04, 5561.21, 2242.4}, {105479.94, 7150.52, 32858.43, 5626.32, 5789.99, 2265.62},
};

// How an algorithm counts while it chooses edges. What a tree takes is always counted by the paper's section 3.1.
enum class Choosing : uint8_t {
  kSound,    // by section 3.1
  kBhat,     // a sender is busy until the transfer's end, as in the paper of FCEF and LA
  kNetwork,  // the same, and overheads are left out: edges cost latency and rate alone
};
constexpr const char* kChoosingNames[] = {"sound", "bhat", "network"};

struct Method {
  const char* name;       // in the paper
  const char* algorithm;  // in planner/algorithms
  Choosing choosing;
};
// Trees by number and FEF do not count at all, and MGO is defined by section 3.1.
constexpr Method kMethods[] = {
    {"FT", "FT", Choosing::kSound},
    {"BT", "BT", Choosing::kSound},
    {"FEF", "FEF_latency", Choosing::kSound},
    {"FEF", "FEF_cost", Choosing::kSound},
    {"FCEF", "FCEF", Choosing::kSound},
    {"FCEF", "FCEF_bhat", Choosing::kBhat},
    {"FCEF", "FCEF_bhat", Choosing::kNetwork},
    {"LA", "LA", Choosing::kSound},
    {"LA", "LA_bhat", Choosing::kBhat},
    {"LA", "LA_bhat", Choosing::kNetwork},
    {"MGO", "MGO", Choosing::kSound},
    {"MGO_jackson", "MGO_jackson", Choosing::kSound},
    {"best", "best", Choosing::kSound},
};
constexpr size_t kMethodCount = std::size(kMethods);

struct Operation {
  const char* name;
  const char* collective;
  uint64_t bytes;  // of the message, or of a node's block
  bool in_table;   // the paper has figures; else it says that its curves look alike
  std::optional<planner::BlockCollective> blocks = std::nullopt;
};
constexpr Operation kOperations[] = {
    {"bcast 1 kB", "bcast", kShort, true},
    {"bcast 100 kB", "bcast", kLong, false},
    {"scatter 1 kB", "scatter", kShort, false, planner::BlockCollective::kScatter},
    {"gather 1 kB", "gather", kShort, false, planner::BlockCollective::kGather},
    {"allgather 1 kB", "allgather", kShort, false, planner::BlockCollective::kAllgather},
};

// The same cluster whose nodes need no time of their own: 1 ns, since a topology has none without.
absl::StatusOr<topology::Topology> WithoutOverheads(const topology::Topology& cluster) {
  std::vector<topology::Node> nodes = cluster.nodes();
  for (topology::Node& node : nodes) node.overhead_ns = node.receive_overhead_ns = 1;
  return topology::Topology::Create(cluster.switches(), std::move(nodes), cluster.costs());
}

// What a method's tree takes, by the costs as they are; `chosen_by` are those that it counts.
absl::StatusOr<int64_t> BroadcastNs(const char* algorithm, const planner::BroadcastCosts& chosen_by,
                                    const planner::BroadcastCosts& costs) {
  ASSIGN_OR_RETURN(const auto tree, planner::BuildBroadcast(algorithm, chosen_by, 0));
  return planner::Completion(costs, tree.edges);
}

absl::StatusOr<int64_t> BlocksNs(const char* algorithm, planner::BlockCollective collective,
                                 const planner::BlockCosts& chosen_by, const planner::BlockCosts& costs) {
  ASSIGN_OR_RETURN(const auto trees, planner::BuildBlockTrees(algorithm, chosen_by, collective, 0));
  return planner::BlockCompletion(costs, trees, collective);
}

// By method.
absl::StatusOr<std::vector<double>> TimesMs(const Operation& operation, uint32_t nodes, uint64_t seed) {
  ASSIGN_OR_RETURN(const auto cluster, topology::GenerateTopology("mgo", nodes, seed));
  ASSIGN_OR_RETURN(const auto bare_cluster, WithoutOverheads(cluster));
  ASSIGN_OR_RETURN(const auto costs, planner::BlockCosts::Create(&cluster, operation.bytes));
  ASSIGN_OR_RETURN(const auto bare_costs, planner::BlockCosts::Create(&bare_cluster, operation.bytes));
  std::vector<double> times_ms;
  for (const Method& method : kMethods) {
    const auto& chosen_by = method.choosing == Choosing::kNetwork ? bare_costs : costs;
    const absl::StatusOr<int64_t> ns = operation.blocks.has_value()
                                           ? BlocksNs(method.algorithm, *operation.blocks, chosen_by, costs)
                                           : BroadcastNs(method.algorithm, chosen_by.OfOne(), costs.OfOne());
    RETURN_IF_ERROR(ns.status());
    times_ms.push_back(1e-6 * static_cast<double>(*ns));
  }
  return times_ms;
}

Row EmptyRow(const Operation& operation, uint32_t nodes) {
  return {.bench = "mgo-table",
          .what = operation.name,
          .collective = operation.collective,
          .nodes = nodes,
          .ppn = 1,
          .bytes = operation.bytes,
          .seed = 1};
}

std::string CaseOf(const Operation& operation, const Method& method) {
  return absl::StrCat(operation.name, ", ", kChoosingNames[static_cast<size_t>(method.choosing)]);
}

Row PublishedRow(const Operation& operation, uint32_t nodes, const std::string& algorithm, double ms) {
  Row row = EmptyRow(operation, nodes);
  row.what = absl::StrCat(operation.name, ", published");
  row.system = row.algorithm = algorithm;
  row.seed = 0;
  row.note = "table 1 of the paper; its clusters and seeds are not published";
  return Figure(row, "mean time", "ms", {ms});
}

// The mean of each method, which is what was published.
Row MeanRow(const Operation& operation, uint32_t nodes, const Method& method, const std::vector<double>& ms) {
  Row row = EmptyRow(operation, nodes);
  row.what = CaseOf(operation, method);
  row.system = method.name;
  row.algorithm = method.algorithm;
  row = Figure(row, "mean time", "ms", ms);
  row.median = perftest::Mean(ms);
  row.note = absl::StrFormat("the mean of seeds 1 to %d, in place of the median", ms.size());
  const std::optional<double> published = operation.in_table ? PublishedMs(method.name, nodes) : std::nullopt;
  if (published) {
    absl::StrAppendFormat(&row.note, "; published %g, here %+.0f %%", *published, 100 * (row.median / *published - 1));
  }
  return row;
}

// What MGO is beside each method, for one operation over all numbers of nodes.
class Improvements {
 public:
  void Add(uint32_t nodes, const std::vector<std::vector<double>>& times_ms) {
    nodes_.push_back(nodes);
    for (size_t c = 0; c < kMethodCount; ++c) mean_ms_[c].push_back(perftest::Mean(times_ms[c]));
  }

  void Report(const Operation& operation, uint32_t seeds, const Reporter& report) const {
    for (size_t c = 0; c < kMethodCount; ++c) {
      const Method& method = kMethods[c];
      if (std::string(method.name) == "MGO") continue;
      std::vector<double> percent;
      for (size_t i = 0; i < nodes_.size(); ++i) percent.push_back(100 * (1 - mean_ms_[kMgo][i] / mean_ms_[c][i]));
      for (const bool most : {false, true}) {
        const auto extreme =
            most ? std::max_element(percent.begin(), percent.end()) : std::min_element(percent.begin(), percent.end());
        Row row = EmptyRow(operation, nodes_[static_cast<size_t>(extreme - percent.begin())]);
        row.what = absl::StrCat(operation.name, ", MGO beside ", method.algorithm, ", ",
                                kChoosingNames[static_cast<size_t>(method.choosing)]);
        row.system = "copse";
        row.algorithm = "MGO";
        row = Figure(row, most ? "most improvement" : "least improvement", "%", {*extreme});
        row.runs = seeds;
        row.note = absl::StrFormat("of means over seeds 1 to %d, %d to %d nodes", seeds, nodes_.front(), nodes_.back());
        if (const auto published = PublishedImprovement(method.name)) {
          absl::StrAppendFormat(&row.note, "; %s %g", operation.in_table ? "published" : "of 1 kB was published",
                                most ? published->most : published->least);
        }
        report(row);
      }
    }
  }

  static constexpr size_t kMgo = kMethodCount - 3;

 private:
  std::vector<uint32_t> nodes_;
  std::vector<double> mean_ms_[kMethodCount];
};
static_assert(std::string_view(kMethods[Improvements::kMgo].algorithm) == "MGO");

// MGO / FT of each cluster.
Row RatioRow(const Operation& operation, uint32_t nodes, const std::vector<std::vector<double>>& times_ms) {
  constexpr size_t kFlat = 0;
  Row row = EmptyRow(operation, nodes);
  row.what = absl::StrCat(operation.name, ", sound");
  row.system = "copse";
  row.algorithm = "MGO";
  row.peer = "FT";
  row.metric = "ratio";
  std::vector<double> ratios;
  for (size_t i = 0; i < times_ms[kFlat].size(); ++i) {
    ratios.push_back(times_ms[Improvements::kMgo][i] / times_ms[kFlat][i]);
  }
  Summarize(ratios, &row);
  row.note =
      absl::StrFormat("of means %.4f", perftest::Mean(times_ms[Improvements::kMgo]) / perftest::Mean(times_ms[kFlat]));
  if (operation.in_table) {
    absl::StrAppendFormat(&row.note, "; published %.4f", *PublishedMs("MGO", nodes) / *PublishedMs("FT", nodes));
  }
  return row;
}

absl::Status RunOperation(const Operation& operation, const Options& options, const Reporter& report) {
  const uint64_t seeds = options.quick ? kSeedsQuick : kSeeds;
  Improvements improvements;
  bool all = true;
  for (const uint32_t nodes : kNodes) {
    if (options.quick && nodes > kNodesQuickMax) continue;
    if (!Wanted(options, EmptyRow(operation, nodes))) {
      all = false;
      continue;
    }
    std::vector<std::vector<double>> times_ms(kMethodCount);
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      ASSIGN_OR_RETURN(const std::vector<double> of_seed, TimesMs(operation, nodes, seed));
      for (size_t c = 0; c < kMethodCount; ++c) times_ms[c].push_back(of_seed[c]);
    }
    for (const char* algorithm : kPublishedAlgorithms) {
      if (!operation.in_table) break;
      report(PublishedRow(operation, nodes, algorithm, *PublishedMs(algorithm, nodes)));
    }
    for (size_t c = 0; c < kMethodCount; ++c) report(MeanRow(operation, nodes, kMethods[c], times_ms[c]));
    report(RatioRow(operation, nodes, times_ms));
    improvements.Add(nodes, times_ms);
  }
  if (all) improvements.Report(operation, static_cast<uint32_t>(seeds), report);
  return absl::OkStatus();
}

}  // namespace

std::optional<double> PublishedMs(const std::string& algorithm, uint32_t nodes) {
  for (size_t line = 0; line < std::size(kNodes); ++line) {
    for (size_t column = 0; column < std::size(kPublishedAlgorithms); ++column) {
      if (kNodes[line] == nodes && algorithm == kPublishedAlgorithms[column]) return kPublishedMs[line][column];
    }
  }
  return std::nullopt;
}

std::optional<PublishedRange> PublishedImprovement(const std::string& algorithm) {
  if (algorithm == "FT") return PublishedRange{9, 98};
  if (algorithm == "BT") return PublishedRange{21, 68};
  if (algorithm == "FEF") return PublishedRange{26, 93};
  if (algorithm == "FCEF") return PublishedRange{20, 60};
  if (algorithm == "LA") return PublishedRange{20, 61};
  return std::nullopt;
}

absl::Status RunMgoTable(const Options& options, const Contest&, const Reporter& report) {
  for (const Operation& operation : kOperations) RETURN_IF_ERROR(RunOperation(operation, options, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
