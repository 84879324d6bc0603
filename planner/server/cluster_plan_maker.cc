// SPDX-License-Identifier: Apache-2.0
#include "planner/server/cluster_plan_maker.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/cost_model.h"
#include "planner/structure.h"
#include "planner/team_costs.h"

namespace copse::planner {
namespace {

constexpr int kRulesVersion = 1;

std::vector<std::string> NamesOf(const schedule::TeamLayout& layout) {
  std::vector<std::string> names;
  for (const schedule::TeamNode& node : layout.nodes) names.push_back(node.name);
  return names;
}

bool AnyDrains(const std::vector<std::string>& names, const std::set<std::string>& draining) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return draining.count(name) != 0; });
}

// Errors of one rules file.
class RulesParser {
 public:
  explicit RulesParser(std::string_view filename) : filename_(filename) {}

  absl::StatusOr<Rules> Parse(const YAML::Node& root) const {
    Rules rules;
    if (root.IsNull()) return rules;
    if (!root.IsMap()) return Error(root, "not a map of keys");
    if (!root["version"]) return Error(root, absl::StrCat("no version (limit=", kRulesVersion, ")"));
    if (root["version"].Scalar() != absl::StrCat(kRulesVersion)) {
      return Error(root["version"],
                   absl::StrCat("version (version=", root["version"].Scalar(), ", limit=", kRulesVersion, ")"));
    }
    for (const auto& entry : root) {
      const std::string key = entry.first.Scalar();
      if (key == "version") continue;
      if (key != "rules") return Error(entry.first, absl::StrCat("unknown key (key=", key, ")"));
      if (!entry.second.IsSequence()) return Error(entry.second, "rules: not a list");
      for (const YAML::Node& rule : entry.second) RETURN_IF_ERROR(Add(rule, &rules));
    }
    return rules;
  }

  absl::Status Error(int line, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(filename_, ":", line, ": ", what));
  }

 private:
  absl::Status Error(const YAML::Node& node, const std::string& what) const {
    return Error(node.Mark().line + 1, what);
  }

  absl::Status Add(const YAML::Node& rule, Rules* rules) const {
    if (!rule.IsMap()) return Error(rule, "rule: not a map of keys");
    for (const auto& entry : rule) {
      const std::string key = entry.first.Scalar();
      if (key != "collective" && key != "algorithm")
        return Error(entry.first, absl::StrCat("rule: unknown key (key=", key, ")"));
    }
    if (!rule["collective"] || !rule["algorithm"]) return Error(rule, "rule: needs collective and algorithm");
    const std::string name = rule["collective"].Scalar();
    const auto collective = schedule::CollectiveFromName(name);
    if (!collective) return Error(rule["collective"], absl::StrCat("rule: unknown collective (collective=", name, ")"));
    const std::string algorithm = rule["algorithm"].Scalar();
    if (const absl::Status checked = CheckAlgorithm(algorithm, *collective); !checked.ok()) {
      return Error(rule["algorithm"], absl::StrCat("rule: ", checked.message()));
    }
    if (!rules->emplace(*collective, algorithm).second) {
      return Error(rule, absl::StrCat("rule: a second one for this collective (collective=", name, ")"));
    }
    return absl::OkStatus();
  }

  const std::string filename_;
};

std::string ExplanationJson(const Explanation& explanation, const std::vector<std::string>& names) {
  nlohmann::json json;
  json["predicted_us"] = static_cast<double>(explanation.prediction.total_ns) / 1e3;
  for (size_t r = 0; r < explanation.prediction.completion_ns.size(); ++r) {
    json["ranks"].push_back({{"rank", r}, {"us", static_cast<double>(explanation.prediction.completion_ns[r]) / 1e3}});
  }
  for (const PathStep& step : explanation.prediction.critical_path) {
    json["critical_path"].push_back({{"node", names[step.node.value()]},
                                     {"what", step.what},
                                     {"start_us", static_cast<double>(step.start_ns) / 1e3},
                                     {"end_us", static_cast<double>(step.end_ns) / 1e3}});
  }
  for (const Alternative& other : explanation.alternatives) {
    json["alternatives"].push_back({{"algorithm", other.algorithm},
                                    {"segment_bytes", other.segment_bytes},
                                    {"us", static_cast<double>(other.total_ns) / 1e3}});
  }
  return json.dump();
}

}  // namespace

