// SPDX-License-Identifier: Apache-2.0
#include "rpc/control_conversion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "proto/copse/v1/control.pb.h"
#include "rpc/status_report.h"
#include "rpc/text.h"

namespace copse::rpc {
namespace {

using schedule::FailureReport;

absl::Status Bad(std::string_view what) { return absl::InvalidArgumentError(AbslView(what)); }

absl::Status CheckCount(std::string_view what, uint64_t count, uint64_t limit) {
  if (count <= limit) return absl::OkStatus();
  return Bad(absl::StrCat(AbslView(what), ": ", count, " (limit ", limit, ")"));
}

// --- To protocol buffers ---

void Put(const FailureReport& from, v1::FailureReport* to) {
  to->set_failure(static_cast<v1::Failure>(from.failure));
  to->set_text(ToUtf8(from.text, kTextBytesMax));
  to->set_cause(static_cast<uint32_t>(from.cause));
  to->set_node(ToUtf8(from.node, kTextBytesMax));
  if (from.rank.has_value()) to->set_rank(from.rank->value());
  to->set_limit(from.limit);
}

void Put(const schedule::TeamIdentity& from, v1::TeamIdentity* to) {
  to->set_uid(from.uid);
  to->set_job(from.job);
  to->set_nonce(from.nonce);
  to->set_name(from.name);
  to->set_family(static_cast<uint32_t>(from.family));
}

void Put(const schedule::TeamLayout& from, v1::TeamLayout* to) {
  to->set_id(from.id.value());
  Put(from.identity, to->mutable_identity());
  to->set_parent(from.parent.value());
  to->mutable_node_of_rank()->Reserve(static_cast<int>(from.shape.size()));
  for (const NodeIndex node : from.shape.node_of_rank) to->add_node_of_rank(node.value());
  for (const schedule::TeamNode& node : from.nodes) {
    v1::TeamNode* out = to->add_nodes();
    out->set_name(ToUtf8(node.name));
    out->set_incarnation(node.incarnation.value());
    out->set_worker_address(node.worker_address);
  }
  to->set_window(from.window);
}

void Put(const std::vector<schedule::EdgeLabel>& from, google::protobuf::RepeatedPtrField<v1::EdgeLabel>* to) {
  for (const schedule::EdgeLabel& label : from) {
    v1::EdgeLabel* out = to->Add();
    out->set_neighbor(label.neighbor.value());
    out->set_label(label.label);
  }
}

void Put(const schedule::Features& from, google::protobuf::RepeatedField<uint32_t>* to) {
  for (const schedule::Feature feature : from.All()) to->Add(static_cast<uint32_t>(feature));
}

void Put(const std::vector<schedule::CallStatus>& from, google::protobuf::RepeatedPtrField<v1::CallStatus>* to) {
  for (const schedule::CallStatus& call : from) {
    v1::CallStatus* c = to->Add();
    c->set_team(call.team.value());
    c->set_sequence(call.sequence.value());
    c->mutable_arguments()->set_collective(static_cast<uint32_t>(call.arguments.collective));
    c->mutable_arguments()->set_type(static_cast<uint32_t>(call.arguments.type));
    c->mutable_arguments()->set_op(static_cast<uint32_t>(call.arguments.op));
    c->mutable_arguments()->set_count(call.arguments.count);
    c->mutable_arguments()->set_root(call.arguments.root);
    c->mutable_arguments()->set_options(call.arguments.options);
    c->mutable_arguments()->set_counts_hash(call.arguments.counts_hash);
    c->set_age_s(call.age_s);
    for (const Rank rank : call.joined) c->add_joined(rank.value());
    for (const Rank rank : call.missing) c->add_missing(rank.value());
    c->set_waits_for(static_cast<uint32_t>(call.waits_for));
  }
}

void Put(const std::vector<schedule::RankProgress>& from, google::protobuf::RepeatedPtrField<v1::RankProgress>* to) {
  for (const schedule::RankProgress& progress : from) {
    v1::RankProgress* p = to->Add();
    p->set_team(progress.team.value());
    p->set_rank(progress.rank.value());
    p->set_calls(progress.calls.value());
  }
}

void Put(const schedule::StatusReport& from, v1::StatusReport* to) {
  to->set_counters(from.counters);
  to->set_latencies(from.latencies);
  to->set_accounts(from.accounts);
  Put(from.calls, to->mutable_calls());
  Put(from.progress, to->mutable_progress());
}

void Put(const schedule::Register& from, v1::Register* to) {
  const schedule::NodeAnnouncement& node = from.node;
  v1::NodeAnnouncement* out = to->mutable_node();
  out->set_name(ToUtf8(node.name));
  out->set_incarnation(node.incarnation.value());
  out->set_worker_address(node.worker_address);
  out->set_version(ToUtf8(node.version));
  out->mutable_formats()->set_ring(node.formats.ring);
  out->mutable_formats()->set_packet(node.formats.packet);
  out->mutable_formats()->set_proto(node.formats.proto);
  out->mutable_formats()->set_plan(node.formats.plan);
  out->set_cores(node.cores);
  out->set_memory_limit_bytes(node.memory_limit_bytes);
  out->set_admin_address(ToUtf8(node.admin_address));
  out->set_join_token(node.join_token);
  Put(node.features, out->mutable_features());
  out->set_machine(ToUtf8(node.machine));
  for (const schedule::RunningTeam& team : from.teams) {
    v1::RunningTeam* running = to->add_teams();
    Put(*team.layout, running->mutable_layout());
    running->set_epoch(team.epoch.value());
    for (const std::string& plan : *team.plans) running->add_plans(plan);
    running->set_broken(team.broken);
    if (team.broken) Put(team.why, running->mutable_why());
    running->set_prepared_epoch(team.prepared_epoch.value());
  }
  to->set_term(from.term);
  to->set_cluster(ToUtf8(from.cluster));
  if (from.report.has_value()) Put(*from.report, to->mutable_report());
}

void Put(const schedule::JoinTeam& from, v1::JoinTeam* to) {
  to->set_request(from.request);
  Put(from.identity, to->mutable_identity());
  to->set_parent(from.parent.value());
  to->set_rank(from.rank.value());
  to->set_size(from.size);
  if (from.last_failure.failure != schedule::Failure::kNone) Put(from.last_failure, to->mutable_last_failure());
  for (const auto& [request, rank] : from.more) {
    v1::RequestOfRank* another = to->add_more();
    another->set_request(request);
    another->set_rank(rank.value());
  }
}

void Put(const schedule::CancelJoin& from, v1::CancelJoin* to) {
  to->set_request(from.request);
  Put(from.why, to->mutable_why());
}

void Put(const schedule::PrepareReply& from, v1::PrepareReply* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
  to->set_accepted(from.accepted);
  Put(from.why, to->mutable_why());
  Put(from.incoming, to->mutable_incoming());
  to->set_started(from.started.value());
}

void Put(const schedule::CommitReply& from, v1::CommitReply* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
}

void Put(const schedule::TeamFormed& from, v1::TeamFormed* to) {
  Put(from.layout, to->mutable_layout());
  to->set_parent_epoch(from.parent_epoch.value());
  for (const std::string& plan : from.plans) to->add_plans(plan);
}

void Put(const schedule::TeamsHeld& from, v1::TeamsHeld* to) {
  for (const TeamId team : from.teams) to->add_teams(team.value());
  if (from.report.has_value()) Put(*from.report, to->mutable_report());
}

void Put(const schedule::DataAddress& from, v1::DataAddress* to) {
  to->set_worker_address(from.worker_address);
  if (from.why.failure != schedule::Failure::kNone) Put(from.why, to->mutable_why());
}

void Put(const schedule::TeamPlans& from, v1::TeamPlans* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
  for (const std::string& plan : *from.plans) to->add_plans(plan);
}

void Put(const schedule::LeaveTeam& from, v1::LeaveTeam* to) { to->set_team(from.team.value()); }

void Put(const schedule::TeamBroken& from, v1::TeamBroken* to) {
  to->set_team(from.team.value());
  Put(from.why, to->mutable_why());
}

void Put(const schedule::NeighborSilent& from, v1::NeighborSilent* to) {
  to->set_neighbor(from.neighbor.value());
  to->set_silent(from.silent);
  to->set_living(from.living);
  for (const TeamId team : from.teams) to->add_teams(team.value());
  to->set_silent_ms(from.silent_ms);
  to->set_others_due_ms(from.others_due_ms);
}

void Put(const schedule::EpochQuery& from, v1::EpochQuery* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
}

void Put(const schedule::StatusReply& from, v1::StatusReply* to) {
  to->set_query(from.query);
  const schedule::DaemonStatus& status = from.status;
  v1::DaemonStatus* out = to->mutable_status();
  out->set_node(ToUtf8(status.node));
  out->set_incarnation(status.incarnation.value());
  out->set_state(ToUtf8(status.state));
  out->set_clients(status.clients);
  out->set_ranks(status.ranks);
  out->set_teams(status.teams);
  Put(status.calls, out->mutable_calls());
  Put(status.progress, out->mutable_progress());
  for (const auto& [name, value] : status.counters) (*out->mutable_counters())[ToUtf8(name)] = value;
  for (const schedule::AccountStatus& account : status.accounts) {
    v1::AccountStatus* a = out->add_accounts();
    a->set_uid(account.uid);
    a->set_job(ToUtf8(account.job));
    a->set_weight(account.weight);
    for (const std::string& claimed : account.claimed) a->add_claimed(ToUtf8(claimed));
    for (const schedule::AccountStatus::Holding& holding : account.holdings) {
      v1::HoldingStatus* h = a->add_holdings();
      h->set_resource(holding.resource);
      h->set_used(holding.used);
      h->set_limit(holding.limit);
    }
  }
  for (const schedule::LatencyStatus& latency : status.latencies) {
    v1::LatencyStatus* l = out->add_latencies();
    l->set_collective(static_cast<uint32_t>(latency.collective));
    l->set_bytes_min(latency.bytes_min);
    l->set_bytes_max(latency.bytes_max);
    l->set_part(static_cast<uint32_t>(latency.part));
    l->set_sum_ns(latency.sum_ns);
    l->set_min_ns(latency.min_ns);
    l->set_max_ns(latency.max_ns);
    for (const auto& [bucket, count] : latency.buckets) {
      l->add_bucket(bucket);
      l->add_count(count);
    }
  }
  for (const schedule::PlanCalls& made : status.plan_calls) {
    v1::PlanCalls* p = out->add_plan_calls();
    p->set_plan(made.plan.value());
    p->set_calls(made.calls);
  }
}

void Put(const schedule::TraceReply& from, v1::TraceReply* to) {
  to->set_query(from.query);
  to->set_clock(ToUtf8(from.clock));
  to->set_now_ns(from.now_ns);
  to->set_wall_ns(from.wall_ns);
  to->set_first(from.first);
  to->set_next(from.next);
  to->set_off(from.off);
  to->set_records(from.records);
  to->set_end(from.end);
}

void Put(const schedule::StatusQuery& from, v1::StatusQuery* to) {
  to->set_query(from.query);
  to->set_latencies(from.latencies);
  to->set_calls_of(from.calls_of.value());
}

void Put(const schedule::TraceQuery& from, v1::TraceQuery* to) {
  to->set_query(from.query);
  to->set_from(from.from);
  to->set_records(from.records);
  if (from.last_ns >= 0) to->set_last_ns(from.last_ns);
  if (from.owner.has_value()) to->set_owner(*from.owner);
}

void Put(const schedule::MeasureReply& from, v1::MeasureReply* to) {
  to->set_query(from.query);
  Put(from.why, to->mutable_why());
  to->set_pings(from.pings);
  to->set_round_trip_ns(from.round_trip_ns);
  to->set_round_trip_median_ns(from.round_trip_median_ns);
  to->set_send_ns(from.send_ns);
  to->set_receive_ns(from.receive_ns);
  to->set_peer_send_ns(from.peer_send_ns);
  to->set_peer_receive_ns(from.peer_receive_ns);
  to->set_bulk_bytes(from.bulk_bytes);
  to->set_bulk_ns(from.bulk_ns);
  to->set_bulk_steady(from.bulk_steady);
}

void Put(const schedule::MeasureQuery& from, v1::MeasureQuery* to) {
  to->set_query(from.query);
  to->mutable_peer()->set_name(ToUtf8(from.peer.name));
  to->mutable_peer()->set_incarnation(from.peer.incarnation.value());
  to->mutable_peer()->set_worker_address(from.peer.worker_address);
  to->set_active(from.active);
  to->set_pings(from.pings);
  to->set_ping_ns_max(from.ping_ns_max);
  to->set_bulk_bytes_max(from.bulk_bytes_max);
  to->set_bulk_ns_max(from.bulk_ns_max);
  to->set_timeout_ns(from.timeout_ns);
}

void Put(const schedule::Registered& from, v1::Registered* to) {
  to->set_accepted(from.accepted);
  Put(from.why, to->mutable_why());
  for (const TeamId team : from.forgotten) to->add_forgotten(team.value());
  Put(from.features, to->mutable_features());
  to->set_draining(from.draining);
  to->set_term(from.term);
  to->set_cluster(ToUtf8(from.cluster));
}

void Put(const schedule::Prepare& from, v1::Prepare* to) {
  Put(from.layout, to->mutable_layout());
  to->set_epoch(from.epoch.value());
  for (const std::string& plan : from.plans) to->add_plans(plan);
  to->set_hash(from.hash);
  for (const auto& [request, rank] : from.requests) {
    v1::RequestOfRank* out = to->add_requests();
    out->set_request(request);
    out->set_rank(rank.value());
  }
  if (from.last_failure.failure != schedule::Failure::kNone) Put(from.last_failure, to->mutable_last_failure());
  to->set_has_sub_teams(from.has_sub_teams);
}

void Put(const schedule::Commit& from, v1::Commit* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
  to->set_first_call(from.first_call.value());
  Put(from.outgoing, to->mutable_outgoing());
}

void Put(const schedule::Abort& from, v1::Abort* to) {
  to->set_team(from.team.value());
  to->set_epoch(from.epoch.value());
  Put(from.why, to->mutable_why());
  for (const uint64_t request : from.requests) to->add_requests(request);
  to->set_again(from.again);
}

void Put(const schedule::BreakTeam& from, v1::BreakTeam* to) {
  to->set_team(from.team.value());
  Put(from.why, to->mutable_why());
}

// --- From protocol buffers ---

FailureReport Take(const v1::FailureReport& from) {
  const int code = from.failure();
  const bool known = code >= 0 && code <= static_cast<int>(schedule::Failure::kInternal);
  // A newer peer may send codes that are unknown here.
  FailureReport why{known ? static_cast<schedule::Failure>(code) : schedule::Failure::kInternal,
                    ToUtf8(from.text(), kTextBytesMax)};
  if (from.cause() < kFailureCauseCount) why.cause = static_cast<FailureCause>(from.cause());
  why.node = ToUtf8(from.node(), kTextBytesMax);
  if (from.has_rank()) why.rank = Rank(from.rank());
  why.limit = from.limit();
  return why;
}

absl::Status Take(std::string_view what, const google::protobuf::RepeatedField<uint32_t>& from,
                  schedule::Features* to) {
  RETURN_IF_ERROR(CheckCount(absl::StrCat(AbslView(what), ": features"), from.size(), kFeaturesMax));
  for (const uint32_t feature : from) to->insert(static_cast<schedule::Feature>(feature));
  return absl::OkStatus();
}

absl::Status CheckWord(std::string_view what, const std::string& text, size_t bytes_max) {
  RETURN_IF_ERROR(CheckCount(absl::StrCat(AbslView(what), ": bytes"), text.size(), bytes_max));
  for (const unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) return Bad(absl::StrCat(AbslView(what), ": control character"));
  }
  return absl::OkStatus();
}

absl::Status Take(std::string_view what, const v1::TeamIdentity& from, schedule::TeamIdentity* to) {
  RETURN_IF_ERROR(CheckWord(absl::StrCat(AbslView(what), ": job"), from.job(), kJobBytesMax));
  RETURN_IF_ERROR(CheckWord(absl::StrCat(AbslView(what), ": team's name"), from.name(), kNameBytesMax));
  if (from.family() >= kFamilyCount) {
    return Bad(absl::StrCat(AbslView(what), ": family: ", from.family(), " (limit ", kFamilyCount - 1, ")"));
  }
  *to = {from.uid(), from.job(), from.nonce(), from.name(), static_cast<Family>(from.family())};
  return absl::OkStatus();
}

absl::Status Take(std::string_view what, const v1::TeamLayout& from, schedule::TeamLayout* to) {
  const std::string prefix = absl::StrCat(AbslView(what), ": layout: ");
  if (from.id() == 0) return Bad(prefix + "id: 0 (least 1)");
  if (from.nodes_size() == 0) return Bad(prefix + "nodes: 0 (least 1)");
  if (from.node_of_rank_size() == 0) return Bad(prefix + "ranks: 0 (least 1)");
  RETURN_IF_ERROR(CheckCount(prefix + "nodes", from.nodes_size(), kTeamSizeMax));
  RETURN_IF_ERROR(CheckCount(prefix + "ranks", from.node_of_rank_size(), kTeamSizeMax));
  if (from.window() == 0 || from.window() > kWindowMax || (from.window() & (from.window() - 1)) != 0) {
    return Bad(absl::StrCat(prefix, "window: ", from.window(), " (limit a power of two up to ", kWindowMax, ")"));
  }
  RETURN_IF_ERROR(Take(what, from.identity(), &to->identity));
  to->id = TeamId{from.id()};
  to->parent = TeamId{from.parent()};
  to->window = from.window();
  to->shape.node_count = static_cast<uint32_t>(from.nodes_size());
  to->shape.node_of_rank.reserve(from.node_of_rank_size());
  for (const uint32_t node : from.node_of_rank()) {
    if (node >= to->shape.node_count) {
      return Bad(absl::StrCat(prefix, "node index ", node, " (nodes ", to->shape.node_count, ")"));
    }
    to->shape.node_of_rank.push_back(NodeIndex{node});
  }
  for (const v1::TeamNode& node : from.nodes()) {
    RETURN_IF_ERROR(CheckWord(prefix + "node's name", node.name(), kNodeNameBytesMax));
    RETURN_IF_ERROR(CheckCount(prefix + "worker address: bytes", node.worker_address().size(), kAddressBytesMax));
    to->nodes.push_back({node.name(), Incarnation{node.incarnation()}, node.worker_address()});
  }
  return absl::OkStatus();
}

absl::Status Take(std::string_view what, const google::protobuf::RepeatedPtrField<v1::EdgeLabel>& from,
                  std::vector<schedule::EdgeLabel>* to) {
  RETURN_IF_ERROR(CheckCount(what, from.size(), kTeamSizeMax));
  for (const v1::EdgeLabel& label : from) to->push_back({NodeIndex{label.neighbor()}, label.label()});
  return absl::OkStatus();
}

absl::Status TakePlans(std::string_view what, const google::protobuf::RepeatedPtrField<std::string>& from,
                       std::vector<std::string>* to) {
  RETURN_IF_ERROR(CheckCount(absl::StrCat(AbslView(what), ": plans"), from.size(), kPlansMax));
  to->assign(from.begin(), from.end());
  return absl::OkStatus();
}

// Returns false if the collective, type or operation is unknown here.
bool Take(const v1::CallArguments& from, CallArguments* to) {
  if (from.collective() >= kCollectiveCount || from.type() >= kElementTypeCount || from.op() >= kElementOpCount) {
    return false;
  }
  to->collective = static_cast<Collective>(from.collective());
  to->type = static_cast<ElementType>(from.type());
  to->op = static_cast<ElementOp>(from.op());
  to->count = from.count();
  to->root = from.root();
  to->options = static_cast<uint8_t>(from.options());
  to->counts_hash = from.counts_hash();
  return true;
}

void Take(const google::protobuf::RepeatedPtrField<v1::CallStatus>& from, std::vector<schedule::CallStatus>* to) {
  for (const v1::CallStatus& call : from) {
    schedule::CallStatus c;
    if (!Take(call.arguments(), &c.arguments)) continue;  // a newer daemon may send it
    if (call.waits_for() >= kFamilyCount) continue;
    c.waits_for = static_cast<Family>(call.waits_for());
    c.team = TeamId{call.team()};
    c.sequence = CallSeq{call.sequence()};
    c.age_s = call.age_s();
    for (const uint32_t rank : call.joined()) c.joined.push_back(Rank{rank});
    for (const uint32_t rank : call.missing()) c.missing.push_back(Rank{rank});
    to->push_back(std::move(c));
  }
}

void Take(const google::protobuf::RepeatedPtrField<v1::RankProgress>& from, std::vector<schedule::RankProgress>* to) {
  for (const v1::RankProgress& progress : from) {
    to->push_back({TeamId{progress.team()}, Rank{progress.rank()}, CallSeq{progress.calls()}});
  }
}

absl::Status Take(std::string_view what, const v1::StatusReport& from, std::optional<schedule::StatusReport>* to) {
  const std::string prefix = absl::StrCat(AbslView(what), ": report: ");
  RETURN_IF_ERROR(CheckCount(prefix + "calls", from.calls_size(), kCallsMax));
  RETURN_IF_ERROR(CheckCount(prefix + "progress", from.progress_size(), kCallsMax));
  for (const std::string* rows : {&from.counters(), &from.latencies(), &from.accounts()}) {
    RETURN_IF_ERROR(CheckCount(prefix + "bytes of rows", rows->size(), kReportRowsBytesMax));
    if (!AreRows(*rows)) return Bad(prefix + "rows that cannot be read");
  }
  to->emplace(
      schedule::StatusReport{.counters = from.counters(), .latencies = from.latencies(), .accounts = from.accounts()});
  Take(from.calls(), &(*to)->calls);
  Take(from.progress(), &(*to)->progress);
  return absl::OkStatus();
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::Register& from) {
  schedule::Register to;
  const v1::NodeAnnouncement& node = from.node();
  RETURN_IF_ERROR(CheckCount("register: name: bytes", node.name().size(), kNodeNameBytesMax));
  RETURN_IF_ERROR(CheckCount("register: worker address: bytes", node.worker_address().size(), kAddressBytesMax));
  RETURN_IF_ERROR(CheckCount("register: version: bytes", node.version().size(), kNameBytesMax));
  RETURN_IF_ERROR(CheckCount("register: admin address: bytes", node.admin_address().size(), kNameBytesMax * 2));
  RETURN_IF_ERROR(CheckCount("register: machine: bytes", node.machine().size(), kNameBytesMax));
  RETURN_IF_ERROR(Take("register", node.features(), &to.node.features));
  RETURN_IF_ERROR(CheckCount("register: teams", from.teams_size(), kRunningTeamsMax));
  to.node.name = node.name();
  to.node.incarnation = Incarnation{node.incarnation()};
  to.node.worker_address = node.worker_address();
  to.node.version = ToUtf8(node.version());
  to.node.formats = {node.formats().ring(), node.formats().packet(), node.formats().proto(), node.formats().plan()};
  to.node.cores = node.cores();
  to.node.memory_limit_bytes = node.memory_limit_bytes();
  to.node.admin_address = ToUtf8(node.admin_address());
  to.node.join_token = node.join_token();
  to.node.machine = ToUtf8(node.machine());
  to.term = from.term();
  RETURN_IF_ERROR(CheckCount("register: cluster: bytes", from.cluster().size(), kNameBytesMax));
  to.cluster = from.cluster();
  if (from.has_report()) RETURN_IF_ERROR(Take("register", from.report(), &to.report));
  for (const v1::RunningTeam& team : from.teams()) {
    schedule::RunningTeam running = StandingOf(team);
    schedule::TeamLayout layout;
    RETURN_IF_ERROR(Take("register", team.layout(), &layout));
    running.layout = std::move(layout);
    std::vector<std::string> plans;
    RETURN_IF_ERROR(TakePlans("register", team.plans(), &plans));
    running.plans = std::move(plans);
    to.teams.push_back(std::move(running));
  }
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::TeamFormed& from) {
  schedule::TeamFormed to;
  to.parent_epoch = EpochId{from.parent_epoch()};
  RETURN_IF_ERROR(TakePlans("team_formed", from.plans(), &to.plans));
  if (to.parent_epoch == EpochId{0}) {
    RETURN_IF_ERROR(Take("team_formed", from.layout(), &to.layout));
    return to;
  }
  const v1::TeamLayout& layout = from.layout();
  if (layout.id() == 0) return Bad("team_formed: layout: id: 0 (least 1)");
  RETURN_IF_ERROR(Take("team_formed", layout.identity(), &to.layout.identity));
  to.layout.id = TeamId{layout.id()};
  to.layout.parent = TeamId{layout.parent()};
  to.layout.window = layout.window();
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::TeamsHeld& from) {
  schedule::TeamsHeld to;
  RETURN_IF_ERROR(CheckCount("teams_held: teams", from.teams_size(), kRunningTeamsMax));
  for (const uint64_t team : from.teams()) to.teams.push_back(TeamId{team});
  if (from.has_report()) RETURN_IF_ERROR(Take("teams_held", from.report(), &to.report));
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::TeamPlans& from) {
  std::vector<std::string> plans;
  RETURN_IF_ERROR(TakePlans("team_plans", from.plans(), &plans));
  return schedule::TeamPlans{TeamId{from.team()}, EpochId{from.epoch()}, std::move(plans)};
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::DataAddress& from) {
  RETURN_IF_ERROR(CheckCount("data_address: bytes", from.worker_address().size(), kAddressBytesMax));
  return schedule::DataAddress{from.worker_address(), Take(from.why())};
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::JoinTeam& from) {
  schedule::JoinTeam to;
  RETURN_IF_ERROR(Take("join_team", from.identity(), &to.identity));
  to.request = from.request();
  to.parent = TeamId{from.parent()};
  to.rank = Rank{from.rank()};
  to.size = from.size();
  to.last_failure = Take(from.last_failure());
  const size_t more_max = schedule::IsDerivedTeam(to.identity) ? 0 : schedule::kJoinsPerMessageMax - 1;
  RETURN_IF_ERROR(CheckCount("join_team: more", from.more_size(), more_max));
  for (const v1::RequestOfRank& another : from.more()) to.more.emplace_back(another.request(), Rank{another.rank()});
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::PrepareReply& from) {
  schedule::PrepareReply to;
  to.team = TeamId{from.team()};
  to.epoch = EpochId{from.epoch()};
  to.accepted = from.accepted();
  to.why = Take(from.why());
  RETURN_IF_ERROR(Take("prepare_reply: incoming", from.incoming(), &to.incoming));
  to.started = CallSeq{from.started()};
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::StatusReply& from) {
  schedule::StatusReply to;
  to.query = from.query();
  const v1::DaemonStatus& status = from.status();
  to.status.node = status.node();
  to.status.incarnation = Incarnation{status.incarnation()};
  to.status.state = status.state();
  to.status.clients = status.clients();
  to.status.ranks = status.ranks();
  to.status.teams = status.teams();
  RETURN_IF_ERROR(CheckCount("status_reply: calls", status.calls_size(), kCallsMax));
  RETURN_IF_ERROR(CheckCount("status_reply: progress", status.progress_size(), kCallsMax));
  RETURN_IF_ERROR(CheckCount("status_reply: counters", status.counters_size(), kCallsMax));
  Take(status.calls(), &to.status.calls);
  Take(status.progress(), &to.status.progress);
  for (const auto& [name, value] : status.counters()) to.status.counters[name] = value;
  RETURN_IF_ERROR(CheckCount("status_reply: accounts", status.accounts_size(), kAccountsMax));
  for (const v1::AccountStatus& account : status.accounts()) {
    RETURN_IF_ERROR(CheckCount("status_reply: claimed", account.claimed_size(), kAccountsMax));
    RETURN_IF_ERROR(CheckCount("status_reply: holdings", account.holdings_size(), kHoldingsMax));
    schedule::AccountStatus a{.uid = account.uid(),
                              .job = account.job(),
                              .weight = std::max<uint32_t>(account.weight(), 1),
                              .claimed = {account.claimed().begin(), account.claimed().end()},
                              .holdings = {}};
    for (const v1::HoldingStatus& holding : account.holdings()) {
      a.holdings.push_back({holding.resource(), holding.used(), holding.limit()});
    }
    to.status.accounts.push_back(std::move(a));
  }
  RETURN_IF_ERROR(CheckCount("status_reply: latencies", status.latencies_size(), kLatenciesMax));
  for (const v1::LatencyStatus& latency : status.latencies()) {
    RETURN_IF_ERROR(CheckCount("status_reply: latency buckets", latency.bucket_size(), kLatencyBucketsMax));
    if (latency.bucket_size() != latency.count_size()) {
      return Bad(absl::StrCat("status_reply: latencies differ (buckets=", latency.bucket_size(),
                              ", counts=", latency.count_size(), ")"));
    }
    if (latency.collective() >= kCollectiveCount || latency.part() >= schedule::kCallPartCount) continue;
    schedule::LatencyStatus l{.collective = static_cast<Collective>(latency.collective()),
                              .bytes_min = latency.bytes_min(),
                              .bytes_max = latency.bytes_max(),
                              .part = static_cast<schedule::CallPart>(latency.part()),
                              .sum_ns = latency.sum_ns(),
                              .min_ns = latency.min_ns(),
                              .max_ns = latency.max_ns(),
                              .buckets = {}};
    for (int i = 0; i < latency.bucket_size(); ++i) l.buckets.emplace_back(latency.bucket(i), latency.count(i));
    to.status.latencies.push_back(std::move(l));
  }
  RETURN_IF_ERROR(CheckCount("status_reply: plan_calls", status.plan_calls_size(), kPlanCallsMax));
  for (const v1::PlanCalls& made : status.plan_calls()) {
    to.status.plan_calls.push_back({PlanId{made.plan()}, made.calls()});
  }
  return to;
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::TraceReply& from) {
  RETURN_IF_ERROR(CheckCount("trace_reply: bytes of records", from.records().size(),
                             uint64_t{schedule::kTracePieceRecordsMax} * schedule::kTraceRecordBytes));
  if (from.records().size() % schedule::kTraceRecordBytes != 0) {
    return Bad(absl::StrCat("trace_reply: no whole records (bytes=", from.records().size(),
                            ", record_bytes=", schedule::kTraceRecordBytes, ")"));
  }
  return schedule::TraceReply{.query = from.query(),
                              .clock = from.clock(),
                              .now_ns = from.now_ns(),
                              .wall_ns = from.wall_ns(),
                              .first = from.first(),
                              .next = from.next(),
                              .off = from.off(),
                              .records = from.records(),
                              .end = from.end()};
}

// Checks times and bytes, so that a sum of many cannot overflow.
absl::Status CheckMeasured(std::string_view what, int64_t value, int64_t limit) {
  if (value >= 0 && value <= limit) return absl::OkStatus();
  return Bad(absl::StrCat(AbslView(what), ": out of range (value=", value, ", limit=", limit, ")"));
}

absl::StatusOr<schedule::FromDaemon> Take(const v1::MeasureReply& from) {
  for (const int64_t time : {from.round_trip_ns(), from.round_trip_median_ns(), from.send_ns(), from.receive_ns(),
                             from.peer_send_ns(), from.peer_receive_ns(), from.bulk_ns()}) {
    RETURN_IF_ERROR(CheckMeasured("measure_reply: time", time, schedule::kMeasureNsMax));
  }
  RETURN_IF_ERROR(CheckCount("measure_reply: bytes", from.bulk_bytes(), schedule::kMeasureBytesMax));
  RETURN_IF_ERROR(CheckCount("measure_reply: pings", from.pings(), uint64_t{schedule::kMeasurePingsMax}));
  return schedule::MeasureReply{.query = from.query(),
                                .why = Take(from.why()),
                                .pings = from.pings(),
                                .round_trip_ns = from.round_trip_ns(),
                                .round_trip_median_ns = from.round_trip_median_ns(),
                                .send_ns = from.send_ns(),
                                .receive_ns = from.receive_ns(),
                                .peer_send_ns = from.peer_send_ns(),
                                .peer_receive_ns = from.peer_receive_ns(),
                                .bulk_bytes = from.bulk_bytes(),
                                .bulk_ns = from.bulk_ns(),
                                .bulk_steady = from.bulk_steady()};
}

absl::StatusOr<schedule::ToDaemon> Take(const v1::MeasureQuery& from) {
  RETURN_IF_ERROR(CheckWord("measure_query: peer", from.peer().name(), kNodeNameBytesMax));
  RETURN_IF_ERROR(CheckCount("measure_query: bytes of address", from.peer().worker_address().size(), kAddressBytesMax));
  RETURN_IF_ERROR(CheckCount("measure_query: pings", from.pings(), uint64_t{schedule::kMeasurePingsMax}));
  RETURN_IF_ERROR(CheckCount("measure_query: bytes", from.bulk_bytes_max(), schedule::kMeasureBytesMax));
  for (const int64_t time : {from.ping_ns_max(), from.bulk_ns_max(), from.timeout_ns()}) {
    RETURN_IF_ERROR(CheckMeasured("measure_query: time", time, schedule::kMeasureNsMax));
  }
  return schedule::MeasureQuery{
      .query = from.query(),
      .peer = {from.peer().name(), Incarnation{from.peer().incarnation()}, from.peer().worker_address()},
      .active = from.active(),
      .pings = from.pings(),
      .ping_ns_max = from.ping_ns_max(),
      .bulk_bytes_max = from.bulk_bytes_max(),
      .bulk_ns_max = from.bulk_ns_max(),
      .timeout_ns = from.timeout_ns()};
}

absl::StatusOr<schedule::ToDaemon> Take(const v1::Prepare& from) {
  schedule::Prepare to;
  RETURN_IF_ERROR(Take("prepare", from.layout(), &to.layout));
  RETURN_IF_ERROR(TakePlans("prepare", from.plans(), &to.plans));
  to.epoch = EpochId{from.epoch()};
  if (from.epoch() == 0) return Bad("prepare: epoch: 0 (least 1)");
  to.hash = from.hash();
  RETURN_IF_ERROR(CheckCount("prepare: requests", from.requests_size(), to.layout.shape.size()));
  for (const v1::RequestOfRank& request : from.requests()) {
    if (request.rank() >= to.layout.shape.size()) {
      return Bad(absl::StrCat("prepare: requests: rank ", request.rank(), " (ranks ", to.layout.shape.size(), ")"));
    }
    to.requests.emplace_back(request.request(), Rank{request.rank()});
  }
  to.last_failure = Take(from.last_failure());
  to.has_sub_teams = from.has_sub_teams();
  return to;
}

absl::StatusOr<schedule::ToDaemon> Take(const v1::Commit& from) {
  schedule::Commit to;
  to.team = TeamId{from.team()};
  to.epoch = EpochId{from.epoch()};
  to.first_call = CallSeq{from.first_call()};
  RETURN_IF_ERROR(Take("commit: outgoing", from.outgoing(), &to.outgoing));
  return to;
}

absl::StatusOr<schedule::NeighborSilent> Take(const v1::NeighborSilent& from) {
  RETURN_IF_ERROR(CheckCount("neighbor_silent: teams", from.teams_size(), kRunningTeamsMax));
  schedule::NeighborSilent to{.neighbor = Incarnation{from.neighbor()},
                              .silent = from.silent(),
                              .living = from.living(),
                              .silent_ms = std::min(from.silent_ms(), kSilenceMsMax),
                              .others_due_ms = std::min(from.others_due_ms(), kSilenceMsMax)};
  for (const uint64_t team : from.teams()) to.teams.push_back(TeamId{team});
  return to;
}

}  // namespace

