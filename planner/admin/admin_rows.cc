// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/admin_rows.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/string_view.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "rpc/text.h"
#include "schedule/folds.h"
#include "schedule/select_plan.h"

namespace copse::planner {
namespace {

// Limits the host list of the nodes that share a change, in bytes.
constexpr size_t kHostlistBytesMax = size_t{1} << 20;

// Rates are stored in bytes a second, and shown in bits.
double BitsPerSecond(int64_t bytes_per_s) { return 8 * static_cast<double>(bytes_per_s); }

std::set<std::string> NamesOf(const std::vector<coordinator::NodeInfo>& nodes) {
  std::set<std::string> names;
  for (const coordinator::NodeInfo& node : nodes) names.insert(node.announcement->name);
  return names;
}

}  // namespace

void FillNode(const coordinator::NodeInfo& info, v1::NodeRow* row) {
  row->set_name(rpc::ToUtf8(info.announcement->name));
  row->set_state(info.state);
  row->set_incarnation(info.announcement->incarnation.value());
  row->set_address(rpc::ToUtf8(info.announcement->admin_address));
  row->set_version(rpc::ToUtf8(info.announcement->version));
  row->set_ranks(info.ranks);
  row->set_last_seen_s(info.last_seen_s);
  row->set_cores(info.announcement->cores);
  row->set_memory_limit_bytes(info.announcement->memory_limit_bytes);
  row->set_connected(info.connected);
  row->set_why(rpc::ToUtf8(info.why));
}

void FillTrace(const coordinator::TraceAnswer& answer, v1::GetTraceReply* reply) {
  const schedule::TraceReply& from = answer.reply;
  reply->set_clock(from.clock);
  reply->set_now_ns(from.now_ns);
  reply->set_wall_ns(from.wall_ns);
  const absl::Duration round_trip = answer.heard - answer.asked;
  reply->set_planner_ns(absl::ToUnixNanos(answer.asked + round_trip / 2));
  reply->set_round_trip_ns(absl::ToInt64Nanoseconds(round_trip));
  reply->set_first(from.first);
  reply->set_next(from.next);
  reply->set_off(from.off);
  reply->set_records(from.records);
  reply->set_end(from.end);
}

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()); }

void FillTeam(const coordinator::TeamInfo& info, std::optional<uint32_t> calls_in_flight, v1::TeamRow* row) {
  const schedule::TeamLayout& layout = info.layout;
  row->set_id(layout.id.value());
  row->set_name(rpc::ToUtf8(layout.identity.name));
  row->set_size(info.size);
  row->set_epoch(info.epoch.value());
  row->set_state(info.state);
  for (uint32_t rank = 0; rank < layout.shape.size(); ++rank) {
    v1::TeamMember* member = row->add_members();
    member->set_rank(rank);
    member->set_node(rpc::ToUtf8(layout.nodes[layout.shape.node_of_rank[rank].value()].name));
  }
  if (calls_in_flight.has_value()) row->set_calls(*calls_in_flight);
  row->set_uid(layout.identity.uid);
  row->set_job(rpc::ToUtf8(layout.identity.job));
  row->set_parent(layout.parent.value());
  row->set_why(rpc::ToUtf8(info.why));
  row->set_family(std::string(FamilyName(layout.identity.family)));
  if (info.ended_ago.has_value()) row->set_ended(TimeText(absl::Now() - *info.ended_ago));
}

TeamId ShownTeam(const schedule::TeamLayout& layout) {
  return schedule::IsDerivedTeam(layout.identity) ? layout.parent : layout.id;
}

bool IsOf(const schedule::TeamLayout& layout, TeamId team) { return layout.id == team || ShownTeam(layout) == team; }

void FillPlan(const coordinator::PlanInfo& info, const std::vector<std::string>& critical_path, v1::PlanRow* row) {
  FillPlan({.id = info.plan.id, .epoch = info.epoch, .layout = &info.layout}, info.plan, critical_path, row);
}

void FillPlan(const coordinator::ListedPlan& listed, const schedule::Plan& plan,
              const std::vector<std::string>& critical_path, v1::PlanRow* row) {
  row->set_id(listed.id.value());
  row->set_team(ShownTeam(*listed.layout).value());
  row->set_collective(std::string(CollectiveName(plan.collective)));
  row->set_bytes_min(plan.bytes_min);
  row->set_bytes_max(plan.bytes_max);
  row->set_algorithm(rpc::ToUtf8(plan.algorithm));
  row->set_epoch(listed.epoch.value());
  row->set_predicted_us(plan.predicted_us);
  row->set_predicted_bytes(TypicalCall(plan).bytes());
  row->set_segment_bytes(plan.segment_bytes);
  for (const std::string& node : critical_path) row->add_critical_path(rpc::ToUtf8(node));
}

