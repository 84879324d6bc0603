// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/verbs.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/sim/cluster/block_data.h"
#include "cli/sim/cluster/plan_run.h"
#include "cli/sim/cluster_source.h"
#include "cli/sim/options.h"
#include "cli/sim/plan_file.h"
#include "cli/sim/plan_maker.h"
#include "cli/sim/progress.h"
#include "cli/sim/run_blocks.h"
#include "cli/sim/text.h"
#include "nlohmann/json.hpp"
#include "planner/algorithms/trees/block_tree.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/pricing/cost_model.h"

namespace copse::simcli {
namespace {

using Json = nlohmann::ordered_json;

// These are the collectives of blocks, whose counts and results copse-sim makes, as a list for CollectiveOption.
constexpr char kOtherCollectives[] =
    " gather scatter allgather alltoall reduce_scatter scan exscan gatherv scatterv allgatherv alltoallv "
    "reduce_scatterv";
// Limits all ranks' buffers in one simulated call of a collective of blocks.
constexpr uint64_t kBuffersMax = uint64_t{12} << 30;
// Calls of blocks are priced up to this product of nodes and segments.
constexpr uint64_t kPricedSegmentsMax = uint64_t{1} << 20;

struct RunOutcome {
  schedule::Plan plan;
  std::string why;  // reason of the planner's choice; empty: the plan was requested
  CallArguments call;
  uint64_t bytes = 0;
  std::string counts;  // name of the distribution; empty for a regular collective
  uint32_t ranks = 0;
  sim::Charging charging = sim::Charging::kCostModel;
  std::optional<int64_t> predicted_ns;
  sim::PlanRunResult run;
};

// Reads a plan, and renumbers its nodes in the order of the topology, so that ranks have this order, too.
absl::StatusOr<NamedPlan> LoadPlan(const std::string& file, const topology::Topology& topology) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kPlanFileBytesMax));
  ASSIGN_OR_RETURN(NamedPlan named, ParsePlanFile(text, file));
  const uint32_t count = named.plan.node_count;
  std::vector<uint32_t> place(count), order(count), number(count);
  for (uint32_t v = 0; v < count; ++v) {
    const std::optional<uint32_t> found = topology.FindNode(named.node_names[v]);
    if (!found.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": node ", named.node_names[v],
                                                     ": is not in the topology (nodes=", topology.nodes().size(), ")"));
    }
    place[v] = *found;
  }
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return place[a] < place[b]; });
  for (uint32_t i = 0; i < count; ++i) number[order[i]] = i;
  NamedPlan result{.plan = named.plan, .node_names = std::vector<std::string>(count)};
  result.plan.root_node = NodeIndex(number[named.plan.root_node.value()]);
  for (uint32_t v = 0; v < count; ++v) {
    std::vector<uint32_t>& neighbors = result.plan.neighbors[number[v]];
    neighbors = std::move(named.plan.neighbors[v]);
    for (uint32_t& w : neighbors) w = number[w];
    result.node_names[number[v]] = std::move(named.node_names[v]);
  }
  return result;
}

absl::StatusOr<sim::Charging> ChargingOption(const Arguments& arguments) {
  const std::string text = arguments.Text("charge", "costs");
  if (text == "costs") return sim::Charging::kCostModel;
  if (text == "mgo") return sim::Charging::kMgo;
  return absl::InvalidArgumentError(absl::StrCat("charge: unknown (value=", text, ", known=costs mgo)"));
}

Json ToJson(const sim::DaemonUse& use) {
  return {{"connections", use.connections},
          {"staging_bytes", use.staging_bytes},
          {"reserved_bytes", use.reserved_bytes},
          {"notes_bytes", use.notes_bytes},
          {"list_bytes", use.list_bytes}};
}

std::string ToText(const sim::DaemonUse& use) {
  const auto bytes = [](uint64_t b) { return FormatBytes(static_cast<int64_t>(b)); };
  std::string text = absl::StrCat(use.connections, " connections, staging ", bytes(use.staging_bytes),
                                  " with frames, reserved without them ", bytes(use.reserved_bytes));
  if (use.notes_bytes > 0) absl::StrAppend(&text, ", counts ", bytes(use.notes_bytes));
  if (use.list_bytes > 0) absl::StrAppend(&text, ", copy lists ", bytes(use.list_bytes));
  return text;
}