void ToProto(const schedule::FromDaemon& message, v1::FromDaemon* proto) {
  proto->Clear();
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::Register>) Put(m, proto->mutable_register_());
        if constexpr (std::is_same_v<T, schedule::JoinTeam>) Put(m, proto->mutable_join_team());
        if constexpr (std::is_same_v<T, schedule::CancelJoin>) Put(m, proto->mutable_cancel_join());
        if constexpr (std::is_same_v<T, schedule::PrepareReply>) Put(m, proto->mutable_prepare_reply());
        if constexpr (std::is_same_v<T, schedule::CommitReply>) Put(m, proto->mutable_commit_reply());
        if constexpr (std::is_same_v<T, schedule::LeaveTeam>) Put(m, proto->mutable_leave_team());
        if constexpr (std::is_same_v<T, schedule::TeamBroken>) Put(m, proto->mutable_team_broken());
        if constexpr (std::is_same_v<T, schedule::EpochQuery>) Put(m, proto->mutable_epoch_query());
        if constexpr (std::is_same_v<T, schedule::StatusReply>) Put(m, proto->mutable_status_reply());
        if constexpr (std::is_same_v<T, schedule::TraceReply>) Put(m, proto->mutable_trace_reply());
        if constexpr (std::is_same_v<T, schedule::MeasureReply>) Put(m, proto->mutable_measure_reply());
        if constexpr (std::is_same_v<T, schedule::NeighborSilent>) Put(m, proto->mutable_neighbor_silent());
        if constexpr (std::is_same_v<T, schedule::Stopping>) proto->mutable_stopping()->set_done(m.done);
        if constexpr (std::is_same_v<T, schedule::Pong>) proto->mutable_pong();
        if constexpr (std::is_same_v<T, schedule::DataAddress>) Put(m, proto->mutable_data_address());
        if constexpr (std::is_same_v<T, schedule::TeamPlans>) Put(m, proto->mutable_team_plans());
        if constexpr (std::is_same_v<T, schedule::TeamIdsRequest>) proto->mutable_team_ids_request();
        if constexpr (std::is_same_v<T, schedule::TeamFormed>) Put(m, proto->mutable_team_formed());
        if constexpr (std::is_same_v<T, schedule::TeamsHeld>) Put(m, proto->mutable_teams_held());
      },
      message);
}

