// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/verbs.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "cli/command_line/table.h"
#include "cli/sim/barrier_model.h"
#include "cli/sim/cluster_source.h"
#include "cli/sim/options.h"
#include "cli/sim/plan_file.h"
#include "cli/sim/plan_maker.h"
#include "cli/sim/progress.h"
#include "cli/sim/text.h"
#include "nlohmann/json.hpp"

namespace copse::simcli {
namespace {

using Json = nlohmann::ordered_json;

// The text lists the times of up to this many ranks one by one.
constexpr uint32_t kShownRanksMax = 64;
// Overheads of a hardware trigger unit, from which the fit starts: only the three that the patent measures are above 0.
constexpr TriggerOverheads kHardware = {.send_ns = 300, .transfer_ns = 1'000, .receive_ns = 300};

struct OverheadOption {
  const char* name;
  const char* help;
  int64_t TriggerOverheads::*member;
};
constexpr OverheadOption kOverheadOptions[] = {
    {"send", "that a packet occupies its sender", &TriggerOverheads::send_ns},
    {"transfer", "from then until it is at the receiver", &TriggerOverheads::transfer_ns},
    {"receive", "that it occupies the receiver; 0: as the sender", &TriggerOverheads::receive_ns},
    {"arm", "a descriptor's, before the call", &TriggerOverheads::arm_ns},
    {"wake", "before a sleeping unit or process does anything", &TriggerOverheads::wake_ns},
    {"client-hop", "a process's own work to post, and to take up its result", &TriggerOverheads::client_hop_ns}};

struct TreeTime {
  uint32_t nodes = 0;
  std::string algorithm;
  int64_t ns = 0;
  bool best = false;  // fastest for its number of nodes
};
struct FigureRow {
  PublishedFigure figure;
  int64_t model_ns = 0;
};
struct OrderingRow {
  std::string what;
  Holding holding;
  uint32_t comparisons = 0;
  uint32_t grid_all = 0, grid = 0;  // OverheadGrid: points at which all comparisons hold, and all points
};
struct Report {
  TriggerOverheads overheads;
  bool fitted = false;
  CallArguments call;
  std::vector<TreeTime> trees;
  std::optional<planner::Prediction> plan;
  std::vector<FigureRow> figures;
  std::vector<OrderingRow> orderings;
};

absl::StatusOr<TriggerOverheads> ReadOverheads(const Arguments& arguments) {
  TriggerOverheads overheads = arguments.Has("published") ? kHardware : DaemonOverheads();
  bool any = false;
  for (const OverheadOption& option : kOverheadOptions) any |= arguments.Has(option.name);
  if (any) overheads = {};  // overheads that are not given are 0
  for (const OverheadOption& option : kOverheadOptions) {
    ASSIGN_OR_RETURN(overheads.*option.member, DurationOption(arguments, option.name, overheads.*option.member));
    if (overheads.*option.member > planner::kCostParameterMax) {
      return absl::InvalidArgumentError(absl::StrCat(option.name, ": out of range (ns=", overheads.*option.member,
                                                     ", limit=", planner::kCostParameterMax, ")"));
    }
  }
  if (overheads.send_ns <= 0) {
    return absl::InvalidArgumentError("send: a packet's sending takes time (ns=0, least=1)");
  }
  if (overheads.transfer_ns < 2) {  // a path has two links, each of which needs at least 1 ns
    return absl::InvalidArgumentError(
        absl::StrCat("transfer: a packet's way takes time (ns=", overheads.transfer_ns, ", least=2)"));
  }
  if (overheads.receive_ns == 0) overheads.receive_ns = overheads.send_ns;
  return overheads;
}

absl::Status PriceTrees(const Arguments& arguments, Progress* progress, Report* report) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> nodes,
                   NumberListOption(arguments, "nodes", "16,32,64,128,256,512,1024", 1, 1u << 17));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> fanouts, NumberListOption(arguments, "fanouts", "2,4,8", 2, 1u << 17));
  std::vector<std::string> algorithms;
  for (const uint64_t k : fanouts) algorithms.push_back(absl::StrCat("knomial-", k));
  for (const uint64_t k : fanouts) algorithms.push_back(absl::StrCat("kary-", k));
  for (const uint64_t n : nodes) {
    const size_t first = report->trees.size();
    for (const std::string& algorithm : algorithms) {
      TreeTime tree{.nodes = static_cast<uint32_t>(n), .algorithm = algorithm};
      ASSIGN_OR_RETURN(tree.ns, TimeOnTriggers(algorithm, tree.nodes, report->call, report->overheads));
      report->trees.push_back(std::move(tree));
      progress->Tell(report->trees.size(), nodes.size() * algorithms.size());
    }
    std::min_element(report->trees.begin() + static_cast<ptrdiff_t>(first), report->trees.end(),
                     [](const TreeTime& a, const TreeTime& b) { return a.ns < b.ns; })
        ->best = true;
  }
  return absl::OkStatus();
}