void FillUnknownPlan(const coordinator::ListedPlan& listed, v1::PlanRow* row) {
  row->set_id(listed.id.value());
  row->set_team(ShownTeam(*listed.layout).value());
  row->set_epoch(listed.epoch.value());
  row->set_collective("unknown");
  row->set_algorithm("unknown");
}

void FillEdges(const coordinator::PlanInfo& info, v1::PlanRow* row) {
  for (const auto& [from, to] : PlanEdges(info.plan)) {
    v1::PlanEdge* edge = row->add_edges();
    edge->set_from(rpc::ToUtf8(info.layout.nodes[from].name));
    edge->set_to(rpc::ToUtf8(info.layout.nodes[to].name));
  }
}

void FillCollective(const coordinator::CollectiveInfo& info, const schedule::TeamLayout* layout,
                    v1::CollectiveRow* row) {
  row->set_team(layout == nullptr ? info.team.value() : ShownTeam(*layout).value());
  row->set_sequence(info.sequence.value());
  row->set_collective(std::string(CollectiveName(info.arguments.collective)));
  row->set_arguments(DescribeArguments(info.arguments));
  row->set_age_s(info.age_s);
  row->set_plan_collective(std::string(CollectiveName(schedule::PlanCollectiveOf(info.arguments))));
  row->set_plan_bytes(schedule::PlanBytesOf(info.arguments, layout == nullptr ? 1 : layout->shape.size()));
  if (info.waits_for != Family::kCommon) {
    row->set_waits_for(std::string(FamilyName(info.waits_for)));
  }
  for (const Rank rank : info.joined) row->add_joined(rank.value());
  std::set<std::string> nodes;
  for (const Rank rank : info.missing) {
    row->add_missing(rank.value());
    if (layout != nullptr && rank.value() < layout->shape.size()) {
      nodes.insert(rpc::ToUtf8(layout->nodes[layout->shape.node_of_rank[rank.value()].value()].name));
    }
  }
  for (const std::string& node : nodes) row->add_missing_nodes(node);
}

void FillProbe(const ProbeReport& report, const std::optional<topology::Topology>& before,
               v1::ProbeTopologyReply* reply) {
  const auto& switches = report.topology.switches();
  // Adds the link above a switch or node; `was` is what was known of it, or null.
  const auto add_link = [&](const auto& item, const measure::LinkFit& fit, const auto* was) {
    v1::ProbedLinkRow* row = reply->add_links();
    row->set_from(rpc::ToUtf8(item.name));
    row->set_to(rpc::ToUtf8(switches[item.parent].name));
    row->set_latency_ns(static_cast<double>(item.latency_ns));
    row->set_latency_spread_ns(static_cast<double>(fit.latency_spread_ns));
    row->set_latency_doubt(measure::LatencyDoubtName(fit.latency_doubt));
    row->set_bandwidth_bps(BitsPerSecond(item.bandwidth_bytes_per_s));
    row->set_rate_doubt(measure::RateDoubtName(fit.rate_doubt));
    if (was == nullptr) return;
    row->set_latency_before_ns(static_cast<double>(was->latency_ns));
    row->set_bandwidth_before_bps(BitsPerSecond(was->bandwidth_bytes_per_s));
  };
  // A probe keeps the order of switches and nodes.
  for (uint32_t s = 0; s < switches.size(); ++s) {
    if (s == report.topology.root_switch()) continue;
    add_link(switches[s], report.fit.switches[s], before ? &before->switches()[s] : nullptr);
  }
  const auto& nodes = report.topology.nodes();
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    add_link(nodes[n], report.fit.nodes[n], before ? &before->nodes()[n] : nullptr);
  }
  for (const ProbedNode& node : report.nodes) {
    v1::ProbedNodeRow* row = reply->add_nodes();
    row->set_name(rpc::ToUtf8(node.name));
    row->set_measured(node.measured);
    row->set_overhead_ns(static_cast<double>(node.overhead_ns));
    row->set_receive_overhead_ns(static_cast<double>(node.receive_overhead_ns));
  }
  for (const ProbedPair& pair : report.pairs) {
    v1::ProbedPairRow* row = reply->add_pairs();
    row->set_from(rpc::ToUtf8(pair.a));
    row->set_to(rpc::ToUtf8(pair.b));
    row->set_measured(pair.measured);
    row->set_latency_ns(static_cast<double>(pair.measurement.latency_ns));
    row->set_latency_spread_ns(static_cast<double>(pair.measurement.latency_spread_ns));
    row->set_fitted_latency_ns(static_cast<double>(pair.fitted_latency_ns));
    row->set_bandwidth_bps(BitsPerSecond(pair.measurement.bandwidth_bytes_per_s));
    row->set_why(rpc::ToUtf8(pair.why));
  }
  reply->set_tree(before.has_value() ? "known" : "found");
  reply->set_latency_error_ns(static_cast<double>(report.fit.latency_error_ns));
  reply->set_latency_error_max_ns(static_cast<double>(report.fit.latency_error_ns_max));
  for (const std::string& note : report.notes) reply->add_notes(rpc::ToUtf8(note));
}