absl::StatusOr<Rules> ParseRules(std::string_view text, std::string_view filename) {
  const RulesParser parser(filename);
  try {
    return parser.Parse(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return parser.Error(e.mark.line + 1, e.msg);
  }
}

absl::StatusOr<topology::Topology> ClusterTopology(const ClusterModel& model, const std::vector<std::string>& names,
                                                   std::vector<std::string>* added) {
  topology::FlatCosts costs;
  if (model.shared_cores > 0) {
    costs.cores = model.shared_cores;
    costs.host = "this-machine";  // as a topology file may have it
  }
  std::vector<topology::Switch> switches = {{.name = "core"}};
  std::vector<topology::Node> nodes;
  topology::CostParameters parameters;
  if (model.topology) {
    switches = model.topology->switches();
    nodes = model.topology->nodes();
    parameters = model.topology->costs();
  }
  for (const std::string& name : names) {
    if (model.topology && model.topology->FindNode(name)) continue;
    if (added != nullptr) added->push_back(name);
    nodes.push_back({.name = name,
                     .parent = model.topology ? model.topology->root_switch() : 0,
                     .overhead_ns = costs.overhead_ns,
                     .receive_overhead_ns = costs.receive_overhead_ns,
                     .latency_ns = costs.latency_ns,
                     .bandwidth_bytes_per_s = costs.bandwidth_bytes_per_s,
                     .cores = costs.cores,
                     .host = costs.host});
  }
  if (!model.announced_cores.empty() && model.shared_cores == 0) {
    for (topology::Node& node : nodes) {
      if (node.cores > 0 || !node.host.empty()) continue;
      const auto announced = model.announced_cores.find(node.name);
      if (announced != model.announced_cores.end()) {
        node.cores = std::min(announced->second, topology::kCoreCountMax);
      }
    }
  }
  return topology::Topology::Create(std::move(switches), std::move(nodes), parameters);
}

absl::StatusOr<topology::Topology> ClusterPlanMaker::TopologyWith(const std::vector<std::string>& names) {
  std::vector<std::string> added;
  ASSIGN_OR_RETURN(topology::Topology topology, ClusterTopology(model_, names, &added));
  if (!model_.topology) return topology;
  for (const std::string& name : added) {
    if (!unknown_.insert(name).second) continue;
    COPSE_LOG(kWarning, "node ", name, " is not in the topology: taken to hang on its root switch, with default costs");
  }
  return topology;
}

absl::StatusOr<topology::Topology> ClusterPlanMaker::WeightedTopologyWith(const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(topology::Topology topology, TopologyWith(names));
  if (!AnyDrains(names, model_.draining)) return topology;
  std::vector<topology::Node> nodes = topology.nodes();
  for (topology::Node& node : nodes) {
    if (model_.draining.count(node.name) == 0) continue;
    for (int64_t* overhead : {&node.overhead_ns, &node.receive_overhead_ns}) {
      *overhead = std::min(kDrainingWeight * *overhead, topology::kTimeNsMax);
    }
  }
  return topology::Topology::Create(topology.switches(), std::move(nodes), topology.costs());
}

absl::StatusOr<std::vector<schedule::Plan>> ClusterPlanMaker::MakePlans(const schedule::TeamLayout& layout,
                                                                        const coordinator::PlanOptions& options) {
  const std::vector<std::string> names = NamesOf(layout);
  ASSIGN_OR_RETURN(const topology::Topology topology, WeightedTopologyWith(names));
  PlannerOptions planner_options;
  planner_options.forced = model_.rules;
  if (!options.algorithm.empty()) {
    for (int c = 0; c < schedule::kCollectiveCount; ++c) {
      const auto collective = static_cast<schedule::Collective>(c);
      if (options.collective && *options.collective != collective) continue;
      // Asked for all collectives, an algorithm is used for those that it can carry; all carry barriers.
      const absl::Status carries = CheckAlgorithm(options.algorithm, collective);
      if (!carries.ok() && !options.collective && collective != schedule::Collective::kBarrier) continue;
      RETURN_IF_ERROR(carries);
      planner_options.forced[collective] = options.algorithm;
    }
  }
  ASSIGN_OR_RETURN(std::vector<schedule::Plan> plans,
                   Planner(&topology, topology.costs(), planner_options).MakePlans(layout.shape, names));
  if (!AnyDrains(names, model_.draining)) return plans;
  // What they are predicted to take is not weighted.
  ASSIGN_OR_RETURN(const topology::Topology plain, TopologyWith(names));
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(names, plain, plain.costs()));
  const PriceOptions price_options = {.critical_path = false, .post_ns = {}};
  for (schedule::Plan& plan : plans) {
    const schedule::CallArguments arguments{.collective = plan.collective, .count = plan.bytes_max};
    ASSIGN_OR_RETURN(const Prediction prediction, Price(plan, layout.shape, costs, arguments, price_options));
    plan.predicted_us = static_cast<double>(prediction.total_ns) / 1000;
  }
  return plans;
}

