// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/topology_history.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/topology/topology_yaml.h"

namespace copse::planner {

using coordinator::TopologyVersion;

namespace {

absl::StatusOr<std::optional<topology::Topology>> Parse(const TopologyVersion& version) {
  std::optional<topology::Topology> none;
  if (version.text.empty()) return none;
  const absl::StatusOr<topology::Topology> topology =
      topology::ParseTopologyYaml(version.text, absl::StrCat("version ", version.version));
  if (!topology.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "topology: a stored version cannot be read (version=", version.version, "): ", topology.status().message()));
  }
  return std::optional<topology::Topology>(*topology);
}

std::string TextOf(const std::optional<topology::Topology>& topology) {
  return topology.has_value() ? topology::FormatTopologyYaml(*topology) : "";
}

std::string FileSource(const std::string& path) { return path.empty() ? "no file" : absl::StrCat("file ", path); }

}  // namespace

void TopologyHistory::Start(const std::string& path, const std::optional<topology::Topology>& topology) {
  for (auto& [number, version] : coordinator_->TakeTopologies()) versions_.push_back(std::move(version));
  std::optional<topology::Topology> newest;
  while (!versions_.empty()) {
    absl::StatusOr<std::optional<topology::Topology>> parsed = Parse(versions_.back());
    if (parsed.ok()) {
      newest = *std::move(parsed);
      break;
    }
    COPSE_LOG(kError, parsed.status().message(), "; the one before it takes its place");
    versions_.pop_back();
  }
  if (!IsKnownFile(topology)) {
    TopologyVersion version = NextVersion({.topology = topology, .source = FileSource(path), .from_file = true});
    coordinator_->Record(coordinator::PutTopology{std::make_shared<const TopologyVersion>(version)}, nullptr);
    Append(std::move(version));
    newest = topology;
  }
  if (!versions_.empty()) plan_maker_->SetTopology(std::move(newest));
}

bool TopologyHistory::IsKnownFile(const std::optional<topology::Topology>& topology) const {
  const auto before =
      std::find_if(versions_.rbegin(), versions_.rend(), [](const TopologyVersion& v) { return v.from_file; });
  return before == versions_.rend() ? !topology.has_value() : before->text == TextOf(topology);
}

TopologyVersion TopologyHistory::NextVersion(const New& next) const {
  return {.version = newest_version() + 1,
          .applied = absl::Now(),
          .source = next.source,
          .from_file = next.from_file,
          .text = TextOf(next.topology)};
}

void TopologyHistory::Append(TopologyVersion version) {
  COPSE_LOG(kInfo, "topology: version ", version.version, " is in force (source=", version.source, ")");
  versions_.push_back(std::move(version));
  while (versions_.size() > kTopologyVersionsMax) {
    const auto newest_file =
        std::find_if(versions_.rbegin(), versions_.rend(), [](const TopologyVersion& v) { return v.from_file; });
    const auto oldest = versions_.begin() + (newest_file == versions_.rend() - 1 ? 1 : 0);
    coordinator_->Record(coordinator::DropTopology{oldest->version});
    versions_.erase(oldest);
  }
}

void TopologyHistory::ApplyFile(const std::string& path, const std::optional<topology::Topology>& topology) {
  const auto done = [](const absl::StatusOr<TopologyOutcome>& outcome) {
    if (!outcome.ok()) COPSE_LOG(kError, "reload: the topology stays as it was: ", outcome.status().message());
  };
  new_.push_back({.topology = topology, .source = FileSource(path), .from_file = true, .done = done});
  if (new_.size() == 1) StoreNext();
}

void TopologyHistory::Apply(topology::Topology topology, const std::string& source, Done done, double gain_min) {
  new_.push_back({.topology = std::move(topology), .source = source, .gain_min = gain_min, .done = std::move(done)});
  if (new_.size() == 1) StoreNext();
}

void TopologyHistory::StoreNext() {
  // One that is in force already makes no version, nor does a file that is the same as the last one: those before it
  // may have been stored meanwhile.
  const auto is_old = [this](const New& next) {
    return next.from_file ? IsKnownFile(next.topology) : in_force() == next.topology;
  };
  while (!new_.empty() && is_old(new_.front())) {
    new_.front().done(TopologyOutcome{.version = newest_version()});
    new_.pop_front();
  }
  if (new_.empty()) return;
  TopologyVersion version = NextVersion(new_.front());
  const auto record = std::make_shared<const TopologyVersion>(version);
  coordinator_->Record(coordinator::PutTopology{record},
                       [this, version = std::move(version)](const absl::Status& status) { OnStored(status, version); });
}

void TopologyHistory::OnStored(const absl::Status& status, TopologyVersion version) {
  New& stored = new_.front();
  if (status.ok()) {
    Append(std::move(version));
    PutInForce(std::move(stored.topology), stored.gain_min, std::move(stored.done));
  } else {
    stored.done(status);
  }
  new_.pop_front();
  StoreNext();
}

absl::StatusOr<std::optional<topology::Topology>> TopologyHistory::Version(uint64_t version) const {
  for (const TopologyVersion& candidate : versions_) {
    if (candidate.version == version) return Parse(candidate);
  }
  if (versions_.empty()) {
    return absl::NotFoundError(absl::StrCat("topology: no version is kept (version=", version, ")"));
  }
  return absl::NotFoundError(absl::StrCat("topology: no such version (version=", version,
                                          ", kept=", versions_.front().version, "-", versions_.back().version, ")"));
}

