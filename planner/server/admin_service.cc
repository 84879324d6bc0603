// SPDX-License-Identifier: Apache-2.0
#include "planner/server/admin_service.h"

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/version.h"
#include "planner/server/admin_rows.h"
#include "planner/server/topology_source.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology_changes.h"
#include "planner/topology/topology_yaml.h"
#include "rpc/status.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
constexpr absl::Duration kStatusTimeoutMax = absl::Minutes(1);
constexpr absl::Duration kProbeTimeMax = absl::Minutes(60);

// `plan list` has critical paths for teams of up to so many nodes; `plan show` always has them.
constexpr uint32_t kListedPathNodesMax = 16;

// Returns whether the layout is that of the team, or of a derived team of it.
bool IsOf(const schedule::TeamLayout& layout, TeamId team) { return layout.id == team || ShownTeam(layout) == team; }

absl::Duration TimeoutOf(double seconds) {
  if (!(seconds > 0)) return kStatusTimeout;
  return std::min(absl::Seconds(seconds), kStatusTimeoutMax);
}

}  // namespace

// Call is one RPC. Reactions run on gRPC's threads; the planner's thread deletes the call, after all tasks posted for
// it.
class AdminService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(AdminService* service, std::function<void()> on_cancel) : service_(service), on_cancel_(std::move(on_cancel)) {}

  void OnCancel() override {
    if (on_cancel_ == nullptr) return;
    service_->queue_->Post([this] {
      if (service_->open_.count(this) > 0) on_cancel_();
    });
  }
  void OnDone() override {
    service_->queue_->Post([self = std::shared_ptr<Call>(this)] {});
  }

 private:
  AdminService* const service_;
  const std::function<void()> on_cancel_;
};

grpc::ServerUnaryReactor* AdminService::Serve(grpc::CallbackServerContext* context, const char* method,
                                              std::function<void(Done)> work, std::function<void()> on_cancel) {
  auto* const reactor = new Call(this, std::move(on_cancel));
  const absl::Status allowed =
      authorizer_->Authorize(rpc::CallerOf(*context), absl::StrCat("/copse.v1.AdminService/", method));
  if (!allowed.ok()) {
    reactor->Finish(rpc::ToGrpc(allowed));
    return reactor;
  }
  // Request and reply live until Finish.
  queue_->Post([this, reactor, work = std::move(work)] {
    if (stopped_) return reactor->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
    open_.insert(reactor);
    work([this, reactor](const absl::Status& status) {
      if (open_.erase(reactor) > 0) reactor->Finish(rpc::ToGrpc(status));
    });
  });
  return reactor;
}

void AdminService::Stop() {
  stopped_ = true;
  for (Call* reactor : open_) reactor->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
  open_.clear();
}

grpc::ServerUnaryReactor* AdminService::Ping(grpc::CallbackServerContext* context, const v1::PingRequest* request,
                                             v1::PingReply* reply) {
  return Serve(context, "Ping", [this, request, reply](const Done& done) {
    if (request->proto_version() != 0) {
      if (const absl::Status version = CheckVersion("proto", kProtoVersion, request->proto_version()); !version.ok()) {
        return done(version);
      }
    }
    reply->set_ok(true);
    reply->set_version(kVersion);
    if (request->node().empty()) return done(absl::OkStatus());
    const auto node = coordinator_->Node(request->node());
    if (!node.ok()) return done(node.status());
    reply->set_version(rpc::ToUtf8(node->announcement.version));
    const absl::Time asked = absl::Now();
    coordinator_->QueryStatus(
        {request->node()}, kStatusTimeout, [=, name = request->node()](const coordinator::StatusAnswer& answer) {
          if (answer.nodes.empty())
            return done(absl::DeadlineExceededError(absl::StrCat("ping: node ", name, " does not answer")));
          reply->set_latency_ms(absl::ToDoubleMilliseconds(absl::Now() - asked));
          done(absl::OkStatus());
        });
  });
}