void FillTopology(const topology::Topology& topology, const std::vector<coordinator::NodeInfo>& registered,
                  v1::ShowTopologyReply* reply) {
  const std::set<std::string> names = NamesOf(registered);
  const auto& switches = topology.switches();
  // Sets the figures of the link from the row's switch or node to `parent`, in the row and in a row of links.
  const auto add_link = [&](const auto& item, const std::string& parent, auto* row) {
    row->set_latency_ns(static_cast<double>(item.latency_ns));
    row->set_bandwidth_bps(BitsPerSecond(item.bandwidth_bytes_per_s));
    v1::LinkRow* link = reply->add_links();
    link->set_from(row->name());
    link->set_to(parent);
    link->set_latency_ns(row->latency_ns());
    link->set_bandwidth_bps(row->bandwidth_bps());
  };
  for (const topology::Switch& s : switches) {
    v1::SwitchRow* row = reply->add_switches();
    row->set_name(rpc::ToUtf8(s.name));
    if (s.parent == topology::kNoParent) continue;
    row->set_parent(rpc::ToUtf8(switches[s.parent].name));
    add_link(s, row->parent(), row);
  }
  for (const topology::Node& n : topology.nodes()) {
    v1::TopologyNodeRow* row = reply->add_nodes();
    row->set_name(rpc::ToUtf8(n.name));
    row->set_switch_(rpc::ToUtf8(switches[n.parent].name));
    row->set_overhead_ns(static_cast<double>(n.overhead_ns));
    row->set_registered(names.contains(n.name));
    row->set_cores(n.cores);
    add_link(n, row->switch_(), row);
  }
}

void FillChanges(const std::vector<topology::TopologyChange>& changes,
                 google::protobuf::RepeatedPtrField<v1::TopologyChange>* rows) {
  for (const topology::TopologyChange& change : changes) {
    v1::TopologyChange* row = rows->Add();
    row->set_kind(change.kind);
    row->set_thing(change.thing);
    row->set_names(rpc::ToUtf8(change.names, kHostlistBytesMax));
    row->set_key(change.key);
    row->set_before(rpc::ToUtf8(change.before));
    row->set_after(rpc::ToUtf8(change.after));
  }
}

void FillVersion(const coordinator::TopologyVersion& version, bool in_force, v1::TopologyVersionRow* row) {
  row->set_version(version.version);
  row->set_applied(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", version.applied, absl::UTCTimeZone()));
  row->set_source(rpc::ToUtf8(version.source));
  row->set_in_force(in_force);
  row->set_bytes(version.text.size());
}

void FillOutcome(const TopologyOutcome& outcome, v1::ImportTopologyReply* reply) {
  reply->set_version(outcome.version);
  reply->set_changed(outcome.changed);
  for (const TeamId team : outcome.replanned) reply->add_replanned(team.value());
  for (const auto& [team, status] : outcome.not_replanned) {
    v1::TeamNotReplanned* row = reply->add_not_replanned();
    row->set_team(team.value());
    row->set_why(rpc::ToUtf8(StdView(status.message())));
  }
}

void AddRegistrationNotes(const topology::Topology& topology, const std::vector<coordinator::NodeInfo>& registered,
                          v1::ImportTopologyReply* reply) {
  const std::set<std::string> names = NamesOf(registered);
  std::vector<std::string> unknown, absent;
  for (const coordinator::NodeInfo& node : registered) {
    if (!topology.FindNode(node.announcement->name)) unknown.push_back(node.announcement->name);
  }
  for (const topology::Node& node : topology.nodes()) {
    if (!names.contains(node.name)) absent.push_back(node.name);
  }
  const auto list = [](const std::vector<std::string>& nodes) { return rpc::ToUtf8(CompressHostlist(nodes), 1024); };
  if (!unknown.empty()) {
    reply->add_notes(absl::StrCat("registered, but not in the topology: taken to hang on its root switch (count=",
                                  unknown.size(), ", nodes=", list(unknown), ")"));
  }
  if (!absent.empty()) {
    reply->add_notes(
        absl::StrCat("in the topology, but not registered (count=", absent.size(), ", nodes=", list(absent), ")"));
  }
}

}  // namespace copse::planner