std::vector<TeamId> TopologyHistory::ReadyTeams(
    const std::function<bool(const coordinator::TeamInfo&)>& concerned) const {
  std::vector<TeamId> teams;
  for (auto info = coordinator_->view().IdentifiedTeamAfter(TeamId(0)); info.has_value();
       info = coordinator_->view().IdentifiedTeamAfter(info->layout.id)) {
    if (info->state != "ready" || schedule::IsSubTeam(info->layout)) continue;
    if (concerned(*info)) teams.push_back(info->layout.id);
  }
  return teams;
}

void TopologyHistory::ApplyRules(Rules rules) {
  const Rules before = plan_maker_->model().rules;
  if (before == rules) return;
  plan_maker_->SetRules(rules);
  const auto said_of = [](const Rules& all, uint32_t ranks) {
    Rules found;
    for (const Rule& rule : all) {
      if (rule.IsForTeam(ranks)) found.push_back(rule);
    }
    return found;
  };
  const auto concerned = [&](const coordinator::TeamInfo& info) {
    return said_of(before, info.size) != said_of(rules, info.size);
  };
  Switch(ReadyTeams(concerned), kReplanIfOthers, {}, [](const absl::StatusOr<TopologyOutcome>&) {});
}

// Returns true also for a team that cannot be judged: ReplanTeam then reports the error.
void TopologyHistory::FindWorth(TeamId team, double gain_min, std::function<void(bool)> then) const {
  const auto info = coordinator_->view().FindTeam(team);
  if (gain_min == 1 || !info.ok()) return then(true);
  std::vector<schedule::Plan> plans = coordinator_->view().PlansOfTeam(team);
  if (gain_min == kReplanIfOthers) {
    return plan_maker_->WouldDiffer(info->layout, std::move(plans),
                                    [then](absl::StatusOr<bool> differ) { then(!differ.ok() || *differ); });
  }
  plan_maker_->GainOfReplanning(info->layout, std::move(plans), [then, gain_min](absl::StatusOr<double> gain) {
    then(!gain.ok() || *gain >= gain_min);
  });
}

struct TopologyHistory::Replanning {
  std::vector<TeamId> waiting;  // the last one is switched next
  size_t running = 0;           // switches in progress
  TopologyOutcome outcome;
  Done done;
};

void TopologyHistory::PutInForce(std::optional<topology::Topology> topology, double gain_min, Done done) {
  const ClusterModel before = plan_maker_->model();
  plan_maker_->SetTopology(std::move(topology));
  TopologyOutcome outcome;
  outcome.version = versions_.back().version;
  outcome.changed = true;
  ClusterTopologies those_before, those_after;
  const auto concerned = [&](const coordinator::TeamInfo& info) {
    std::vector<std::string> names;
    for (const schedule::TeamNode& node : info.layout.nodes) names.push_back(node.name);
    const auto was = those_before.With(before, names), is = those_after.With(plan_maker_->model(), names);
    return !was.ok() || !is.ok() || topology::ChangesBetween(**was, **is, names);
  };
  Switch(ReadyTeams(concerned), gain_min, std::move(outcome), std::move(done));
}

void TopologyHistory::ReplanTeamsOf(const std::string& node) {
  const auto concerned = [&](const coordinator::TeamInfo& info) {
    const auto& nodes = info.layout.nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](const schedule::TeamNode& n) { return n.name == node; });
  };
  Switch(ReadyTeams(concerned), kReplanGainMin, {}, [](const absl::StatusOr<TopologyOutcome>&) {});
}

void TopologyHistory::Switch(std::vector<TeamId> teams, double gain_min, TopologyOutcome outcome, Done done) {
  auto replanning = std::make_shared<Replanning>();
  replanning->waiting = std::move(teams);
  std::reverse(replanning->waiting.begin(), replanning->waiting.end());
  replanning->outcome = std::move(outcome);
  replanning->done = std::move(done);
  // The queue's other tasks (messages of daemons, calls) run between two teams.
  auto next = std::make_shared<std::function<void()>>();
  *next = [this, replanning, gain_min, weak = std::weak_ptr(next)] {
    if (replanning->waiting.empty()) {
      if (replanning->running == 0 && replanning->done) std::exchange(replanning->done, nullptr)(replanning->outcome);
      return;
    }
    const TeamId team = replanning->waiting.back();
    replanning->waiting.pop_back();
    ++replanning->running;
    const auto self = weak.lock();
    const auto on_replanned = [this, replanning, team, self](const absl::Status& status) {
      --replanning->running;
      if (status.ok()) {
        replanning->outcome.replanned.push_back(team);
      } else {
        COPSE_LOG(kWarning, "topology: a team keeps its plans: ", status.message());
        replanning->outcome.not_replanned.emplace_back(team, status);
      }
      queue_->Post([self] { (*self)(); });
    };
    FindWorth(team, gain_min, [this, replanning, team, self, on_replanned](bool is_worth) {
      if (is_worth) {
        coordinator_->ReplanTeam(team, {}, on_replanned, kReplanPatience);
      } else {
        --replanning->running;
      }
      queue_->Post([self] { (*self)(); });
    });
  };
  (*next)();
}

}  // namespace copse::planner
