// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/cluster_plan_maker.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/cpu_time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/candidates.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/size_class.h"
#include "planner/topology/team_topology.h"
#include "protocol/log_subject.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

std::vector<std::string> NamesOf(const schedule::TeamLayout& layout) {
  std::vector<std::string> names;
  for (const schedule::TeamNode& node : layout.nodes) names.push_back(node.name);
  return names;
}

bool AnyDrains(const std::vector<std::string>& names, const std::set<std::string>& draining) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return draining.count(name) != 0; });
}

// Returns the names of the path's nodes in order; consecutive steps on one node appear once.
std::vector<std::string> NodesOf(const std::vector<PathStep>& path, const std::vector<std::string>& names) {
  std::vector<std::string> nodes;
  for (const PathStep& step : path) {
    const std::string& name = names[step.node.value()];
    if (nodes.empty() || nodes.back() != name) nodes.push_back(name);
  }
  return nodes;
}

// Limits a timeline's steps in JSON, in all ranks together.
constexpr size_t kTimelineStepsMax = 20'000;

nlohmann::json TimelineJson(const Explanation& explanation, const schedule::TeamShape& shape,
                            const std::vector<std::string>& names) {
  if (explanation.prediction.completion_ns.empty()) return nlohmann::json::array();  // priced by formula
  const schedule::ShapeIndex index(shape);
  std::vector<nlohmann::json> steps(shape.size(), nlohmann::json::array());
  size_t left = kTimelineStepsMax;
  for (const PathStep& step : explanation.prediction.timeline) {
    for (const Rank rank : index.RanksOf(step.node)) {
      if (left == 0 || (step.rank.has_value() && *step.rank != rank)) continue;
      --left;
      nlohmann::json json = {{"by", step.rank.has_value() ? "rank" : "daemon"},
                             {"what", step.what},
                             {"start_us", static_cast<double>(step.start_ns) / 1e3},
                             {"end_us", static_cast<double>(step.end_ns) / 1e3}};
      if (step.peer.has_value()) json["peer"] = names[step.peer->value()];
      steps[rank.value()].push_back(std::move(json));
    }
  }
  nlohmann::json timeline = nlohmann::json::array();
  for (uint32_t r = 0; r < shape.size(); ++r) {
    timeline.push_back({{"rank", r},
                        {"node", names[index.NodeOf(Rank(r)).value()]},
                        {"done_us", static_cast<double>(explanation.prediction.completion_ns[r]) / 1e3},
                        {"steps", std::move(steps[r])}});
  }
  return timeline;
}

std::string ExplanationJson(const Explanation& explanation, const schedule::TeamShape& shape,
                            const std::vector<std::string>& names) {
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
    json["candidates"].push_back({{"algorithm", other.algorithm},
                                  {"segment_bytes", other.segment_bytes},
                                  {"built_for_bytes", other.built_for_bytes},
                                  {"us", static_cast<double>(other.total_ns) / 1e3},
                                  {"new_edges", other.new_edges},
                                  {"chosen", other.chosen}});
  }
  json["lower_bound_us"] = static_cast<double>(explanation.lower_bound_ns) / 1e3;
  json["why"] = explanation.why;
  json["timeline"] = TimelineJson(explanation, shape, names);
  return json.dump();
}

// The administrators' questions take turns with the users' plans as if one more user asked. Nobody has this number.
constexpr uint32_t kAdministrators = UINT32_MAX;

absl::StatusOr<std::vector<std::string>> CriticalPathOf(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                                        const std::vector<std::string>& names,
                                                        const topology::Topology& topology) {
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(names, topology, topology.costs()));
  const CallArguments arguments = TypicalCall(plan);
  // A price by formula has no path, and none is computed for derived teams.
  if (schedule::IsDerivedTeam(layout.identity) || !IsPricedByRunning(plan, layout.shape, arguments)) {
    return std::vector<std::string>();
  }
  ASSIGN_OR_RETURN(const Prediction prediction, Price(plan, layout.shape, costs, arguments));
  return NodesOf(prediction.critical_path, names);
}