// Describes the call; for an irregular collective, by the distribution of its blocks, since there is no common length.
std::string DescribeCall(const RunOutcome& outcome) {
  const CallArguments& call = outcome.call;
  if (outcome.counts.empty()) return DescribeArguments(call);
  std::string text = absl::StrCat(AbslView(CollectiveName(call.collective)));
  if (Reduces(call.collective)) absl::StrAppend(&text, " ", AbslView(ElementOpName(call.op)));
  absl::StrAppend(&text, " ", AbslView(ElementTypeName(call.type)), ", ", outcome.counts, " counts of ",
                  FormatBytes(static_cast<int64_t>(outcome.bytes)), " in the mean");
  if ((call.options & kCountsKnown) != 0) absl::StrAppend(&text, ", known to all");
  if (HasRoot(call.collective)) absl::StrAppend(&text, ", root ", call.root);
  return text;
}

// Checks the size of all ranks' buffers for blocks of `bytes` bytes. Errors: INVALID_ARGUMENT above kBuffersMax.
absl::Status CheckBuffers(Collective collective, uint64_t bytes, uint64_t ranks) {
  uint64_t blocks = 2 * ranks;
  switch (PlanCollective(collective)) {
    case Collective::kAllgather:
    case Collective::kReduceScatter:
      blocks = ranks * (ranks + 1);
      break;
    case Collective::kAlltoall:
      blocks = 2 * ranks * ranks;
      break;
    default:
      break;
  }
  if (bytes <= kBuffersMax / blocks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("bytes: all ranks' buffers are too long to simulate (bytes=", bytes,
                                                 ", ranks=", ranks, ", limit=", kBuffersMax / blocks, ")"));
}

Json ToJson(const RunOutcome& outcome) {
  const sim::PlanRunResult& run = outcome.run;
  Json json = {{"algorithm", outcome.plan.algorithm},
               {"collective", std::string(CollectiveName(outcome.call.collective))},
               {"bytes", outcome.call.collective == Collective::kBarrier ? 0 : outcome.bytes},
               {"root", outcome.call.root},
               {"nodes", outcome.plan.node_count},
               {"ranks", outcome.ranks},
               {"segment_bytes", outcome.plan.segment_bytes},
               {"charge", outcome.charging == sim::Charging::kMgo ? "mgo" : "costs"},
               {"engines", true},
               {"simulated_ns", run.total_ns}};
  json["predicted_ns"] = outcome.predicted_ns.has_value() ? Json(*outcome.predicted_ns) : Json(nullptr);
  if (!outcome.why.empty()) json["why"] = outcome.why;
  if (!outcome.counts.empty()) json["counts"] = outcome.counts;
  json["packets"] = run.packets;
  json["frames"] = run.frames;
  json["bytes_sent"] = run.bytes;
  json["descriptors"] = run.descriptors;
  json["events"] = run.events;
  json["setup_s"] = run.setup_seconds;
  json["run_s"] = run.run_seconds;
  json["packets_per_s"] = run.run_seconds > 0 ? static_cast<double>(run.packets) / run.run_seconds : 0;
  json["memory_bytes"] = PeakMemoryBytes();
  json["root_daemon"] = ToJson(run.root);
  json["most"] = ToJson(run.most);
  json["data"] = "right";
  return json;
}

std::string ToText(const RunOutcome& outcome) {
  const sim::PlanRunResult& run = outcome.run;
  std::string predicted = "-";
  if (outcome.predicted_ns.has_value()) {
    const auto ns = static_cast<double>(*outcome.predicted_ns);
    predicted = absl::StrCat(*outcome.predicted_ns, " ns = ", FormatNs(ns), "; simulated ",
                             FormatDifference(static_cast<double>(run.total_ns), ns), " beside it");
  }
  const double per_second = run.run_seconds > 0 ? static_cast<double>(run.packets) / run.run_seconds : 0;
  const std::string segments =
      outcome.plan.segment_bytes > 0
          ? absl::StrCat(", segments of ", FormatBytes(static_cast<int64_t>(outcome.plan.segment_bytes)))
          : ", not cut";
  const std::string chosen = outcome.why.empty() ? "" : absl::StrCat("; the planner's choice, ", AbslView(outcome.why));
  return cli::RenderDetails(
      {{"plan", absl::StrCat(outcome.plan.algorithm, ", ", outcome.plan.node_count, " nodes", segments, chosen)},
       {"call", absl::StrCat(DescribeCall(outcome), ", ", outcome.ranks, " ranks")},
       {"simulated", absl::StrCat(run.total_ns, " ns = ", FormatNs(static_cast<double>(run.total_ns)))},
       {"predicted", predicted},
       {"packets",
        absl::StrCat(run.packets, " in ", run.frames, " frames, ", FormatBytes(static_cast<int64_t>(run.bytes)))},
       {"real time", absl::StrFormat("%.2f s to make the engines, %.2f s to run: %.0f packets/s", run.setup_seconds,
                                     run.run_seconds, per_second)},
       {"memory", FormatBytes(PeakMemoryBytes())},
       {HasRoot(outcome.call.collective) ? "at root" : "at node 0", ToText(run.root)},
       {"at most", ToText(run.most)},
       {"data", "right at every rank"}});
}