absl::StatusOr<double> ClusterPlanMaker::GainOfReplanning(const schedule::TeamLayout& layout,
                                                          const std::vector<schedule::Plan>& plans) {
  const std::vector<std::string> names = NamesOf(layout);
  ASSIGN_OR_RETURN(const topology::Topology topology, WeightedTopologyWith(names));
  ASSIGN_OR_RETURN(const std::vector<schedule::Plan> fresh, MakePlans(layout, {}));
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(names, topology, topology.costs()));
  const PriceOptions options = {.critical_path = false, .post_ns = {}};
  double gain = 1;
  for (const schedule::Plan& old : plans) {
    const schedule::CallArguments arguments{.collective = old.collective, .count = old.bytes_max};
    ASSIGN_OR_RETURN(const Prediction before, Price(old, layout.shape, costs, arguments, options));
    for (const schedule::Plan& plan : fresh) {
      if (plan.collective != old.collective || plan.bytes_min > old.bytes_max || plan.bytes_max < old.bytes_max)
        continue;
      ASSIGN_OR_RETURN(const Prediction after, Price(plan, layout.shape, costs, arguments, options));
      if (after.total_ns > 0) {
        gain = std::max(gain, static_cast<double>(before.total_ns) / static_cast<double>(after.total_ns));
      }
    }
  }
  return gain;
}

absl::StatusOr<coordinator::PlanExplanation> ClusterPlanMaker::Explain(const schedule::TeamLayout& layout,
                                                                       const schedule::Plan& plan) {
  const std::vector<std::string> names = NamesOf(layout);
  ASSIGN_OR_RETURN(const topology::Topology topology, TopologyWith(names));
  const schedule::CallArguments arguments{.collective = plan.collective, .count = plan.bytes_max};
  ASSIGN_OR_RETURN(const Explanation explanation,
                   Planner(&topology, topology.costs()).Explain(plan, layout.shape, names, arguments));
  coordinator::PlanExplanation result{
      .text = explanation.text, .dot = explanation.dot, .json = ExplanationJson(explanation, names)};
  for (const PathStep& step : explanation.prediction.critical_path) {
    const std::string& name = names[step.node.value()];
    if (result.critical_path.empty() || result.critical_path.back() != name) result.critical_path.push_back(name);
  }
  return result;
}

}  // namespace copse::planner