void ToProto(const schedule::ToDaemon& message, v1::ToDaemon* proto) {
  proto->Clear();
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::Registered>) Put(m, proto->mutable_registered());
        if constexpr (std::is_same_v<T, schedule::Prepare>) Put(m, proto->mutable_prepare());
        if constexpr (std::is_same_v<T, schedule::Commit>) Put(m, proto->mutable_commit());
        if constexpr (std::is_same_v<T, schedule::Abort>) Put(m, proto->mutable_abort());
        if constexpr (std::is_same_v<T, schedule::BreakTeam>) Put(m, proto->mutable_break_team());
        if constexpr (std::is_same_v<T, schedule::EndTeam>) proto->mutable_end_team()->set_team(m.team.value());
        if constexpr (std::is_same_v<T, schedule::StatusQuery>) Put(m, proto->mutable_status_query());
        if constexpr (std::is_same_v<T, schedule::TraceQuery>) Put(m, proto->mutable_trace_query());
        if constexpr (std::is_same_v<T, schedule::MeasureQuery>) Put(m, proto->mutable_measure_query());
        if constexpr (std::is_same_v<T, schedule::Drain>) proto->mutable_drain()->set_on(m.on);
        if constexpr (std::is_same_v<T, schedule::Cluster>) proto->mutable_cluster()->set_uuid(ToUtf8(m.uuid));
        if constexpr (std::is_same_v<T, schedule::Ping>) proto->mutable_ping();
        if constexpr (std::is_same_v<T, schedule::AddressQuery>) proto->mutable_address_query();
        if constexpr (std::is_same_v<T, schedule::PlansQuery>) proto->mutable_plans_query()->set_team(m.team.value());
        if constexpr (std::is_same_v<T, schedule::TeamIds>) {
          proto->mutable_team_ids()->set_first(m.first.value());
          proto->mutable_team_ids()->set_count(m.count);
        }
      },
      message);
}