absl::StatusOr<RunOutcome> Execute(const Arguments& arguments, std::ostream& err) {
  if (arguments.Has("algorithm") && arguments.Has("plan")) {
    return absl::InvalidArgumentError("usage: --algorithm and --plan exclude each other; try --help");
  }
  if (arguments.Has("segment") && !arguments.Has("algorithm")) {
    return absl::InvalidArgumentError("usage: --segment is for --algorithm, a plan has its own; try --help");
  }
  ASSIGN_OR_RETURN(const topology::Topology topology, LoadCluster(arguments));
  std::optional<NamedPlan> file;
  if (arguments.Has("plan")) {
    ASSIGN_OR_RETURN(file, LoadPlan(arguments.Text("plan"), topology));
  }
  ASSIGN_OR_RETURN(const uint64_t ppn, NumberOption(arguments, "ppn", 1, 1, schedule::kLocalRanksMax));
  const std::vector<std::string> node_names = file.has_value() ? file->node_names : AllNodeNames(topology);
  ASSIGN_OR_RETURN(const SimTeam team, MakeTeam(topology, node_names, static_cast<uint32_t>(ppn)));
  ASSIGN_OR_RETURN(const uint64_t root, NumberOption(arguments, "root", 0, 0, team.shape.size() - 1));
  ASSIGN_OR_RETURN(const uint64_t segment, BytesOption(arguments, "segment", 0));
  const Collective in_file = file.has_value() ? file->plan.collective : Collective::kBcast;
  ASSIGN_OR_RETURN(const Collective collective,
                   CollectiveOption(arguments, std::string(CollectiveName(in_file)), kOtherCollectives));
  ASSIGN_OR_RETURN(const uint64_t bytes, BytesOption(arguments, "bytes", 1024));
  RunOutcome outcome;
  outcome.call = CallOf(collective, bytes, static_cast<uint32_t>(root));
  outcome.bytes = bytes;
  outcome.ranks = team.shape.size();
  const bool blocks = HasBlocks(collective);
  if (blocks) RETURN_IF_ERROR(CheckBuffers(collective, bytes, outcome.ranks));
  for (const char* name : {"counts", "counts-known"}) {
    if (!arguments.Has(name) || IsIrregular(collective)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": of irregular collectives (collective=", AbslView(CollectiveName(collective)), ")"));
  }
  ASSIGN_OR_RETURN(outcome.charging, ChargingOption(arguments));
  if (file.has_value()) {
    if (PlanCollective(collective) != in_file) {
      return absl::InvalidArgumentError(
          absl::StrCat("collective: not the plan's (value=", AbslView(CollectiveName(collective)),
                       ", plan=", AbslView(CollectiveName(in_file)), ")"));
    }
    outcome.plan = file->plan;
  } else if (!arguments.Has("algorithm")) {
    ASSIGN_OR_RETURN(ChosenPlan chosen, ChoosePlan(outcome.call, team, node_names));
    outcome.plan = std::move(chosen.plan);
    outcome.why = std::move(chosen.why);
  } else {
    const PlanRequest request = {
        .algorithm = planner::AlgorithmName(arguments.Text("algorithm")),
        .call = outcome.call,
        .segment_bytes = static_cast<uint32_t>(std::min<uint64_t>(segment, std::numeric_limits<uint32_t>::max()))};
    ASSIGN_OR_RETURN(outcome.plan, segment > 0 ? MakePlan(request, team) : MakeCheapestPlan(request, team));
  }
  Progress progress(&err, "ranks");
  sim::PlanRunOptions options;
  if (IsIrregular(collective)) {
    outcome.counts = arguments.Text("counts", "equal");
    if (arguments.Has("counts-known")) outcome.call.options |= kCountsKnown;
    ASSIGN_OR_RETURN(options.counts, sim::MakeBlockCounts(outcome.counts, collective, outcome.ranks, bytes,
                                                          ElementBytes(outcome.call.type), options.seed));
    outcome.call = sim::WithCounts(outcome.call, options.counts);
  }
  options.charging = outcome.charging;
  options.charge_headers = arguments.Has("headers");
  options.progress = [&](uint32_t done, uint32_t ranks) { progress.Tell(done, ranks); };
  ASSIGN_OR_RETURN(outcome.run, sim::RunPlan(outcome.plan, team.shape, team.costs, outcome.call, options));
  if (outcome.charging == sim::Charging::kCostModel &&
      (!blocks || outcome.run.segments * team.shape.node_count <= kPricedSegmentsMax)) {
    ASSIGN_OR_RETURN(const planner::Prediction prediction,
                     planner::Price(outcome.plan, team.shape, team.costs, outcome.call,
                                    {.critical_path = false, .post_ns = {}, .counts = &options.counts}));
    outcome.predicted_ns = prediction.total_ns;
    outcome.plan.predicted_us = static_cast<double>(prediction.total_ns) / 1000;
  }
  // Section 3.1 of the MGO paper, which ReplayNs follows, covers one segment only.
  if (outcome.charging == sim::Charging::kMgo && collective == Collective::kBcast &&
      outcome.plan.kind == schedule::PlanKind::kTree && schedule::SegmentCount(outcome.plan, bytes) == 1) {
    ASSIGN_OR_RETURN(outcome.predicted_ns,
                     ReplayNs(outcome.plan, team, team.shape.node_of_rank[outcome.call.root].value(), bytes));
  }
  if (arguments.Has("write-plan")) {
    if (outcome.plan.kind != schedule::PlanKind::kTree) {
      return absl::InvalidArgumentError("write-plan: an exchange, whose rounds a file does not tell (kind=exchange)");
    }
    RETURN_IF_ERROR(WriteTextFile(arguments.Text("write-plan"), FormatPlanFile(outcome.plan, node_names)));
  }
  return outcome;
}