absl::Status PricePlan(const Arguments& arguments, Report* report) {
  const std::string file = arguments.Text("plan");
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kPlanFileBytesMax));
  ASSIGN_OR_RETURN(NamedPlan named, ParsePlanFile(text, file));
  // The plan's collective and sizes are replaced by those of the requested call, which any tree can carry.
  named.plan.collective = report->call.collective;
  named.plan.bytes_min = 0;
  named.plan.bytes_max = report->call.collective == Collective::kBarrier ? 0 : schedule::kMessageBytesMax;
  named.plan.segment_bytes = report->call.collective == Collective::kBarrier ? 0 : schedule::kSegmentBytesUsual;
  ASSIGN_OR_RETURN(report->plan, PriceOnTriggers(named.plan, report->call, report->overheads));
  return absl::OkStatus();
}

absl::Status ComparePublished(Progress* progress, Report* report) {
  for (const PublishedFigure& figure : PublishedFigures()) {
    FigureRow row{.figure = figure};
    ASSIGN_OR_RETURN(row.model_ns, TimeOnTriggers(figure.algorithm, figure.nodes, CallOf(figure.collective, 48, 0),
                                                  report->overheads));
    report->figures.push_back(std::move(row));
  }
  const std::vector<TriggerOverheads> grid = OverheadGrid();
  const std::vector<PublishedOrdering> orderings = PublishedOrderings();
  for (const PublishedOrdering& ordering : orderings) {
    OrderingRow row{.what = ordering.what, .comparisons = static_cast<uint32_t>(ordering.comparisons.size())};
    ASSIGN_OR_RETURN(row.holding, CountHolding(ordering, report->overheads));
    for (const TriggerOverheads& overheads : grid) {
      ASSIGN_OR_RETURN(const Holding holding, CountHolding(ordering, overheads));
      if (holding.holding == row.comparisons) ++row.grid_all;
      ++row.grid;
      progress->Tell(report->orderings.size() * grid.size() + row.grid, orderings.size() * grid.size());
    }
    report->orderings.push_back(std::move(row));
  }
  return absl::OkStatus();
}

Json ToJson(const Report& report) {
  Json overheads;
  for (const OverheadOption& option : kOverheadOptions) {
    std::string key = absl::StrCat(option.name, "_ns");
    std::replace(key.begin(), key.end(), '-', '_');
    overheads[key] = report.overheads.*option.member;
  }
  Json json = {{"collective", std::string(CollectiveName(report.call.collective))},
               {"overheads", std::move(overheads)},
               {"fitted", report.fitted},
               {"trees", Json::array()}};
  for (const TreeTime& tree : report.trees) {
    json["trees"].push_back(
        {{"nodes", tree.nodes}, {"algorithm", tree.algorithm}, {"ns", tree.ns}, {"best", tree.best}});
  }
  if (report.plan.has_value()) json["plan"] = {{"ns", report.plan->total_ns}, {"ranks_ns", report.plan->completion_ns}};
  if (report.figures.empty()) return json;
  json["figures"] = Json::array();
  for (const FigureRow& row : report.figures) {
    json["figures"].push_back({{"collective", std::string(CollectiveName(row.figure.collective))},
                               {"algorithm", row.figure.algorithm},
                               {"nodes", row.figure.nodes},
                               {"published_ns", row.figure.ns},
                               {"model_ns", row.model_ns}});
  }
  json["orderings"] = Json::array();
  for (const OrderingRow& row : report.orderings) {
    json["orderings"].push_back({{"what", row.what},
                                 {"holding", row.holding.holding},
                                 {"equal", row.holding.equal},
                                 {"comparisons", row.comparisons},
                                 {"grid_holding", row.grid_all},
                                 {"grid", row.grid}});
  }
  return json;
}