schedule::RunningTeam StandingOf(const v1::RunningTeam& proto) {
  schedule::RunningTeam running;
  running.epoch = EpochId{proto.epoch()};
  running.broken = proto.broken();
  running.why = Take(proto.why());
  running.prepared_epoch = EpochId{proto.prepared_epoch()};
  return running;
}

absl::StatusOr<schedule::FromDaemon> FromProto(const v1::FromDaemon& proto) {
  switch (proto.message_case()) {
    case v1::FromDaemon::kRegister:
      return Take(proto.register_());
    case v1::FromDaemon::kJoinTeam:
      return Take(proto.join_team());
    case v1::FromDaemon::kCancelJoin:
      return schedule::CancelJoin{proto.cancel_join().request(), Take(proto.cancel_join().why())};
    case v1::FromDaemon::kPrepareReply:
      return Take(proto.prepare_reply());
    case v1::FromDaemon::kCommitReply:
      return schedule::CommitReply{TeamId{proto.commit_reply().team()}, EpochId{proto.commit_reply().epoch()}};
    case v1::FromDaemon::kLeaveTeam:
      return schedule::LeaveTeam{TeamId{proto.leave_team().team()}};
    case v1::FromDaemon::kTeamBroken:
      return schedule::TeamBroken{TeamId{proto.team_broken().team()}, Take(proto.team_broken().why())};
    case v1::FromDaemon::kEpochQuery:
      return schedule::EpochQuery{TeamId{proto.epoch_query().team()}, EpochId{proto.epoch_query().epoch()}};
    case v1::FromDaemon::kStatusReply:
      return Take(proto.status_reply());
    case v1::FromDaemon::kTraceReply:
      return Take(proto.trace_reply());
    case v1::FromDaemon::kMeasureReply:
      return Take(proto.measure_reply());
    case v1::FromDaemon::kNeighborSilent:
      return Take(proto.neighbor_silent());
    case v1::FromDaemon::kStopping:
      return schedule::Stopping{proto.stopping().done()};
    case v1::FromDaemon::kPong:
      return schedule::Pong{};
    case v1::FromDaemon::kDataAddress:
      return Take(proto.data_address());
    case v1::FromDaemon::kTeamPlans:
      return Take(proto.team_plans());
    case v1::FromDaemon::kTeamIdsRequest:
      return schedule::TeamIdsRequest{};
    case v1::FromDaemon::kTeamFormed:
      return Take(proto.team_formed());
    case v1::FromDaemon::kTeamsHeld:
      return Take(proto.teams_held());
    case v1::FromDaemon::kContent:  // the stream keeps it
    case v1::FromDaemon::MESSAGE_NOT_SET:
      break;
  }
  return Bad("a message of no known kind (kind=0)");
}