absl::Status RunRun(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  // The MGO paper sends all blocks of a subtree in one message. RunBlockVerb simulates these; engines would split them.
  const auto blocks = planner::BlockCollectiveFromName(arguments.Text("collective"));
  if (blocks.has_value() && arguments.Text("charge") == "mgo") return RunBlockVerb(arguments, *blocks, out);
  ASSIGN_OR_RETURN(const RunOutcome outcome, Execute(arguments, err));
  out << (WantsJson(arguments) ? ToJson(outcome).dump(2) + "\n" : ToText(outcome));
  return absl::OkStatus();
}

}  // namespace

Verb RunVerb() {
  std::vector<Parameter> options = ClusterParameters();
  const std::vector<Parameter> own = {
      {"collective", "NAME",
       "any of the sixteen; default bcast, or the plan's. scatter, gather, allgather with --charge mgo: by the model "
       "alone"},
      {"bytes", "B", "of the message, at most 64 KiB, or of a rank's block; default 1 KiB"},
      {"algorithm", "NAME",
       "of the plan: flat, chain, binomial, knomial-K, kary-K, dissemination, recursive-doubling, ring, bruck, "
       "doubling, rotated-binomial, pairwise, hierarchical, ft, bt, fnf, fef-latency, fef-cost, fcef, fcef-bhat, la, "
       "la-bhat, mgo, mgo-jackson, optimal, best; default: what the planner chooses, and why"},
      {"plan", "FILE", "the plan, as `copsectl plan show -w json` prints it"},
      {"root", "R", "rank; default 0"},
      {"ppn", "N", "ranks on each node; default 1"},
      {"counts", "HOW", "of irregular collectives: equal (default), heavy, random or sparse, --bytes in the mean"},
      {"counts-known", "", "gatherv, scatterv: all ranks know all counts"},
      {"segment", "B",
       "with --algorithm: longer messages are cut into segments of this, at most 60 KiB (scans: 8 KiB); default: what "
       "is "
       "cheapest by price, of what the planner compares"},
      {"charge", "HOW", "costs (default): as the cost model; mgo: as the MGO paper's section 3.1"},
      {"headers", "", "links and ends are charged for packets' headers, too"},
      {"write-plan", "FILE", "writes the plan there, for --plan and `copsectl plan diff`"}};
  options.insert(options.end(), own.begin(), own.end());
  return {.name = "run", .help = "execute a call of a plan on a simulated cluster", .options = options, .run = RunRun};
}

}  // namespace copse::simcli
