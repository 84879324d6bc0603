// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/run_blocks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/sim/cluster/block_run.h"
#include "cli/sim/cluster_source.h"
#include "cli/sim/options.h"
#include "cli/sim/plan_maker.h"
#include "cli/sim/text.h"
#include "nlohmann/json.hpp"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"

namespace copse::simcli {
namespace {

using Json = nlohmann::ordered_json;

absl::Status CheckOptions(const Arguments& arguments, const std::string& collective) {
  for (const char* name : {"plan", "segment", "headers", "write-plan"}) {
    if (!arguments.Has(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": of what engines run, not of --charge mgo (collective=", collective, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunBlockVerb(const Arguments& arguments, planner::BlockCollective collective, std::ostream& out) {
  const std::string name(planner::BlockCollectiveName(collective));
  RETURN_IF_ERROR(CheckOptions(arguments, name));
  ASSIGN_OR_RETURN(const topology::Topology topology, LoadCluster(arguments));
  ASSIGN_OR_RETURN(const uint64_t ppn, NumberOption(arguments, "ppn", 1, 1, 1));
  ASSIGN_OR_RETURN(const SimTeam team, MakeTeam(topology, AllNodeNames(topology), static_cast<uint32_t>(ppn)));
  ASSIGN_OR_RETURN(const uint64_t root, NumberOption(arguments, "root", 0, 0, team.shape.size() - 1));
  ASSIGN_OR_RETURN(const uint64_t bytes, BytesOption(arguments, "bytes", 1024));
  const std::string algorithm = planner::AlgorithmName(arguments.Text("algorithm", "best"));
  ASSIGN_OR_RETURN(const planner::BlockCosts costs, BlockCostsOf(team, bytes));
  ASSIGN_OR_RETURN(const planner::BlockTrees trees,
                   MakeBlockTrees(algorithm, team, costs, collective, static_cast<uint32_t>(root)));
  ASSIGN_OR_RETURN(const sim::BlockRunResult run, sim::RunBlocks(trees, costs, collective));
  if (WantsJson(arguments)) {
    const Json json = {{"algorithm", algorithm},
                       {"collective", name},
                       {"bytes", bytes},
                       {"root", root},
                       {"nodes", costs.node_count()},
                       {"ranks", team.shape.size()},
                       {"charge", "mgo"},
                       {"engines", false},
                       {"simulated_ns", run.total_ns},
                       {"predicted_ns", trees.completion_ns},
                       {"packets", run.messages},
                       {"bytes_sent", run.bytes},
                       {"events", run.events},
                       {"run_s", run.run_seconds},
                       {"memory_bytes", PeakMemoryBytes()},
                       {"data", "right"}};
    out << json.dump(2) << "\n";
    return absl::OkStatus();
  }
  const auto total_ns = static_cast<double>(run.total_ns);
  out << cli::RenderDetails(
      {{"trees", absl::StrCat(algorithm, ", ", costs.node_count(), " nodes")},
       {"call", absl::StrCat(name, " of ", FormatBytes(static_cast<int64_t>(bytes)), " a rank, root ", root)},
       {"executed", "the model's events, not engines"},
       {"simulated", absl::StrCat(run.total_ns, " ns = ", FormatNs(total_ns))},
       {"predicted", absl::StrCat(trees.completion_ns, " ns; simulated ",
                                  FormatDifference(total_ns, static_cast<double>(trees.completion_ns)), " beside it")},
       {"messages", absl::StrCat(run.messages, ", ", FormatBytes(static_cast<int64_t>(run.bytes)))},
       {"real time", absl::StrFormat("%.2f s", run.run_seconds)},
       {"memory", FormatBytes(PeakMemoryBytes())},
       {"data", "right at every rank"}});
  return absl::OkStatus();
}

}  // namespace copse::simcli