absl::StatusOr<schedule::ToDaemon> FromProto(const v1::ToDaemon& proto) {
  switch (proto.message_case()) {
    case v1::ToDaemon::kRegistered: {
      schedule::Registered to{proto.registered().accepted(), Take(proto.registered().why()), {}};
      RETURN_IF_ERROR(CheckCount("registered: forgotten", proto.registered().forgotten_size(), kRunningTeamsMax));
      for (const uint64_t team : proto.registered().forgotten()) to.forgotten.push_back(TeamId{team});
      RETURN_IF_ERROR(Take("registered", proto.registered().features(), &to.features));
      to.draining = proto.registered().draining();
      to.term = proto.registered().term();
      RETURN_IF_ERROR(CheckCount("registered: cluster: bytes", proto.registered().cluster().size(), kNameBytesMax));
      to.cluster = proto.registered().cluster();
      return to;
    }
    case v1::ToDaemon::kPrepare:
      return Take(proto.prepare());
    case v1::ToDaemon::kCommit:
      return Take(proto.commit());
    case v1::ToDaemon::kAbort: {
      const v1::Abort& from = proto.abort();
      RETURN_IF_ERROR(CheckCount("abort: requests", from.requests_size(), kTeamSizeMax));
      return schedule::Abort{TeamId{from.team()}, EpochId{from.epoch()}, Take(from.why()),
                             std::vector<uint64_t>(from.requests().begin(), from.requests().end()), from.again()};
    }
    case v1::ToDaemon::kBreakTeam:
      return schedule::BreakTeam{TeamId{proto.break_team().team()}, Take(proto.break_team().why())};
    case v1::ToDaemon::kEndTeam:
      return schedule::EndTeam{TeamId{proto.end_team().team()}};
    case v1::ToDaemon::kStatusQuery:
      return schedule::StatusQuery{proto.status_query().query(), proto.status_query().latencies(),
                                   TeamId{proto.status_query().calls_of()}};
    case v1::ToDaemon::kTraceQuery: {
      const v1::TraceQuery& from = proto.trace_query();
      return schedule::TraceQuery{.query = from.query(),
                                  .from = from.from(),
                                  .records = from.records(),
                                  .last_ns = from.has_last_ns() ? std::max<int64_t>(0, from.last_ns()) : -1,
                                  .owner = from.has_owner() ? std::optional(from.owner()) : std::nullopt};
    }
    case v1::ToDaemon::kMeasureQuery:
      return Take(proto.measure_query());
    case v1::ToDaemon::kDrain:
      return schedule::Drain{proto.drain().on()};
    case v1::ToDaemon::kCluster:
      RETURN_IF_ERROR(CheckCount("cluster: bytes", proto.cluster().uuid().size(), kNameBytesMax));
      return schedule::Cluster{proto.cluster().uuid()};
    case v1::ToDaemon::kPing:
      return schedule::Ping{};
    case v1::ToDaemon::kAddressQuery:
      return schedule::AddressQuery{};
    case v1::ToDaemon::kPlansQuery:
      return schedule::PlansQuery{TeamId{proto.plans_query().team()}};
    case v1::ToDaemon::kTeamIds:
      return schedule::TeamIds{TeamId{proto.team_ids().first()}, proto.team_ids().count()};
    case v1::ToDaemon::kContent:  // the stream handles both
    case v1::ToDaemon::kContentQuery:
    case v1::ToDaemon::MESSAGE_NOT_SET:
      break;
  }
  return Bad("a message of no known kind (kind=0)");
}

}  // namespace copse::rpc