absl::StatusOr<double> PredictedUsOf(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                     const topology::Topology& topology, uint64_t bytes) {
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(NamesOf(layout), topology, topology.costs()));
  return PredictedUsOfBytes(plan, layout.shape, costs, bytes);
}

// A PlanComparison is what the gain of new plans depends on; any thread may read it.
struct PlanComparison {
  std::vector<std::string> names;  // the team's nodes
  schedule::TeamShape shape;
  ClusterTopologies::Shared topology;
  std::vector<schedule::Plan> before, after;
};

absl::StatusOr<double> GainOf(const PlanComparison& of) {
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(of.names, *of.topology, of.topology->costs()));
  double gain = 1;
  for (const schedule::Plan& old : of.before) {
    const CallArguments arguments = TypicalCall(old);
    const uint64_t bytes = std::max(arguments.bytes(), old.bytes_min);
    ASSIGN_OR_RETURN(const int64_t before, PredictedNs(old, of.shape, costs, arguments));
    for (const schedule::Plan& plan : of.after) {
      if (plan.collective != old.collective) continue;
      if (bytes < plan.bytes_min || plan.bytes_max < bytes) continue;
      ASSIGN_OR_RETURN(const int64_t after, PredictedNs(plan, of.shape, costs, arguments));
      if (after > 0) gain = std::max(gain, static_cast<double>(before) / static_cast<double>(after));
    }
  }
  return gain;
}

}  // namespace