std::string OverheadsText(const Report& report) {
  std::string text = report.fitted ? "overheads (fitted to the published allreduce figures):" : "overheads:";
  for (const OverheadOption& option : kOverheadOptions) {
    absl::StrAppend(&text, " ", option.name, " ", report.overheads.*option.member, " ns");
  }
  return absl::StrCat(text, "\n");
}

std::string PublishedText(const Report& report) {
  cli::TableRows rows = {{"PUBLISHED, 48 B", "NODES>", "THERE>", "MODEL>", "DIFFERENCE>"}};
  for (const FigureRow& row : report.figures) {
    rows.push_back({absl::StrCat(AbslView(CollectiveName(row.figure.collective)), " ", row.figure.algorithm),
                    absl::StrCat(row.figure.nodes), FormatNs(static_cast<double>(row.figure.ns)),
                    FormatNs(static_cast<double>(row.model_ns)),
                    FormatDifference(static_cast<double>(row.model_ns), static_cast<double>(row.figure.ns))});
  }
  std::string text = absl::StrCat("\n", cli::RenderTable(rows));
  rows = {{"ORDERING", "HOLDS>", "EQUAL>", "OVERHEADS FOR WHICH ALL OF IT HOLDS>"}};
  for (const OrderingRow& row : report.orderings) {
    rows.push_back({row.what, absl::StrCat(row.holding.holding, " of ", row.comparisons),
                    absl::StrCat(row.holding.equal), absl::StrCat(row.grid_all, " of ", row.grid)});
  }
  absl::StrAppend(&text, "\n", cli::RenderTable(rows), "\nWhere the model fails:\n");
  const size_t before = text.size();
  // In the model each level of the tree adds equal work. The growth from 64 to 256 nodes shows whether this is true of
  // the figures.
  const FigureRow *small = nullptr, *large = nullptr;
  for (const FigureRow& row : report.figures) {
    if (row.figure.collective != Collective::kAllreduce) continue;
    if (small == nullptr || row.figure.nodes < small->figure.nodes) small = &row;
    if (large == nullptr || row.figure.nodes > large->figure.nodes) large = &row;
  }
  const auto growth = [](int64_t from, int64_t to) {
    return (static_cast<double>(to) / static_cast<double>(from) - 1) * 100;
  };
  const double there = growth(small->figure.ns, large->figure.ns), here = growth(small->model_ns, large->model_ns);
  if (here < 0.9 * there) {
    absl::StrAppendFormat(
        &text,
        "- allreduce grows by %.0f %% from %d to %d nodes, by %.0f %% here, where each level of a tree "
        "costs the same\n",
        there, small->figure.nodes, large->figure.nodes, here);
  }
  for (const FigureRow& row : report.figures) {
    const double off = growth(row.figure.ns, row.model_ns);
    if (row.figure.collective != Collective::kReduce || std::abs(off) < 25) continue;
    absl::StrAppendFormat(
        &text,
        "- reduce %s at %d nodes: %+.0f %%, until the root has the result. There a reduce takes a sixth "
        "of an allreduce, which has it as its first half: another time may be meant, such as the mean "
        "over ranks, most of which only send\n",
        row.figure.algorithm, row.figure.nodes, off);
  }
  for (const OrderingRow& row : report.orderings) {
    if (row.holding.holding == row.comparisons) continue;
    absl::StrAppend(&text, "- ", row.what, ": ", row.comparisons - row.holding.holding, " of ", row.comparisons,
                    " not; ",
                    row.grid_all == 0 ? "and for no overheads that were tried" : "for other overheads it is so", "\n");
  }
  if (text.size() == before) absl::StrAppend(&text, "- nowhere\n");
  return text;
}

