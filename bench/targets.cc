// SPDX-License-Identifier: Apache-2.0
#include "bench/targets.h"

#include "base/status_macros.h"
#include "bench/data.h"
#include "yaml-cpp/yaml.h"

namespace copse::bench {

absl::StatusOr<std::vector<Target>> LoadTargets() {
  ASSIGN_OR_RETURN(const YAML::Node file, LoadData("bench/targets.yaml"));
  std::vector<Target> targets;
  for (const YAML::Node& map : file["targets"]) {
    for (const Words& line : LinesOf(map, {}, {})) {
      targets.push_back({.bench = TextOf(line, "bench"),
                         .what = TextOf(line, "case"),
                         .nodes = static_cast<uint32_t>(NumberOf(line, "nodes")),
                         .ppn = static_cast<uint32_t>(NumberOf(line, "ppn")),
                         .metric = TextOf(line, "metric", "ratio"),
                         .peer = TextOf(line, "peer"),
                         .limit = NumberOf(line, "limit"),
                         .why = TextOf(line, "why")});
    }
  }
  return targets;
}

void SetTarget(const std::vector<Target>& targets, Row* row) {
  // Variants have targets only if they are what is chosen, or what the benchmark is about; under whichever MPI.
  const bool ours = HasCopse(row->system) && (!row->system.starts_with("copse-") || row->system == "copse-best" ||
                                              row->system == "copse-tnbc" || row->system == "copse-tcp");
  if (!ours) return;
  for (const Target& target : targets) {
    const bool same_metric = row->metric == target.metric || row->metric == "unfinished";
    if (row->bench == target.bench && row->what == target.what && row->nodes == target.nodes &&
        row->ppn == target.ppn && same_metric && row->peer == target.peer) {
      row->target = target.limit;
    }
  }
}

}  // namespace copse::bench