grpc::ServerUnaryReactor* AdminService::Version(grpc::CallbackServerContext* context, const v1::VersionRequest* request,
                                                v1::VersionReply* reply) {
  return Serve(context, "Version", [this, request, reply](const Done& done) {
    schedule::FormatVersions formats{kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
    reply->set_program("copse-planner");
    reply->set_version(kVersion);
    if (!request->node().empty()) {
      const auto node = coordinator_->Node(request->node());
      if (!node.ok()) return done(node.status());
      reply->set_program("copsed");
      reply->set_version(rpc::ToUtf8(node->announcement.version));
      formats = node->announcement.formats;
    }
    reply->set_ok(true);
    reply->set_ring(formats.ring);
    reply->set_packet(formats.packet);
    reply->set_proto(formats.proto);
    reply->set_plan(formats.plan);
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ListNodes(grpc::CallbackServerContext* context, const v1::ListNodesRequest*,
                                                  v1::ListNodesReply* reply) {
  return Serve(context, "ListNodes", [this, reply](const Done& done) {
    for (const coordinator::NodeInfo& info : coordinator_->Nodes()) FillNode(info, reply->add_nodes());
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ShowNode(grpc::CallbackServerContext* context,
                                                 const v1::ShowNodeRequest* request, v1::ShowNodeReply* reply) {
  return Serve(context, "ShowNode", [this, request, reply](const Done& done) {
    const auto info = coordinator_->Node(request->name());
    if (!info.ok()) return done(info.status());
    FillNode(*info, reply->mutable_node());
    coordinator_->QueryStatus({request->name()}, kStatusTimeout,
                              [reply, done](const coordinator::StatusAnswer& answer) {
                                reply->set_answered(!answer.nodes.empty());
                                for (const schedule::DaemonStatus& status : answer.nodes) {
                                  // A drain by signal is known to the daemon only.
                                  if (status.state == "draining") reply->mutable_node()->set_state(status.state);
                                  reply->set_clients(status.clients);
                                  reply->set_teams(status.teams);
                                  for (const auto& [name, count] : status.counters)
                                    (*reply->mutable_counters())[name] = count;
                                }
                                done(absl::OkStatus());
                              });
  });
}

grpc::ServerUnaryReactor* AdminService::DrainNode(grpc::CallbackServerContext* context,
                                                  const v1::DrainNodeRequest* request, v1::DrainNodeReply*) {
  return Serve(context, "DrainNode", [this, request](const Done& done) {
    const std::string node = request->node();  // `done` ends the request's lifetime
    const bool draining = !request->off();
    const absl::Status status = coordinator_->SetDraining(node, draining);
    done(status);
    if (status.ok() && plan_maker_->SetDraining(node, draining)) topologies_->ReplanTeamsOf(node);
  });
}

grpc::ServerUnaryReactor* AdminService::RemoveNode(grpc::CallbackServerContext* context,
                                                   const v1::RemoveNodeRequest* request, v1::RemoveNodeReply*) {
  return Serve(context, "RemoveNode",
               [this, request](const Done& done) { done(coordinator_->RemoveNode(request->node())); });
}

grpc::ServerUnaryReactor* AdminService::ListTeams(grpc::CallbackServerContext* context,
                                                  const v1::ListTeamsRequest* request, v1::ListTeamsReply* reply) {
  return Serve(context, "ListTeams", [this, request, reply](const Done& done) {
    const bool all = request->all();
    coordinator_->QueryStatus({}, kStatusTimeout, [this, all, reply, done](const coordinator::StatusAnswer& answer) {
      const std::map<TeamId, uint32_t> calls = CountCalls(answer);
      for (const coordinator::TeamInfo& info : coordinator_->Teams()) {
        if (!all && schedule::IsCompanion(info.layout.identity)) continue;
        const auto count = calls.find(info.layout.id);
        FillTeam(info, count == calls.end() ? 0 : count->second, reply->add_teams());
      }
      done(absl::OkStatus());
    });
  });
}

std::map<TeamId, uint32_t> AdminService::CountCalls(const coordinator::StatusAnswer& answer) const {
  std::map<TeamId, uint32_t> calls;
  for (const coordinator::CollectiveInfo& call : coordinator_->MergeCalls(answer)) {
    ++calls[call.team];
    const auto team = coordinator_->Team(call.team);
    if (team.ok() && schedule::IsCompanion(team->layout.identity)) ++calls[team->layout.parent];
  }
  return calls;
}

grpc::ServerUnaryReactor* AdminService::ShowTeam(grpc::CallbackServerContext* context,
                                                 const v1::ShowTeamRequest* request, v1::ShowTeamReply* reply) {
  return Serve(context, "ShowTeam", [this, request, reply](const Done& done) {
    const TeamId id(request->id());
    if (const auto info = coordinator_->Team(id); !info.ok()) return done(info.status());
    coordinator_->QueryStatus({}, kStatusTimeout, [this, id, reply, done](const coordinator::StatusAnswer& answer) {
      const auto info = coordinator_->Team(id);
      if (!info.ok()) return done(info.status());
      FillTeam(*info, CountCalls(answer)[id], reply->mutable_team());
      done(absl::OkStatus());
    });
  });
}

grpc::ServerUnaryReactor* AdminService::ReplanTeam(grpc::CallbackServerContext* context,
                                                   const v1::ReplanTeamRequest* request, v1::ReplanTeamReply* reply) {
  return Serve(context, "ReplanTeam", [this, request, reply](const Done& done) {
    coordinator::PlanOptions options{.algorithm = request->algorithm()};
    if (!request->collective().empty()) {
      options.collective = CollectiveFromName(request->collective());
      if (!options.collective) {
        return done(absl::InvalidArgumentError(
            absl::StrCat("replan: unknown collective (collective=", request->collective(), ")")));
      }
    }
    const TeamId id(request->team());
    coordinator_->ReplanTeam(id, options, [this, id, reply, done](const absl::Status& status) {
      if (const auto info = coordinator_->Team(id); info.ok()) reply->set_epoch(info->epoch.value());
      done(status);
    });
  });
}

grpc::ServerUnaryReactor* AdminService::BreakTeam(grpc::CallbackServerContext* context,
                                                  const v1::BreakTeamRequest* request, v1::BreakTeamReply*) {
  return Serve(context, "BreakTeam", [this, request](const Done& done) {
    const std::string why = request->why().empty() ? "no reason given" : request->why();
    done(coordinator_->BreakTeam(TeamId(request->team()), why));
  });
}

grpc::ServerUnaryReactor* AdminService::ListPlans(grpc::CallbackServerContext* context,
                                                  const v1::ListPlansRequest* request, v1::ListPlansReply* reply) {
  return Serve(context, "ListPlans", [this, request, reply](const Done& done) {
    if (request->team() != 0) {
      if (const auto info = coordinator_->Team(TeamId(request->team())); !info.ok()) return done(info.status());
    }
    for (const coordinator::PlanInfo& info : coordinator_->Plans()) {
      if (request->team() != 0 && !IsOf(info.layout, TeamId(request->team()))) continue;
      v1::PlanRow* row = reply->add_plans();
      FillPlan(info, row);
      // A critical path costs a prediction: a list includes it only where that is fast.
      if (info.plan.node_count > kListedPathNodesMax) continue;
      const auto path = coordinator_->CriticalPath(info.plan.id);
      if (!path.ok()) continue;
      for (const std::string& node : *path) row->add_critical_path(rpc::ToUtf8(node));
    }
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ShowPlan(grpc::CallbackServerContext* context,
                                                 const v1::ShowPlanRequest* request, v1::ShowPlanReply* reply) {
  return Serve(context, "ShowPlan", [this, request, reply](const Done& done) {
    const auto info = coordinator_->Plan(PlanId(request->id()));
    if (!info.ok()) return done(info.status());
    FillPlan(*info, reply->mutable_plan());
    reply->set_encoded(schedule::EncodePlan(info->plan));
    const auto path = coordinator_->CriticalPath(PlanId(request->id()));
    if (!path.ok()) return done(path.status());
    for (const std::string& node : *path) reply->mutable_plan()->add_critical_path(rpc::ToUtf8(node));
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ExplainPlan(grpc::CallbackServerContext* context,
                                                    const v1::ExplainPlanRequest* request,
                                                    v1::ExplainPlanReply* reply) {
  return Serve(context, "ExplainPlan", [this, request, reply](const Done& done) {
    const auto info = coordinator_->Plan(PlanId(request->id()));
    if (!info.ok()) return done(info.status());
    const auto explanation = coordinator_->Explain(PlanId(request->id()));
    if (!explanation.ok()) return done(explanation.status());
    FillPlan(*info, reply->mutable_plan());
    for (const std::string& node : explanation->critical_path)
      reply->mutable_plan()->add_critical_path(rpc::ToUtf8(node));
    reply->set_text(explanation->text);
    reply->set_dot(explanation->dot);
    reply->set_json(explanation->json);
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ShowTopology(grpc::CallbackServerContext* context,
                                                     const v1::ShowTopologyRequest*, v1::ShowTopologyReply* reply) {
  return Serve(context, "ShowTopology", [this, reply](const Done& done) {
    const std::vector<coordinator::NodeInfo> nodes = coordinator_->Nodes();
    std::vector<std::string> names;
    for (const coordinator::NodeInfo& node : nodes) names.push_back(node.announcement.name);
    reply->set_is_default(!plan_maker_->topology().has_value());
    if (names.empty() && reply->is_default()) return done(absl::OkStatus());
    const auto topology = plan_maker_->TopologyWith(names);
    if (!topology.ok()) return done(topology.status());
    FillTopology(**topology, nodes, reply);
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ImportTopology(grpc::CallbackServerContext* context,
                                                       const v1::ImportTopologyRequest* request,
                                                       v1::ImportTopologyReply* reply) {
  return Serve(context, "ImportTopology", [this, request, reply](const Done& done) {
    absl::StatusOr<SourcedTopology> read = ReadSource(request->source(), *topologies_);
    if (!read.ok()) return done(read.status());
    if (!read->topology.has_value()) {
      return done(absl::FailedPreconditionError(absl::StrCat("topology: there is none (source=", read->source, ")")));
    }
    const auto& in_force = topologies_->in_force();
    FillChanges(topology::CompareTopologies(in_force.has_value() ? &*in_force : nullptr, &*read->topology),
                reply->mutable_changes());
    for (const std::string& note : read->notes) reply->add_notes(rpc::ToUtf8(note));
    AddRegistrationNotes(*read->topology, coordinator_->Nodes(), reply);
    if (request->dry_run()) {
      reply->set_version(topologies_->versions().empty() ? 0 : topologies_->versions().back().version);
      reply->set_changed(!in_force.has_value() || *in_force != *read->topology);
      return done(absl::OkStatus());
    }
    topologies_->Apply(*std::move(read->topology), read->source,
                       [reply, done](const absl::StatusOr<TopologyOutcome>& outcome) {
                         if (outcome.ok()) FillOutcome(*outcome, reply);
                         done(outcome.status());
                       });
  });
}

grpc::ServerUnaryReactor* AdminService::DiffTopology(grpc::CallbackServerContext* context,
                                                     const v1::DiffTopologyRequest* request,
                                                     v1::DiffTopologyReply* reply) {
  return Serve(context, "DiffTopology", [this, request, reply](const Done& done) {
    const absl::StatusOr<SourcedTopology> before = ReadSource(request->before(), *topologies_);
    if (!before.ok()) return done(before.status());
    const absl::StatusOr<SourcedTopology> after = ReadSource(request->after(), *topologies_);
    if (!after.ok()) return done(after.status());
    const auto pointer = [](const SourcedTopology& read) { return read.topology ? &*read.topology : nullptr; };
    FillChanges(topology::CompareTopologies(pointer(*before), pointer(*after)), reply->mutable_changes());
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ExportTopology(grpc::CallbackServerContext* context,
                                                       const v1::ExportTopologyRequest* request,
                                                       v1::ExportTopologyReply* reply) {
  return Serve(context, "ExportTopology", [this, request, reply](const Done& done) {
    const bool slurm = request->format() == "slurm";
    if (!slurm && !request->format().empty() && request->format() != "yaml") {
      return done(absl::InvalidArgumentError(absl::StrCat(
          "format: not one to export (format=", rpc::ToUtf8(request->format(), 64), ", known=yaml slurm)")));
    }
    v1::SlurmFigures units;
    units.set_link_speed(request->link_speed());
    const absl::StatusOr<topology::SlurmFigures> figures = ReadSlurmFigures(units);
    if (!figures.ok()) return done(figures.status());
    absl::StatusOr<SourcedTopology> read = ReadSource(request->source(), *topologies_);
    if (!read.ok()) return done(read.status());
    if (!read->topology.has_value()) {
      return done(absl::FailedPreconditionError(absl::StrCat("topology: there is none (source=", read->source, ")")));
    }
    reply->set_format(slurm ? "slurm" : "yaml");
    reply->set_text(slurm ? topology::FormatSlurmTopology(*read->topology, figures->link_speed_bytes_per_s)
                          : topology::FormatTopologyYaml(*read->topology));
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ListTopologies(grpc::CallbackServerContext* context,
                                                       const v1::ListTopologiesRequest*,
                                                       v1::ListTopologiesReply* reply) {
  return Serve(context, "ListTopologies", [this, reply](const Done& done) {
    for (const TopologyVersion& version : topologies_->versions()) {
      FillVersion(version, version.version == topologies_->versions().back().version, reply->add_versions());
    }
    done(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AdminService::ProbeTopology(grpc::CallbackServerContext* context,
                                                      const v1::ProbeTopologyRequest* request,
                                                      v1::ProbeTopologyReply* reply) {
  const auto probe = [this, request, reply](const Done& done) {
    if (probe_ != nullptr) return done(absl::FailedPreconditionError("probe: another one is running"));
    absl::StatusOr<ProbeOptions> options = ReadProbe(*request);
    if (!options.ok()) return done(options.status());
    const std::optional<topology::Topology> tree = options->tree;
    const absl::Time began = clock_.Now();
    const uint64_t version = NewestVersion();
    reply->set_taken(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()));
    probe_ = std::make_unique<TopologyProbe>(
        &clock_, coordinator_, *std::move(options),
        [this, request, reply, done, tree, began, version](const absl::StatusOr<ProbeReport>& report) {
          queue_->Post([this] {  // posted, since the probe cannot be deleted within its callback
            probe_.reset();
            for (const Done& stopped : std::exchange(stoppers_, {})) stopped(absl::OkStatus());
          });
          if (!report.ok()) return done(report.status());
          reply->set_took_s(absl::ToDoubleSeconds(clock_.Now() - began));
          FillProbe(*report, tree, reply);
          reply->set_topology(topology::FormatTopologyYaml(report->topology));
          if (!request->apply()) return done(absl::OkStatus());
          if (NewestVersion() != version) {
            return done(absl::AbortedError(absl::StrCat(
                "probe: the topology has changed meanwhile (version=", NewestVersion(), ", was=", version, ")")));
          }
          const std::string source =
              absl::StrCat("probe of ", report->pairs.size(), " pairs, tree ", tree.has_value() ? "known" : "found");
          topologies_->Apply(
              report->topology, source,
              [reply, done](const absl::StatusOr<TopologyOutcome>& outcome) {
                if (!outcome.ok()) return done(outcome.status());
                reply->set_applied(true);
                reply->set_version(outcome->version);
                for (const TeamId team : outcome->replanned) reply->add_replanned(team.value());
                for (const auto& [team, status] : outcome->not_replanned) {
                  reply->add_not_replanned(rpc::ToUtf8(std::string(status.message())));
                }
                done(absl::OkStatus());
              },
              kReplanGainMin);
        });
    probe_->Start();
  };
  return Serve(context, "ProbeTopology", probe, [this] {
    if (probe_ != nullptr) probe_->Stop();
  });
}

grpc::ServerUnaryReactor* AdminService::StopProbe(grpc::CallbackServerContext* context, const v1::StopProbeRequest*,
                                                  v1::StopProbeReply*) {
  return Serve(context, "StopProbe", [this](const Done& done) {
    if (probe_ == nullptr) return done(absl::FailedPreconditionError("probe: none is running"));
    stoppers_.push_back(done);
    probe_->Stop();
  });
}

uint64_t AdminService::NewestVersion() const {
  return topologies_->versions().empty() ? 0 : topologies_->versions().back().version;
}

absl::StatusOr<ProbeOptions> AdminService::ReadProbe(const v1::ProbeTopologyRequest& request) const {
  ProbeOptions options;
  if (request.seconds() != 0) {
    if (!(request.seconds() > 0 && request.seconds() <= absl::ToDoubleSeconds(kProbeTimeMax))) {
      return absl::InvalidArgumentError(absl::StrCat("probe: out of range (seconds=", request.seconds(),
                                                     ", limit=", absl::ToDoubleSeconds(kProbeTimeMax), ")"));
    }
    options.budget = absl::Seconds(request.seconds());
  }
  for (const std::string& name : request.nodes()) {
    const auto info = coordinator_->Node(name);
    if (!info.ok()) return absl::NotFoundError(absl::StrCat("probe: ", info.status().message()));
    if (!info->connected) return absl::UnavailableError(absl::StrCat("probe: node ", name, ": not connected"));
    if (std::find(options.nodes.begin(), options.nodes.end(), name) == options.nodes.end()) {
      options.nodes.push_back(name);
    }
  }
  std::vector<std::string> all;
  for (const coordinator::NodeInfo& info : coordinator_->Nodes()) {
    all.push_back(info.announcement.name);
    if (request.nodes().empty() && info.connected) options.nodes.push_back(info.announcement.name);
  }
  const bool has_topology = plan_maker_->topology().has_value();
  if (!request.tree().empty() && request.tree() != "known" && request.tree() != "find") {
    return absl::InvalidArgumentError(
        absl::StrCat("probe: unknown (tree=", rpc::ToUtf8(request.tree(), 64), ", known=known find)"));
  }
  if (request.tree() == "known" && !has_topology) {
    return absl::FailedPreconditionError("probe: no topology is known (tree=known)");
  }
  const absl::StatusOr<ClusterTopologies::Shared> known = plan_maker_->TopologyWith(all.empty() ? options.nodes : all);
  if (!known.ok()) return known.status();
  options.costs = (*known)->costs();
  options.about = (*known)->nodes();
  if (has_topology && request.tree() != "find") options.tree = **known;
  return options;
}

grpc::ServerUnaryReactor* AdminService::ListCollectives(grpc::CallbackServerContext* context,
                                                        const v1::ListCollectivesRequest* request,
                                                        v1::ListCollectivesReply* reply) {
  return Serve(context, "ListCollectives", [this, request, reply](const Done& done) {
    coordinator_->QueryStatus(
        {}, TimeoutOf(request->timeout_s()), [this, request, reply, done](const coordinator::StatusAnswer& answer) {
          for (const coordinator::CollectiveInfo& call : coordinator_->MergeCalls(answer)) {
            const auto team = coordinator_->Team(call.team);
            const TeamId wanted(request->team());
            if (wanted != TeamId(0) && call.team != wanted && !(team.ok() && IsOf(team->layout, wanted))) {
              continue;
            }
            FillCollective(call, team.ok() ? &team->layout : nullptr, reply->add_collectives());
          }
          for (const std::string& node : answer.silent) reply->add_silent(rpc::ToUtf8(node));
          done(absl::OkStatus());
        });
  });
}

grpc::ServerUnaryReactor* AdminService::GetStats(grpc::CallbackServerContext* context,
                                                 const v1::GetStatsRequest* request, v1::GetStatsReply* reply) {
  return Serve(context, "GetStats", [this, request, reply](const Done& done) {
    std::vector<std::string> nodes;
    if (!request->node().empty()) {
      if (const auto info = coordinator_->Node(request->node()); !info.ok()) return done(info.status());
      nodes.push_back(request->node());
    }
    coordinator_->QueryStatus(
        nodes, TimeoutOf(request->timeout_s()),
        [reply, done](const coordinator::StatusAnswer& answer) {
          for (const schedule::DaemonStatus& status : answer.nodes) {
            v1::NodeStats* row = reply->add_stats();
            row->set_node(rpc::ToUtf8(status.node));
            for (const auto& [name, count] : status.counters) (*row->mutable_counters())[name] = count;
            for (const schedule::LatencyStatus& latency : status.latencies) FillLatency(latency, row->add_latencies());
          }
          for (const std::string& node : answer.silent) reply->add_silent(rpc::ToUtf8(node));
          done(absl::OkStatus());
        },
        request->latencies());
  });
}

grpc::ServerUnaryReactor* AdminService::GetTrace(grpc::CallbackServerContext* context,
                                                 const v1::GetTraceRequest* request, v1::GetTraceReply* reply) {
  return Serve(context, "GetTrace", [this, request, reply](const Done& done) {
    const auto info = coordinator_->Node(request->node());
    if (!info.ok()) return done(info.status());
    schedule::TraceQuery query;
    query.from = request->from();
    query.records = request->records() == 0 ? schedule::kTracePieceRecordsMax : request->records();
    if (request->has_last_s()) {
      // A value that is not a number, or too large for nanoseconds, means the whole trace.
      const double last_ns = request->last_s() * 1e9;
      query.last_ns = last_ns >= 0 && last_ns < 9e18 ? static_cast<int64_t>(last_ns) : -1;
    }
    reply->set_node(request->node());
    reply->set_incarnation(info->announcement.incarnation.value());
    coordinator_->QueryTrace(request->node(), query, TimeoutOf(request->timeout_s()),
                             [reply, done](const absl::StatusOr<coordinator::TraceAnswer>& answer) {
                               if (answer.ok()) FillTrace(*answer, reply);
                               done(answer.status());
                             });
  });
}

}  // namespace copse::planner
