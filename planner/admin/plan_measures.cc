// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/plan_measures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/planner.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

// Daemons that do not answer must not keep a list waiting for long.
constexpr absl::Duration kAskTimeout = absl::Seconds(1);
// Limits the reasons for a prediction that is off.
constexpr size_t kWhyBytesMax = 1024;
// TopologyHistory's sources begin so if daemons have measured the topology.
constexpr std::string_view kMeasuredSource = "probe ";

}  // namespace

void PlanMeasures::AddNodes(const schedule::TeamLayout& layout, std::set<std::string>* nodes) {
  const size_t count = layout.nodes.size(), asked = std::min(count, kAskedOfTeamMax);
  for (size_t i = 0; i < asked; ++i) nodes->insert(layout.nodes[asked == 1 ? 0 : i * (count - 1) / (asked - 1)].name);
}

void PlanMeasures::Ask(const std::set<std::string>& nodes, std::vector<TeamId> teams, Done done) const {
  const auto calls = std::make_shared<MeasuredCalls>();
  if (nodes.empty()) return done(calls);
  if (teams.empty()) teams.push_back(TeamId(0));
  const auto left = std::make_shared<size_t>(teams.size());
  const auto on_silent = [calls, left, done = std::move(done)](const std::vector<std::string>& /*silent*/) {
    if (--*left == 0) done(calls);
  };
  for (const TeamId team : teams) {
    const bool is_first = team == teams.front();
    coordinator_->queries().QueryStatusOfEach(
        {nodes.begin(), nodes.end()}, kAskTimeout,
        [this, calls, team, is_first](const schedule::DaemonStatus& status) {
          if (is_first) calls->Add(status);
          if (team != TeamId(0) && TellsPlanCalls(status.node)) calls->AddPlanCalls(team, status);
        },
        on_silent, /*latencies=*/is_first, team);
  }
}

bool PlanMeasures::TellsPlanCalls(const std::string& node) const {
  const auto info = coordinator_->view().FindNode(node);
  return info.ok() && info->announcement->features.contains(schedule::Feature::kPlanCalls);
}

bool PlanMeasures::IsPricedAtOnce(const schedule::TeamLayout& layout) {
  return IsPlannedFast(layout.shape, layout.identity.family);
}

Surroundings PlanMeasures::SurroundingsOf(const MeasuredCalls& calls, const MeasuredCall& call) const {
  Surroundings around{.links = "defaults", .processes = call.clients};
  if (plan_maker_->topology().has_value()) {
    const auto& versions = topologies_->versions();
    around.links = versions.empty() ? "file" : rpc::ToUtf8(versions.back().source);
    if (around.links.starts_with(kMeasuredSource)) around.links.clear();
  }
  const auto node = coordinator_->view().FindNode(call.node);
  if (node.ok()) around.cores = node->announcement->cores;
  // The daemons of a planner that listens on loopback share this machine's cores.
  if (const uint32_t shared = plan_maker_->model().shared_cores; shared > 0) {
    around.cores = shared;
    around.processes = calls.clients();
  }
  return around;
}

void PlanMeasures::Fill(const MeasuredCalls& calls, const MeasuredCall& call, v1::PlanRow* row) const {
  v1::PlanMeasurement* const measured = row->mutable_measured();
  measured->set_median_us(call.median_us);
  measured->set_least_us(call.least_us);
  measured->set_count(call.count);
  measured->set_bytes_min(call.bytes_min);
  measured->set_bytes_max(call.bytes_max);
  measured->set_node(rpc::ToUtf8(call.node));
  if (call.plan_bytes.value_or(row->predicted_bytes()) != row->predicted_bytes()) {
    measured->set_why(absl::StrCat("predicted for another size (predicted=", row->predicted_bytes(),
                                   " B, ran=", *call.plan_bytes, " B): see plan show"));
    return;
  }
  measured->set_why(rpc::ToUtf8(WhyOff(row->predicted_us(), call, SurroundingsOf(calls, call)), kWhyBytesMax));
}

}  // namespace copse::planner