absl::StatusOr<topology::Topology> ClusterTopology(const ClusterModel& model, const std::vector<std::string>& names) {
  topology::FlatCosts costs;
  if (model.shared_cores > 0) {
    costs.cores = model.shared_cores;
    costs.host = "this-machine";  // a valid host name of a topology file
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
    nodes.push_back(topology::MakeNode(name, model.topology ? model.topology->root_switch() : 0, costs));
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

absl::StatusOr<ClusterTopologies::Shared> ClusterTopologies::With(const ClusterModel& model,
                                                                  const std::vector<std::string>& names,
                                                                  std::vector<std::string>* added) {
  std::vector<std::string> more;
  for (const std::string& name : names) {
    if (!model.topology || !model.topology->FindNode(name)) more.push_back(name);
  }
  if (added != nullptr) added->insert(added->end(), more.begin(), more.end());
  if (kept_ != nullptr && more == added_) return kept_;
  ASSIGN_OR_RETURN(topology::Topology topology, ClusterTopology(model, names));
  kept_ = std::make_shared<const topology::Topology>(std::move(topology));
  added_ = std::move(more);
  return kept_;
}

absl::StatusOr<ClusterTopologies::Shared> ClusterPlanMaker::TopologyWith(const std::vector<std::string>& names) {
  std::vector<std::string> added;
  ASSIGN_OR_RETURN(ClusterTopologies::Shared topology, topologies_.With(model_, names, &added));
  if (!model_.topology) return topology;
  for (const std::string& name : added) {
    if (!unknown_.insert(name).second) continue;
    COPSE_LOG_ABOUT(kWarning, schedule::AboutNode(name), "node ", name,
                    " is not in the topology: taken to hang on its root switch, with default costs");
  }
  return topology;
}

absl::StatusOr<ClusterTopologies::Shared> ClusterPlanMaker::WeightedTopologyWith(
    const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(ClusterTopologies::Shared topology, TopologyWith(names));
  if (!AnyDrains(names, model_.draining)) return topology;
  std::vector<topology::Node> nodes = topology->nodes();
  for (topology::Node& node : nodes) {
    if (model_.draining.count(node.name) == 0) continue;
    for (int64_t* overhead : {&node.overhead_ns, &node.receive_overhead_ns}) {
      *overhead = std::min(kDrainingWeight * *overhead, topology::kTimeNsMax);
    }
  }
  ASSIGN_OR_RETURN(topology::Topology weighted,
                   topology::Topology::Create(topology->switches(), std::move(nodes), topology->costs()));
  return std::make_shared<const topology::Topology>(std::move(weighted));
}

absl::StatusOr<SharedTask> ClusterPlanMaker::TaskOf(const schedule::TeamLayout& layout,
                                                    const coordinator::PlanOptions& options) {
  const std::vector<std::string> names = NamesOf(layout);
  ASSIGN_OR_RETURN(const ClusterTopologies::Shared weighted, WeightedTopologyWith(names));
  ASSIGN_OR_RETURN(topology::Topology topology, topology::TeamTopology(*weighted, names));
  PlanTask task{layout.shape, layout.identity.family, options, std::move(topology), std::nullopt};
  if (AnyDrains(names, model_.draining)) {
    ASSIGN_OR_RETURN(const ClusterTopologies::Shared plain, TopologyWith(names));
    ASSIGN_OR_RETURN(task.plain, topology::TeamTopology(*plain, names));
  }
  return std::make_shared<const PlanTask>(std::move(task));
}

absl::StatusOr<std::vector<schedule::Plan>> ClusterPlanMaker::MakePlans(const schedule::TeamLayout& layout,
                                                                        const coordinator::PlanOptions& options) {
  ASSIGN_OR_RETURN(SharedTask task, TaskOf(layout, options));
  if (const auto* kept = FindKept(*task)) return *kept;
  const absl::Duration begun = ThreadCpuTime();
  absl::StatusOr<std::vector<schedule::Plan>> made = MakePlansOf(*task, model_.rules);
  counts_.cpu += ThreadCpuTime() - begun;
  ASSIGN_OR_RETURN(std::vector<schedule::Plan> plans, std::move(made));
  ++counts_.sets_made;
  kept_.Keep(std::move(task), plans);
  return plans;
}

void ClusterPlanMaker::MakePlansLater(const schedule::TeamLayout& layout, const coordinator::PlanOptions& options,
                                      PlansDone done) {
  if (workers_ == nullptr) return done(MakePlans(layout, options));
  absl::StatusOr<SharedTask> task = TaskOf(layout, options);
  if (!task.ok()) return done(task.status());
  if (const auto* kept = FindKept(**task)) return done(*kept);
  for (Ordered& ordered : ordered_) {
    if (*ordered.task != **task) continue;
    ++counts_.sets_reused;
    return ordered.done.push_back(std::move(done));
  }
  Order(ordered_.insert(ordered_.end(), {layout.identity.uid, *std::move(task), {std::move(done)}}));
}

void ClusterPlanMaker::Order(std::list<Ordered>::iterator ordered) {
  struct Job {
    SharedTask task;
    Rules rules;
    uint64_t rules_number = 0;
    absl::StatusOr<std::vector<schedule::Plan>> plans = std::vector<schedule::Plan>();
    absl::Duration cpu;
  };
  const auto job = std::make_shared<Job>(Job{ordered->task, model_.rules, rules_number_});
  workers_->Run(
      ordered->user,
      [job] {
        const absl::Duration begun = ThreadCpuTime();
        job->plans = MakePlansOf(*job->task, job->rules);
        job->cpu = ThreadCpuTime() - begun;
      },
      [this, job, ordered] {
        counts_.cpu += job->cpu;
        if (job->rules_number != rules_number_) return Order(ordered);  // the rules have changed meanwhile
        const std::vector<PlansDone> waiting = std::move(ordered->done);
        ordered_.erase(ordered);
        ++counts_.sets_made;
        if (job->plans.ok()) kept_.Keep(std::move(job->task), *job->plans);
        for (const PlansDone& done : waiting) done(job->plans);
      });
}

std::optional<coordinator::FirstPlans> ClusterPlanMaker::QuickPlans(const schedule::TeamLayout& layout) {
  if (better_workers_ == nullptr || IsPlannedFast(layout.shape, layout.identity.family)) return std::nullopt;
  absl::StatusOr<SharedTask> task = TaskOf(layout, {});
  if (!task.ok()) return std::nullopt;
  if (const auto* kept = FindKept(**task)) return coordinator::FirstPlans{.plans = *kept, .may_be_better = false};
  const absl::Duration begun = ThreadCpuTime();
  absl::StatusOr<std::vector<schedule::Plan>> plans = QuickPlansOf(**task, model_.rules);
  counts_.cpu += ThreadCpuTime() - begun;
  if (!plans.ok()) return std::nullopt;
  ++counts_.sets_quick;
  quick_ = {layout.id, *std::move(task)};
  return coordinator::FirstPlans{.plans = *std::move(plans), .may_be_better = true};
}

absl::StatusOr<SharedTask> ClusterPlanMaker::TakeQuickTaskOf(const schedule::TeamLayout& layout) {
  if (quick_.second == nullptr || quick_.first != layout.id) return TaskOf(layout, {});
  return std::exchange(quick_.second, nullptr);
}

void ClusterPlanMaker::PlanBetter(const schedule::TeamLayout& layout, SavingsDone done) {
  absl::StatusOr<SharedTask> task = TakeQuickTaskOf(layout);
  if (!task.ok()) return done(task.status());
  for (auto better = better_.begin(); better != better_.end(); ++better) {
    if (*better->task != **task) continue;
    ++counts_.sets_reused;
    better->waiting.emplace(layout.id, std::move(done));
    *better->is_wanted = true;
    return;
  }
  if (better_.size() >= kBetterTasksMax) {
    return done(absl::ResourceExhaustedError(
        absl::StrCat("plans: too many teams of different shapes wait for better ones (teams=", better_.size(),
                     ", limit=", kBetterTasksMax, ")")));
  }
  Better better{layout.identity.uid, *std::move(task), {}, std::make_shared<std::atomic<bool>>(true)};
  better.waiting.emplace(layout.id, std::move(done));
  OrderBetter(better_.insert(better_.end(), std::move(better)));
}

void ClusterPlanMaker::DropBetter(TeamId team) {
  for (Better& better : better_) {
    if (better.waiting.erase(team) > 0 && better.waiting.empty()) *better.is_wanted = false;
  }
}

void ClusterPlanMaker::OrderBetter(std::list<Better>::iterator better) {
  struct Job {
    SharedTask task;
    Rules rules;
    uint64_t rules_number = 0;
    std::shared_ptr<std::atomic<bool>> is_wanted;
    bool was_skipped = false;
    bool is_new = false;  // `plans` are not cached
    absl::StatusOr<std::vector<schedule::Plan>> plans = std::vector<schedule::Plan>();
    absl::StatusOr<std::vector<double>> savings_us = std::vector<double>();
    absl::Duration cpu;
  };
  const auto job = std::make_shared<Job>(Job{better->task, model_.rules, rules_number_, better->is_wanted});
  if (const auto* kept = FindKept(*job->task)) {
    job->plans = *kept;
  } else {
    job->is_new = true;
  }
  const auto work = [job] {
    job->was_skipped = !*job->is_wanted;
    if (job->was_skipped) return;
    const absl::Duration begun = ThreadCpuTime();
    if (job->is_new) job->plans = MakePlansOf(*job->task, job->rules);
    const absl::StatusOr<std::vector<schedule::Plan>> quick = QuickPlansOf(*job->task, job->rules);
    if (!job->plans.ok() || !quick.ok()) {
      job->savings_us = job->plans.ok() ? quick.status() : job->plans.status();
    } else {
      job->savings_us = SavingsOver(*quick, *job->plans, *job->task);
    }
    job->cpu = ThreadCpuTime() - begun;
  };
  better_workers_->Run(better->user, work, [this, job, better] {
    counts_.cpu += job->cpu;
    const bool is_stale = job->was_skipped || job->rules_number != rules_number_;
    if (is_stale && !better->waiting.empty()) return OrderBetter(better);
    const std::map<TeamId, SavingsDone> waiting = std::move(better->waiting);
    better_.erase(better);
    if (is_stale) return;
    if (job->is_new) ++counts_.sets_made;
    if (job->is_new && job->plans.ok()) kept_.Keep(std::move(job->task), *std::move(job->plans));
    for (const auto& [team, done] : waiting) done(job->savings_us);
  });
}

const std::vector<schedule::Plan>* ClusterPlanMaker::FindKept(const PlanTask& task) {
  const std::vector<schedule::Plan>* const kept = kept_.Find(task);
  if (kept != nullptr) ++counts_.sets_reused;
  return kept;
}

void ClusterPlanMaker::WouldDiffer(const schedule::TeamLayout& layout, std::vector<schedule::Plan> plans,
                                   DifferDone done) {
  const auto old = std::make_shared<const std::vector<schedule::Plan>>(std::move(plans));
  MakePlansLater(layout, {}, [old, done = std::move(done)](absl::StatusOr<std::vector<schedule::Plan>> fresh) {
    if (!fresh.ok()) return done(fresh.status());
    if (fresh->size() != old->size()) return done(true);
    for (size_t i = 0; i < fresh->size(); ++i) {
      (*fresh)[i].id = (*old)[i].id;
      (*fresh)[i].predicted_us = (*old)[i].predicted_us;
    }
    done(*fresh != *old);
  });
}

void ClusterPlanMaker::GainOfReplanning(const schedule::TeamLayout& layout, std::vector<schedule::Plan> plans,
                                        GainDone done) {
  struct Job {
    PlanComparison comparison;
    absl::StatusOr<double> gain = 1.0;
  };
  const auto job = std::make_shared<Job>();
  job->comparison.names = NamesOf(layout);
  job->comparison.shape = layout.shape;
  job->comparison.before = std::move(plans);
  MakePlansLater(layout, {}, [this, job, user = layout.identity.uid, done = std::move(done)](auto fresh) {
    if (!fresh.ok()) return done(fresh.status());
    job->comparison.after = *std::move(fresh);
    absl::StatusOr<ClusterTopologies::Shared> topology = WeightedTopologyWith(job->comparison.names);
    if (!topology.ok()) return done(topology.status());
    job->comparison.topology = *std::move(topology);
    const auto price = [job] { job->gain = GainOf(job->comparison); };
    if (workers_ == nullptr) {
      price();
      return done(job->gain);
    }
    workers_->Run(user, price, [job, done] { done(job->gain); });
  });
}

// An Explaining is all on which a plan's explanation depends, and then the explanation. Any thread may Run it.
struct ClusterPlanMaker::Explaining {
  std::vector<std::string> names;
  ClusterTopologies::Shared topology;
  schedule::TeamShape shape;
  schedule::Plan plan;
  CallArguments call;
  Rules rules;
  uint64_t rules_number = 0;
  // The plans that would be made now, to compare with. If they are not cached, they are made by `task`; those that are
  // to replace quick plans may take long, and are made elsewhere.
  SharedTask task;
  absl::StatusOr<std::vector<schedule::Plan>> now = std::vector<schedule::Plan>();
  absl::Duration cpu;  // of making them
  absl::StatusOr<coordinator::PlanExplanation> result = absl::UnknownError("");

  void Run() {
    const absl::Duration begun = ThreadCpuTime();
    if (task != nullptr) now = MakePlansOf(*task, rules);
    cpu = ThreadCpuTime() - begun;
    result = Explain();
  }
  absl::StatusOr<coordinator::PlanExplanation> Explain() const {
    PlannerOptions planner_options;
    planner_options.rules = rules;
    // No plans can be made if the present rules are impossible for the team; then there is nothing to compare with.
    ASSIGN_OR_RETURN(const Explanation explanation,
                     Planner(&*topology, topology->costs(), planner_options)
                         .Explain(plan, shape, names, call,
                                  now.ok() ? absl::MakeConstSpan(*now) : absl::Span<const schedule::Plan>()));
    return coordinator::PlanExplanation{.text = explanation.text,
                                        .dot = explanation.dot,
                                        .json = ExplanationJson(explanation, shape, names),
                                        .critical_path = NodesOf(explanation.prediction.critical_path, names),
                                        .bytes = call.bytes(),
                                        .predicted_us = static_cast<double>(explanation.prediction.total_ns) / 1000};
  }
};

absl::StatusOr<std::shared_ptr<ClusterPlanMaker::Explaining>> ClusterPlanMaker::StartExplaining(
    const schedule::TeamLayout& layout, const schedule::Plan& plan, Bytes bytes) {
  const auto explaining = std::make_shared<Explaining>();
  explaining->names = NamesOf(layout);
  ASSIGN_OR_RETURN(explaining->topology, TopologyWith(explaining->names));
  explaining->shape = layout.shape;
  explaining->plan = plan;
  explaining->call = bytes.has_value() ? CallOfBytes(plan, *bytes) : TypicalCall(plan);
  explaining->rules = model_.rules;
  explaining->rules_number = rules_number_;
  ASSIGN_OR_RETURN(SharedTask task, TaskOf(layout, {}));
  if (const auto* kept = FindKept(*task)) {
    explaining->now = *kept;
  } else if (!IsQuickPlan(plan)) {
    explaining->task = std::move(task);
  }
  return explaining;
}

void ClusterPlanMaker::EndExplaining(Explaining& explaining) {
  counts_.cpu += explaining.cpu;
  if (explaining.task == nullptr || !explaining.now.ok()) return;
  ++counts_.sets_made;
  if (explaining.rules_number == rules_number_) kept_.Keep(std::move(explaining.task), *explaining.now);
}

absl::StatusOr<coordinator::PlanExplanation> ClusterPlanMaker::Explain(const schedule::TeamLayout& layout,
                                                                       const schedule::Plan& plan, Bytes bytes) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Explaining> explaining, StartExplaining(layout, plan, bytes));
  explaining->Run();
  EndExplaining(*explaining);
  return explaining->result;
}