std::string ToText(const Report& report) {
  std::string text = OverheadsText(report);
  if (report.plan.has_value()) {
    absl::StrAppend(&text, "plan: ", report.plan->total_ns, " ns\n");
    cli::TableRows rows = {{"NODE", "TIME>"}};
    const std::vector<int64_t>& times = report.plan->completion_ns;
    for (size_t r = 0; r < std::min<size_t>(times.size(), kShownRanksMax); ++r) {
      rows.push_back({absl::StrCat(r), absl::StrCat(times[r], " ns")});
    }
    absl::StrAppend(&text, cli::RenderTable(rows));
    if (times.size() > kShownRanksMax) absl::StrAppend(&text, "and ", times.size() - kShownRanksMax, " more\n");
    return text;
  }
  cli::TableRows rows = {{"NODES", "BEST"}};
  uint32_t nodes = 0;
  for (const TreeTime& tree : report.trees) {
    if (tree.nodes == report.trees.front().nodes) rows[0].push_back(tree.algorithm + ">");
    if (rows.size() == 1 || tree.nodes != nodes) {
      rows.push_back({absl::StrCat(tree.nodes), ""});
      nodes = tree.nodes;
    }
    if (tree.best) rows.back()[1] = tree.algorithm;
    rows.back().push_back(FormatNs(static_cast<double>(tree.ns)));
  }
  absl::StrAppend(&text, cli::RenderTable(rows));
  if (!report.figures.empty()) absl::StrAppend(&text, PublishedText(report));
  return text;
}

absl::Status RunBarrier(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  Report report;
  Progress progress(&err, "prices");
  ASSIGN_OR_RETURN(const Collective collective, CollectiveOption(arguments, "barrier"));
  ASSIGN_OR_RETURN(const uint64_t bytes, BytesOption(arguments, "bytes", 48));
  if (bytes > schedule::kMessageBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes: too many (bytes=", bytes, ", limit=", schedule::kMessageBytesMax, ")"));
  }
  report.call = CallOf(collective, bytes, 0);
  ASSIGN_OR_RETURN(report.overheads, ReadOverheads(arguments));
  if (arguments.Has("fit")) {
    ASSIGN_OR_RETURN(report.overheads, FitToPublished(report.overheads));
    report.fitted = true;
  }
  if (arguments.Has("plan")) {
    RETURN_IF_ERROR(PricePlan(arguments, &report));
  } else {
    RETURN_IF_ERROR(PriceTrees(arguments, &progress, &report));
  }
  if (arguments.Has("published")) RETURN_IF_ERROR(ComparePublished(&progress, &report));
  out << (WantsJson(arguments) ? ToJson(report).dump(2) + "\n" : ToText(report));
  return absl::OkStatus();
}

}  // namespace

Verb BarrierVerb() {
  std::vector<Parameter> options;
  for (const OverheadOption& option : kOverheadOptions) options.push_back({option.name, "TIME", option.help});
  const std::vector<Parameter> own = {
      {"collective", "NAME", "default barrier"},
      {"bytes", "B", "of a reduce, allreduce or bcast; default 48"},
      {"nodes", "LIST", "default 16,32,64,128,256,512,1024"},
      {"fanouts", "LIST", "k of the k-nomial and k-ary trees; default 2,4,8"},
      {"plan", "FILE", "price this tree instead, each node's time"},
      {"published", "", "compare with the figures and orderings of the paper on triggered operations"},
      {"fit", "", "first fit the overheads to its allreduce figures"}};
  options.insert(options.end(), own.begin(), own.end());
  return {.name = "barrier",
          .help = "price trees on a trigger unit by its overheads, and pick the best",
          .options = options,
          .run = RunBarrier};
}

}  // namespace copse::simcli