absl::Status ClusterPlanMaker::RunForAdministrators(std::function<void()> work, std::function<void()> done) {
  if (workers_ == nullptr) {
    work();
    done();
    return absl::OkStatus();
  }
  if (explaining_ >= kExplainingMax) {
    return absl::ResourceExhaustedError(absl::StrCat("plans: too many wait to be explained (plans=", explaining_,
                                                     ", limit=", kExplainingMax, "): try again"));
  }
  ++explaining_;
  workers_->Run(kAdministrators, std::move(work), [this, done = std::move(done)] {
    --explaining_;
    done();
  });
  return absl::OkStatus();
}

void ClusterPlanMaker::ExplainLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, Bytes bytes,
                                    ExplainDone done) {
  const auto explaining = StartExplaining(layout, plan, bytes);
  if (!explaining.ok()) return done(explaining.status());
  const absl::Status runs = RunForAdministrators([job = *explaining] { job->Run(); },
                                                 [this, job = *explaining, done] {
                                                   EndExplaining(*job);
                                                   done(job->result);
                                                 });
  if (!runs.ok()) done(runs);
}

absl::StatusOr<std::vector<std::string>> ClusterPlanMaker::CriticalPath(const schedule::TeamLayout& layout,
                                                                        const schedule::Plan& plan) {
  const std::vector<std::string> names = NamesOf(layout);
  ASSIGN_OR_RETURN(const ClusterTopologies::Shared topology, TopologyWith(names));
  return CriticalPathOf(layout, plan, names, *topology);
}

void ClusterPlanMaker::CriticalPathLater(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                         PathDone done) {
  const std::vector<std::string> names = NamesOf(layout);
  const absl::StatusOr<ClusterTopologies::Shared> topology = TopologyWith(names);
  if (!topology.ok()) return done(topology.status());
  const auto path = std::make_shared<absl::StatusOr<std::vector<std::string>>>(absl::UnknownError(""));
  const absl::Status runs = RunForAdministrators(
      [path, layout, plan, names, topology = *topology] { *path = CriticalPathOf(layout, plan, names, *topology); },
      [path, done] { done(*path); });
  if (!runs.ok()) done(runs);
}

absl::StatusOr<double> ClusterPlanMaker::Predict(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                                 uint64_t bytes) {
  ASSIGN_OR_RETURN(const ClusterTopologies::Shared topology, TopologyWith(NamesOf(layout)));
  return PredictedUsOf(layout, plan, *topology, bytes);
}

void ClusterPlanMaker::PredictLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, uint64_t bytes,
                                    PredictDone done) {
  const absl::StatusOr<ClusterTopologies::Shared> topology = TopologyWith(NamesOf(layout));
  if (!topology.ok()) return done(topology.status());
  const auto price = std::make_shared<absl::StatusOr<double>>(0.0);
  const absl::Status runs = RunForAdministrators(
      [price, layout, plan, bytes, topology = *topology] { *price = PredictedUsOf(layout, plan, *topology, bytes); },
      [price, done] { done(*price); });
  if (!runs.ok()) done(runs);
}

}  // namespace copse::planner
