// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/admin_service.h"

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "planner/admin/admin_rows.h"
#include "planner/admin/audit_log.h"
#include "planner/admin/planner_rows.h"
#include "planner/admin/row_selector.h"
#include "planner/admin/row_stream.h"
#include "planner/admin/topology_probe.h"
#include "planner/admin/topology_source.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology_changes.h"
#include "planner/topology/topology_yaml.h"
#include "planner/work/task_thread.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/status.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
constexpr absl::Duration kStatusTimeoutMax = absl::Minutes(1);
constexpr absl::Duration kProbeTimeMax = absl::Minutes(60);
constexpr size_t kWhyBytesMax = 256;

// `plan list` has critical paths for plans of up to this many nodes; `plan show` always has them.
constexpr uint32_t kListedPathNodesMax = 16;

// Returns whether the layout is that of the team, or of a derived team of it.
bool IsOf(const schedule::TeamLayout& layout, TeamId team) { return layout.id == team || ShownTeam(layout) == team; }

absl::Duration TimeoutOf(double seconds) {
  if (!(seconds > 0)) return kStatusTimeout;
  return std::min(absl::Seconds(seconds), kStatusTimeoutMax);
}

// Moves the next silent node's name to the reply, and returns its bytes; 0: there is none.
template <typename Reply>
size_t AddSilent(std::deque<std::string>* silent, Reply* reply) {
  if (silent->empty()) return 0;
  reply->add_silent(rpc::ToUtf8(silent->front()));
  silent->pop_front();
  return reply->silent(reply->silent_size() - 1).size();
}

// Returns the topology that the source names, or FAILED_PRECONDITION if there is none.
absl::StatusOr<SourcedTopology> ReadTopology(const v1::TopologySource& source, const TopologyHistory& history) {
  ASSIGN_OR_RETURN(SourcedTopology read, ReadSource(source, history));
  if (read.topology.has_value()) return read;
  return absl::FailedPreconditionError(absl::StrCat("topology: there is none (source=", read.source, ")"));
}

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()); }

void FillAudit(const AuditRecord& record, v1::AuditRow* row) {
  row->set_time(TimeText(record.time));
  row->set_who(rpc::ToUtf8(record.who));
  row->set_from(rpc::ToUtf8(record.from));
  row->set_method(record.method);
  row->set_request(rpc::ToUtf8(record.request));
  row->set_result(record.result.ok() ? "OK" : rpc::ToUtf8(record.result.ToString()));
  row->set_duration_s(absl::ToDoubleSeconds(record.duration));
}

// AdminCalls has a method for each RPC. gRPC's threads call these, and they return immediately; the work runs on the
// planner's thread, which alone accesses the data.
class AdminCalls final : public AdminService, public v1::AdminService::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  AdminCalls(TaskQueue* queue, coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker,
             TopologyHistory* topologies, const PlannerInstruments* instruments, StateSaver* saver,
             const rpc::Authorizer* authorizer, const AdminServiceOptions& options)
      : queue_(queue),
        coordinator_(coordinator),
        plan_maker_(plan_maker),
        topologies_(topologies),
        instruments_(instruments),
        saver_(saver),
        authorizer_(authorizer),
        has_private_data_(options.private_data),
        audit_(options.log_file) {}

  grpc::Service* service() override { return this; }

  void Stop() override {
    stopped_ = true;
    while (!open_.empty()) End(open_.begin()->first, rpc::ToGrpc(absl::UnavailableError("the planner stops")));
  }

  Reactor* Ping(Context* context, const v1::PingRequest* request, v1::PingReply* reply) override {
    return Serve(context, "Ping", [this, request, reply](const Done& done) -> absl::Status {
      if (request->proto_version() != 0) {
        RETURN_IF_ERROR(CheckVersion("proto", kProtoVersion, request->proto_version()));
      }
      reply->set_ok(true);
      reply->set_version(kVersion);
      if (request->node().empty()) {
        done(absl::OkStatus());
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const coordinator::NodeInfo node, coordinator_->FindNode(request->node()));
      reply->set_version(rpc::ToUtf8(node.announcement.version));
      const absl::Time asked = absl::Now();
      coordinator_->QueryStatus(
          {request->node()}, kStatusTimeout, [=, name = request->node()](const coordinator::StatusAnswer& answer) {
            if (answer.nodes.empty())
              return done(absl::DeadlineExceededError(absl::StrCat("ping: node ", name, " does not answer")));
            reply->set_latency_ms(absl::ToDoubleMilliseconds(absl::Now() - asked));
            done(absl::OkStatus());
          });
      return absl::OkStatus();
    });
  }

  Reactor* Version(Context* context, const v1::VersionRequest* request, v1::VersionReply* reply) override {
    return Answer(context, "Version", [this, request, reply]() -> absl::Status {
      schedule::FormatVersions formats{kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
      reply->set_program("copse-planner");
      reply->set_version(kVersion);
      if (!request->node().empty()) {
        ASSIGN_OR_RETURN(const coordinator::NodeInfo node, coordinator_->FindNode(request->node()));
        reply->set_program("copsed");
        reply->set_version(rpc::ToUtf8(node.announcement.version));
        formats = node.announcement.formats;
      }
      reply->set_ok(true);
      reply->set_ring(formats.ring);
      reply->set_packet(formats.packet);
      reply->set_proto(formats.proto);
      reply->set_plan(formats.plan);
      return absl::OkStatus();
    });
  }

  Reactor* ListNodes(Context* context, const v1::ListNodesRequest* request, v1::ListNodesReply* reply) override {
    return ServeRows<v1::ListNodesReply>(
        context, "ListNodes", reply, [this, request](const rpc::Principal& who) { return NodeRows(*request, who); });
  }
  grpc::ServerWriteReactor<v1::ListNodesReply>* StreamNodes(Context* context,
                                                            const v1::ListNodesRequest* request) override {
    return ServeStream<v1::ListNodesReply>(
        context, "StreamNodes", [this, request](const rpc::Principal& who) { return NodeRows(*request, who); });
  }

  Reactor* ShowNode(Context* context, const v1::ShowNodeRequest* request, v1::ShowNodeReply* reply) override {
    return ServeAs(context, "ShowNode",
                   [this, request, reply](const rpc::Principal& who, const Done& done) -> absl::Status {
                     ASSIGN_OR_RETURN(const coordinator::NodeInfo info, coordinator_->FindNode(request->name()));
                     FillNodeFor(who, info, reply->mutable_node());
                     coordinator_->QueryStatus(
                         {request->name()}, kStatusTimeout, [reply, done](const coordinator::StatusAnswer& answer) {
                           reply->set_answered(!answer.nodes.empty());
                           for (const schedule::DaemonStatus& status : answer.nodes) {
                             // A drain by signal is known to the daemon only.
                             if (status.state == "draining") reply->mutable_node()->set_state(status.state);
                             reply->set_clients(status.clients);
                             reply->set_teams(status.teams);
                             reply->mutable_counters()->insert(status.counters.begin(), status.counters.end());
                           }
                           done(absl::OkStatus());
                         });
                     return absl::OkStatus();
                   });
  }

  Reactor* DrainNode(Context* context, const v1::DrainNodeRequest* request, v1::DrainNodeReply*) override {
    return Change(
        context, "DrainNode", *request, [this, request](const rpc::Principal&, const Done& done) -> absl::Status {
          const std::string node = request->node();  // `done` ends the request's lifetime
          const bool draining = !request->off();
          const std::string why = rpc::ToUtf8(request->why(), kWhyBytesMax);
          coordinator_->SetDraining(node, draining, [this, node, draining, why, done](const absl::Status& stored) {
            if (stored.ok()) drain_reasons_[node] = draining ? why : "";
            done(stored);
            if (stored.ok() && plan_maker_->SetDraining(node, draining)) topologies_->ReplanTeamsOf(node);
          });
          return absl::OkStatus();
        });
  }

  Reactor* RemoveNode(Context* context, const v1::RemoveNodeRequest* request, v1::RemoveNodeReply*) override {
    return Change(context, "RemoveNode", *request, [this, request](const rpc::Principal&, const Done& done) {
      done(coordinator_->RemoveNode(request->node()));
      return absl::OkStatus();
    });
  }

  Reactor* ListTeams(Context* context, const v1::ListTeamsRequest* request, v1::ListTeamsReply* reply) override {
    return ServeRows<v1::ListTeamsReply>(
        context, "ListTeams", reply, [this, request](const rpc::Principal& who) { return TeamRows(*request, who); });
  }
  grpc::ServerWriteReactor<v1::ListTeamsReply>* StreamTeams(Context* context,
                                                            const v1::ListTeamsRequest* request) override {
    return ServeStream<v1::ListTeamsReply>(
        context, "StreamTeams", [this, request](const rpc::Principal& who) { return TeamRows(*request, who); });
  }

  Reactor* ShowTeam(Context* context, const v1::ShowTeamRequest* request, v1::ShowTeamReply* reply) override {
    return ServeAs(context, "ShowTeam",
                   [this, request, reply](const rpc::Principal& who, const Done& done) -> absl::Status {
                     const TeamId id(request->id());
                     RETURN_IF_ERROR(coordinator_->FindTeam(id).status());
                     CountCalls([this, id, who, reply, done](std::map<TeamId, uint32_t> calls) {
                       if (!done.is_open()) return;
                       const auto info = coordinator_->FindTeam(id);
                       if (info.ok()) FillTeamFor(who, *info, calls[id], reply->mutable_team());
                       done(info.status());
                     });
                     return absl::OkStatus();
                   });
  }

  Reactor* ReplanTeam(Context* context, const v1::ReplanTeamRequest* request, v1::ReplanTeamReply* reply) override {
    return Change(context, "ReplanTeam", *request,
                  [this, request, reply](const rpc::Principal&, const Done& done) -> absl::Status {
                    coordinator::PlanOptions options{.algorithm = request->algorithm()};
                    if (!request->collective().empty()) {
                      options.collective = CollectiveFromName(request->collective());
                      if (!options.collective) {
                        return absl::InvalidArgumentError(
                            absl::StrCat("replan: unknown collective (collective=", request->collective(), ")"));
                      }
                    }
                    const TeamId id(request->team());
                    coordinator_->ReplanTeam(id, options, [this, id, reply, done](const absl::Status& status) {
                      if (const auto info = coordinator_->FindTeam(id); info.ok())
                        reply->set_epoch(info->epoch.value());
                      done(status);
                    });
                    return absl::OkStatus();
                  });
  }

  Reactor* BreakTeam(Context* context, const v1::BreakTeamRequest* request, v1::BreakTeamReply*) override {
    return Change(
        context, "BreakTeam", *request, [this, request](const rpc::Principal& who, const Done& done) -> absl::Status {
          const TeamId id(request->team());
          ASSIGN_OR_RETURN(const coordinator::TeamInfo team, coordinator_->FindTeam(id));
          if (!who.MayChange(team.layout.identity.uid)) {
            return absl::PermissionDeniedError(
                absl::StrCat("team ", id.value(), ": it is another user's, which needs role operator (who=", who.who,
                             ", owner=uid ", team.layout.identity.uid, ")"));
          }
          const std::string why = request->why().empty() ? "no reason given" : request->why();
          done(coordinator_->BreakTeam(id, why));
          return absl::OkStatus();
        });
  }

  Reactor* ListPlans(Context* context, const v1::ListPlansRequest* request, v1::ListPlansReply* reply) override {
    return ServeRows<v1::ListPlansReply>(context, "ListPlans", reply,
                                         [this, request](const rpc::Principal&) { return PlanRows(*request); });
  }
  grpc::ServerWriteReactor<v1::ListPlansReply>* StreamPlans(Context* context,
                                                            const v1::ListPlansRequest* request) override {
    return ServeStream<v1::ListPlansReply>(context, "StreamPlans",
                                           [this, request](const rpc::Principal&) { return PlanRows(*request); });
  }

  Reactor* ShowPlan(Context* context, const v1::ShowPlanRequest* request, v1::ShowPlanReply* reply) override {
    return Answer(context, "ShowPlan", [this, request, reply]() -> absl::Status {
      ASSIGN_OR_RETURN(const coordinator::PlanInfo info, coordinator_->FindPlan(PlanId(request->id())));
      ASSIGN_OR_RETURN(const std::vector<std::string> path, coordinator_->CriticalPath(PlanId(request->id())));
      FillPlan(info, path, reply->mutable_plan());
      reply->set_encoded(schedule::EncodePlan(info.plan));
      return absl::OkStatus();
    });
  }

  Reactor* ExplainPlan(Context* context, const v1::ExplainPlanRequest* request, v1::ExplainPlanReply* reply) override {
    return Answer(context, "ExplainPlan", [this, request, reply]() -> absl::Status {
      ASSIGN_OR_RETURN(const coordinator::PlanInfo info, coordinator_->FindPlan(PlanId(request->id())));
      ASSIGN_OR_RETURN(const coordinator::PlanExplanation explanation, coordinator_->Explain(PlanId(request->id())));
      FillPlan(info, explanation.critical_path, reply->mutable_plan());
      reply->set_text(explanation.text);
      reply->set_dot(explanation.dot);
      reply->set_json(explanation.json);
      return absl::OkStatus();
    });
  }

  Reactor* ShowTopology(Context* context, const v1::ShowTopologyRequest*, v1::ShowTopologyReply* reply) override {
    return Answer(context, "ShowTopology", [this, reply]() -> absl::Status {
      const std::vector<coordinator::NodeInfo> nodes = coordinator_->Nodes();
      std::vector<std::string> names;
      for (const coordinator::NodeInfo& node : nodes) names.push_back(node.announcement.name);
      reply->set_is_default(!plan_maker_->topology().has_value());
      if (names.empty() && reply->is_default()) return absl::OkStatus();
      ASSIGN_OR_RETURN(const ClusterTopologies::Shared topology, plan_maker_->TopologyWith(names));
      FillTopology(*topology, nodes, reply);
      return absl::OkStatus();
    });
  }

  Reactor* ImportTopology(Context* context, const v1::ImportTopologyRequest* request,
                          v1::ImportTopologyReply* reply) override {
    return Change(context, "ImportTopology", *request,
                  [this, request, reply](const rpc::Principal&, const Done& done) -> absl::Status {
                    ASSIGN_OR_RETURN(SourcedTopology read, ReadTopology(request->source(), *topologies_));
                    const auto& in_force = topologies_->in_force();
                    FillChanges(
                        topology::CompareTopologies(in_force.has_value() ? &*in_force : nullptr, &*read.topology),
                        reply->mutable_changes());
                    for (const std::string& note : read.notes) reply->add_notes(rpc::ToUtf8(note));
                    AddRegistrationNotes(*read.topology, coordinator_->Nodes(), reply);
                    if (request->dry_run()) {
                      reply->set_version(topologies_->newest_version());
                      reply->set_changed(!in_force.has_value() || *in_force != *read.topology);
                      done(absl::OkStatus());
                      return absl::OkStatus();
                    }
                    topologies_->Apply(*std::move(read.topology), read.source,
                                       [reply, done](const absl::StatusOr<TopologyOutcome>& outcome) {
                                         if (outcome.ok()) FillOutcome(*outcome, reply);
                                         done(outcome.status());
                                       });
                    return absl::OkStatus();
                  });
  }

  Reactor* DiffTopology(Context* context, const v1::DiffTopologyRequest* request,
                        v1::DiffTopologyReply* reply) override {
    return Answer(context, "DiffTopology", [this, request, reply]() -> absl::Status {
      ASSIGN_OR_RETURN(const SourcedTopology before, ReadSource(request->before(), *topologies_));
      ASSIGN_OR_RETURN(const SourcedTopology after, ReadSource(request->after(), *topologies_));
      const auto pointer = [](const SourcedTopology& read) { return read.topology ? &*read.topology : nullptr; };
      FillChanges(topology::CompareTopologies(pointer(before), pointer(after)), reply->mutable_changes());
      return absl::OkStatus();
    });
  }

  Reactor* ExportTopology(Context* context, const v1::ExportTopologyRequest* request,
                          v1::ExportTopologyReply* reply) override {
    return Answer(context, "ExportTopology", [this, request, reply]() -> absl::Status {
      const bool slurm = request->format() == "slurm";
      if (!slurm && !request->format().empty() && request->format() != "yaml") {
        return absl::InvalidArgumentError(absl::StrCat(
            "format: not one to export (format=", rpc::ToUtf8(request->format(), 64), ", known=yaml slurm)"));
      }
      v1::SlurmFigures units;
      units.set_link_speed(request->link_speed());
      ASSIGN_OR_RETURN(const topology::SlurmFigures figures, ReadSlurmFigures(units));
      ASSIGN_OR_RETURN(const SourcedTopology read, ReadTopology(request->source(), *topologies_));
      reply->set_format(slurm ? "slurm" : "yaml");
      reply->set_text(slurm ? topology::FormatSlurmTopology(*read.topology, figures.link_speed_bytes_per_s)
                            : topology::FormatTopologyYaml(*read.topology));
      return absl::OkStatus();
    });
  }

  Reactor* ListTopologies(Context* context, const v1::ListTopologiesRequest*, v1::ListTopologiesReply* reply) override {
    return Answer(context, "ListTopologies", [this, reply] {
      for (const TopologyVersion& version : topologies_->versions()) {
        FillVersion(version, version.version == topologies_->newest_version(), reply->add_versions());
      }
      return absl::OkStatus();
    });
  }

  Reactor* ProbeTopology(Context* context, const v1::ProbeTopologyRequest* request,
                         v1::ProbeTopologyReply* reply) override {
    return Change(
        context, "ProbeTopology", *request,
        [this, request, reply](const rpc::Principal&, const Done& done) { return StartProbe(*request, reply, done); },
        [this] {
          if (probe_ != nullptr) probe_->Stop();
        });
  }

  Reactor* StopProbe(Context* context, const v1::StopProbeRequest* request, v1::StopProbeReply*) override {
    return Change(context, "StopProbe", *request, [this](const rpc::Principal&, const Done& done) -> absl::Status {
      if (probe_ == nullptr) return absl::FailedPreconditionError("probe: none is running");
      stoppers_.push_back(done);
      probe_->Stop();
      return absl::OkStatus();
    });
  }

  Reactor* ListCollectives(Context* context, const v1::ListCollectivesRequest* request,
                           v1::ListCollectivesReply* reply) override {
    return ServeRows<v1::ListCollectivesReply>(
        context, "ListCollectives", reply, [this, request](const rpc::Principal&) { return CollectiveRows(*request); });
  }
  grpc::ServerWriteReactor<v1::ListCollectivesReply>* StreamCollectives(
      Context* context, const v1::ListCollectivesRequest* request) override {
    return ServeStream<v1::ListCollectivesReply>(
        context, "StreamCollectives", [this, request](const rpc::Principal&) { return CollectiveRows(*request); });
  }

  Reactor* GetStats(Context* context, const v1::GetStatsRequest* request, v1::GetStatsReply* reply) override {
    return ServeRows<v1::GetStatsReply>(context, "GetStats", reply,
                                        [this, request](const rpc::Principal&) { return StatsRows(*request); });
  }
  grpc::ServerWriteReactor<v1::GetStatsReply>* StreamStats(Context* context,
                                                           const v1::GetStatsRequest* request) override {
    return ServeStream<v1::GetStatsReply>(context, "StreamStats",
                                          [this, request](const rpc::Principal&) { return StatsRows(*request); });
  }

  Reactor* GetPlannerStatus(Context* context, const v1::GetPlannerStatusRequest*,
                            v1::GetPlannerStatusReply* reply) override {
    return Answer(context, "GetPlannerStatus", [this, reply] {
      FillPlannerStatus(instruments_->State(), reply);
      return absl::OkStatus();
    });
  }

  Reactor* GetPlannerStats(Context* context, const v1::GetPlannerStatsRequest*,
                           v1::GetPlannerStatsReply* reply) override {
    return Answer(context, "GetPlannerStats", [this, reply] {
      FillPlannerStats(*instruments_, reply);
      return absl::OkStatus();
    });
  }

  Reactor* SaveState(Context* context, const v1::SaveStateRequest* request, v1::SaveStateReply* reply) override {
    return Change(context, "SaveState", *request,
                  [this, reply](const rpc::Principal&, const Done& done) -> absl::Status {
                    saver_->Save([reply, done](const absl::StatusOr<SavedFile>& file) {
                      if (!file.ok()) return done(file.status());
                      reply->set_file(file->bytes);
                      reply->set_cluster(rpc::ToUtf8(file->cluster));
                      reply->set_term(file->term);
                      reply->set_teams(static_cast<uint32_t>(file->teams));
                      done(absl::OkStatus());
                    });
                    return absl::OkStatus();
                  });
  }

  Reactor* AdoptState(Context* context, const v1::AdoptStateRequest* request, v1::AdoptStateReply* reply) override {
    return Change(context, "AdoptState", *request,
                  [this, request, reply](const rpc::Principal&, const Done& done) -> absl::Status {
                    const std::string former = coordinator_->cluster().uuid();
                    ASSIGN_OR_RETURN(const coordinator::ForeignTeams teams,
                                     coordinator_->FindForeign(request->cluster()));
                    if (!request->force()) {
                      return absl::FailedPreconditionError(absl::StrCat(
                          "state: the planner would leave its cluster for that of the nodes, and --force is not given "
                          "(cluster=",
                          teams.cluster, ", now=", former, ", nodes=", teams.nodes.size(), ")"));
                    }
                    coordinator_->AdoptCluster(teams);
                    reply->set_cluster(rpc::ToUtf8(teams.cluster));
                    reply->set_former(rpc::ToUtf8(former));
                    for (const std::string& node : teams.nodes) reply->add_nodes(rpc::ToUtf8(node));
                    done(absl::OkStatus());
                    return absl::OkStatus();
                  });
  }

  Reactor* GetTrace(Context* context, const v1::GetTraceRequest* request, v1::GetTraceReply* reply) override {
    return Serve(context, "GetTrace", [this, request, reply](const Done& done) -> absl::Status {
      ASSIGN_OR_RETURN(const coordinator::NodeInfo info, coordinator_->FindNode(request->node()));
      schedule::TraceQuery query;
      query.from = request->from();
      query.records = request->records() == 0 ? schedule::kTracePieceRecordsMax : request->records();
      if (request->has_last_s()) {
        // A value that is not a number, or too large for nanoseconds, means the whole trace.
        const double last_ns = request->last_s() * 1e9;
        query.last_ns = last_ns >= 0 && last_ns < 9e18 ? static_cast<int64_t>(last_ns) : -1;
      }
      reply->set_node(request->node());
      reply->set_incarnation(info.announcement.incarnation.value());
      coordinator_->QueryTrace(request->node(), query, TimeoutOf(request->timeout_s()),
                               [reply, done](const absl::StatusOr<coordinator::TraceAnswer>& answer) {
                                 if (answer.ok()) FillTrace(*answer, reply);
                                 done(answer.status());
                               });
      return absl::OkStatus();
    });
  }

  Reactor* ListEvents(Context* context, const v1::ListEventsRequest* request, v1::ListEventsReply* reply) override {
    return Answer(context, "ListEvents", [this, request, reply] {
      const std::deque<coordinator::Event>& events = coordinator_->events().events();
      const size_t kept = request->last() == 0 ? events.size() : std::min<size_t>(request->last(), events.size());
      reply->set_planner(number_);
      for (auto event = events.end() - static_cast<std::ptrdiff_t>(kept); event != events.end(); ++event) {
        if (event->number <= request->after()) continue;
        v1::EventRow* const row = reply->add_rows();
        row->set_time(TimeText(absl::Now() - (clock_.Now() - event->time)));
        row->set_who(rpc::ToUtf8(event->who));
        row->set_method(event->what);
        row->set_result(has_private_data_ ? "" : rpc::ToUtf8(event->detail));
        row->set_number(event->number);
      }
      return absl::OkStatus();
    });
  }

  Reactor* ListAudit(Context* context, const v1::ListAuditRequest* request, v1::ListAuditReply* reply) override {
    return Answer(context, "ListAudit", [this, request, reply] {
      const std::deque<AuditRecord>& records = audit_.records();
      const size_t count = request->last() == 0 ? records.size() : std::min<size_t>(request->last(), records.size());
      for (size_t i = records.size() - count; i < records.size(); ++i) FillAudit(records[i], reply->add_rows());
      return absl::OkStatus();
    });
  }

 private:
  // A Done ends an RPC. It may be called when the RPC has ended; it then does nothing.
  class Done {
   public:
    Done(AdminCalls* calls, uint64_t number) : calls_(calls), number_(number) {}
    void operator()(const absl::Status& status) const { calls_->End(number_, rpc::ToGrpc(status)); }
    // Returns whether the RPC, and with it its reply, still exist.
    bool is_open() const { return calls_->open_.contains(number_); }

   private:
    AdminCalls* calls_;
    uint64_t number_;
  };

  // A Call is one RPC. Its reactions run on gRPC's threads; the planner's thread deletes it after all tasks that were
  // posted for it.
  class Call final : public Reactor, public OpenCall {
   public:
    Call(AdminCalls* calls, std::function<void()> on_cancel) : calls_(calls), on_cancel_(std::move(on_cancel)) {}

    // A long reply takes long to encode, which Finish does.
    void End(const grpc::Status& status) override {
      calls_->sender_.Post([this, status] { Finish(status); });
    }
    void OnCancel() override {
      if (on_cancel_ == nullptr) return;
      calls_->queue_->Post([this] {
        if (calls_->open_.contains(number)) on_cancel_();
      });
    }
    void OnDone() override {
      calls_->queue_->Post([self = std::shared_ptr<Call>(this)] {});
    }

    uint64_t number = 0;  // in open_

   private:
    AdminCalls* const calls_;
    const std::function<void()> on_cancel_;
  };

  void End(uint64_t number, const grpc::Status& status) {
    const auto call = open_.extract(number);
    if (!call.empty()) call.mapped()->End(status);
    auto change = changes_.extract(number);
    if (change.empty()) return;
    change.mapped().result = rpc::FromGrpc(status);
    change.mapped().duration = absl::Now() - change.mapped().time;
    audit_.Add(std::move(change.mapped()));
  }
  absl::StatusOr<rpc::Principal> Authorize(Context* context, const char* method) const {
    return authorizer_->Authorize(*context, "/copse.v1.AdminService/" + std::string(method));
  }

  using Work = std::function<absl::Status(const rpc::Principal&, const Done&)>;

  // Authorizes the caller, then runs `work` on the planner's thread. `work` returns an error, or calls its argument
  // once, when the reply is filled. If the caller disconnects before that, `on_cancel` is called on the planner's
  // thread.
  Reactor* Serve(Context* context, const char* method, std::function<absl::Status(const Done&)> work) {
    return ServeAs(context, method,
                   [work = std::move(work)](const rpc::Principal&, const Done& done) { return work(done); });
  }
  // Serves a call that changes something, which is recorded when it ends.
  Reactor* Change(Context* context, const char* method, const google::protobuf::Message& request, Work work,
                  std::function<void()> on_cancel = nullptr) {
    return ServeAs(context, method, std::move(work), std::move(on_cancel),
                   std::make_shared<AuditRecord>(
                       AuditRecord{.time = absl::Now(), .method = method, .request = DescribeRequest(request)}));
  }
  // `record`: of a call that changes something; null: it changes nothing.
  Reactor* ServeAs(Context* context, const char* method, Work work, std::function<void()> on_cancel = nullptr,
                   std::shared_ptr<AuditRecord> record = nullptr) {
    auto* const reactor = new Call(this, std::move(on_cancel));
    absl::StatusOr<rpc::Principal> caller = Authorize(context, method);
    if (!caller.ok()) {
      reactor->Finish(rpc::ToGrpc(caller.status()));
      return reactor;
    }
    // Request and reply exist until Finish.
    queue_->Post([this, reactor, work = std::move(work), who = *std::move(caller), record = std::move(record)] {
      if (stopped_) return reactor->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
      reactor->number = ++calls_;
      open_.emplace(reactor->number, reactor);
      if (record != nullptr) {
        record->who = who.who;
        record->from = who.peer;
        changes_.emplace(reactor->number, std::move(*record));
      }
      const Done done(this, reactor->number);
      if (const absl::Status begun = work(who, done); !begun.ok()) done(begun);
    });
    return reactor;
  }

  // A RowWork passes the source of a list's rows to its argument, once, or returns an error.
  template <typename Reply>
  using RowWork = std::function<absl::Status(const std::function<void(RowSource<Reply>)>&)>;

  // Returns the work for a caller; called on gRPC's threads.
  template <typename Reply>
  using RowsFor = std::function<RowWork<Reply>(const rpc::Principal&)>;

  // Serves a list in one reply.
  template <typename Reply>
  Reactor* ServeRows(Context* context, const char* method, Reply* reply, RowsFor<Reply> rows) {
    return ServeAs(context, method, [this, reply, rows = std::move(rows)](const rpc::Principal& who, const Done& done) {
      return rows(who)([this, reply, done](RowSource<Reply> source) {
        Fill(reply, std::make_shared<RowSource<Reply>>(std::move(source)), done);
      });
    });
  }
  template <typename Reply>
  void Fill(Reply* reply, std::shared_ptr<RowSource<Reply>> source, const Done& done) {
    if (!done.is_open()) return;
    if (!AddPiece(*source, reply)) return done(absl::OkStatus());
    queue_->Post([this, reply, source, done] { Fill(reply, source, done); });
  }

  // Serves a list as a stream.
  template <typename Reply>
  grpc::ServerWriteReactor<Reply>* ServeStream(Context* context, const char* method, const RowsFor<Reply>& rows) {
    const auto number = std::make_shared<uint64_t>(0);
    auto* const stream =
        new RowStream<Reply>(queue_, &sender_, [this, number](const grpc::Status& status) { End(*number, status); });
    const absl::StatusOr<rpc::Principal> caller = Authorize(context, method);
    if (!caller.ok()) {
      stream->Finish(rpc::ToGrpc(caller.status()));
      return stream;
    }
    queue_->Post([this, stream, number, work = rows(*caller)] {
      if (stopped_) return stream->End(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
      *number = ++calls_;
      open_.emplace(*number, stream);
      const Done done(this, *number);
      const absl::Status begun = work([stream, done](RowSource<Reply> source) {
        if (done.is_open()) stream->Begin(std::move(source));
      });
      if (!begun.ok()) done(begun);
    });
    return stream;
  }

  // With private_data, others' jobs and names are shown to operators and administrators alone.
  bool Hides(const rpc::Principal& who, const schedule::TeamLayout& layout) const {
    return has_private_data_ && !who.MayChange(layout.identity.uid);
  }
  void FillTeamFor(const rpc::Principal& who, const coordinator::TeamInfo& info, uint32_t calls, v1::TeamRow* row) {
    FillTeam(info, calls, row);
    if (!Hides(who, info.layout)) return;
    row->clear_name();
    row->clear_job();
    row->clear_why();
  }
  void FillNodeFor(const rpc::Principal& who, const coordinator::NodeInfo& info, v1::NodeRow* row) {
    FillNode(info, row);
    const auto reason = drain_reasons_.find(info.announcement.name);
    if (info.state == "draining" && reason != drain_reasons_.end()) row->set_why(reason->second);
    const absl::Time ends = instruments_->CertificateEnds(info.announcement.name);
    if (ends != absl::InfiniteFuture()) row->set_certificate_ends_s(absl::ToDoubleSeconds(ends - absl::Now()));
    if (has_private_data_ && who.role < rpc::Role::kOperator) row->clear_incarnation();
  }

  // A selector is shared, since it may be long.
  using SharedSelector = std::shared_ptr<const absl::StatusOr<RowSelector>>;
  static SharedSelector Shared(absl::StatusOr<RowSelector> selector) {
    return std::make_shared<const absl::StatusOr<RowSelector>>(std::move(selector));
  }
  // These return work that reads nothing of the request later. Selectors are read here, on gRPC's threads.
  RowWork<v1::ListNodesReply> NodeRows(const v1::ListNodesRequest& request, const rpc::Principal& who) {
    const auto selector =
        Shared(RowSelector::Create(request.selector(), {.states = {"ready", "draining", "away", "lost"}}));
    return [this, selector, who](const auto& begin) -> absl::Status {
      RETURN_IF_ERROR(selector->status());
      begin([this, selector, who, last = std::string()](v1::ListNodesReply* reply) mutable -> size_t {
        const std::optional<coordinator::NodeInfo> info = coordinator_->NodeAfter(last);
        if (!info.has_value()) return 0;
        last = info->announcement.name;
        if (!(*selector)->HasNode(last) || !(*selector)->HasState(info->state)) return 1;
        v1::NodeRow* const row = reply->add_nodes();
        FillNodeFor(who, *info, row);
        return row->ByteSizeLong();
      });
      return absl::OkStatus();
    };
  }

  RowWork<v1::ListTeamsReply> TeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who) {
    const auto selector =
        Shared(RowSelector::Create(request.selector(), {.owner = true, .states = {"forming", "ready", "broken"}}));
    // Whether a hidden team has this job must not be told, either.
    const bool by_job = !request.selector().job().empty();
    return [this, all = request.all(), selector, who, by_job](const auto& begin) -> absl::Status {
      RETURN_IF_ERROR(selector->status());
      CountCalls([this, all, selector, who, by_job, begin](std::map<TeamId, uint32_t> calls) {
        begin([this, all, selector, who, by_job, calls = std::move(calls),
               last = std::optional<schedule::TeamLayout>()](v1::ListTeamsReply* reply) mutable -> size_t {
          const auto info = coordinator_->TeamAfter(last.has_value() ? &*last : nullptr);
          if (!info.has_value()) return 0;
          const schedule::TeamLayout& layout = info->layout;
          last = schedule::TeamLayout{.id = layout.id, .identity = layout.identity, .parent = layout.parent};
          if (!all && schedule::IsDerivedTeam(layout.identity)) return 1;
          if (!(*selector)->HasState(info->state) || !(*selector)->HasTeam(layout)) return 1;
          if (by_job && Hides(who, layout)) return 1;
          v1::TeamRow* const row = reply->add_teams();
          FillTeamFor(who, *info, calls[layout.id], row);
          return row->ByteSizeLong();
        });
      });
      return absl::OkStatus();
    };
  }

  RowWork<v1::ListPlansReply> PlanRows(const v1::ListPlansRequest& request) {
    const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true}));
    return [this, team = TeamId(request.team()), selector](const auto& begin) -> absl::Status {
      RETURN_IF_ERROR(selector->status());
      if (team != TeamId(0)) RETURN_IF_ERROR(coordinator_->FindTeam(team).status());
      begin([this, team, selector, last = PlanId(0)](v1::ListPlansReply* reply) mutable -> size_t {
        const auto info = coordinator_->PlanAfter(last, [&](const schedule::TeamLayout& layout) {
          return (team == TeamId(0) || IsOf(layout, team)) && (*selector)->HasTeam(layout);
        });
        if (!info.has_value()) return 0;
        last = info->plan.id;
        // A critical path costs a prediction: a list includes it only where that is fast.
        absl::StatusOr<std::vector<std::string>> path = std::vector<std::string>();
        if (info->plan.node_count <= kListedPathNodesMax) path = plan_maker_->CriticalPath(info->layout, info->plan);
        v1::PlanRow* const row = reply->add_plans();
        FillPlan(*info, path.ok() ? *path : std::vector<std::string>(), row);
        return row->ByteSizeLong();
      });
      return absl::OkStatus();
    };
  }

  RowWork<v1::ListCollectivesReply> CollectiveRows(const v1::ListCollectivesRequest& request) {
    const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true}));
    return [this, wanted = TeamId(request.team()), timeout = TimeoutOf(request.timeout_s()),
            selector](const auto& begin) -> absl::Status {
      RETURN_IF_ERROR(selector->status());
      MergeCalls(timeout, [this, wanted, selector, begin](std::shared_ptr<coordinator::CallMerge> merge,
                                                          const std::vector<std::string>& silent) {
        begin([this, wanted, selector, merge,
               silent = std::deque(silent.begin(), silent.end())](v1::ListCollectivesReply* reply) mutable -> size_t {
          const std::optional<coordinator::CollectiveInfo> call = coordinator_->NextCall(merge.get());
          if (!call.has_value()) return AddSilent(&silent, reply);
          const auto team = coordinator_->FindTeam(call->team);
          const bool is_of_team =
              wanted == TeamId(0) || call->team == wanted || (team.ok() && IsOf(team->layout, wanted));
          if (!is_of_team || !(*selector)->HasTeam(team.ok() ? team->layout : schedule::TeamLayout())) return 1;
          v1::CollectiveRow* const row = reply->add_collectives();
          FillCollective(*call, team.ok() ? &team->layout : nullptr, row);
          return row->ByteSizeLong();
        });
      });
      return absl::OkStatus();
    };
  }

  RowWork<v1::GetStatsReply> StatsRows(const v1::GetStatsRequest& request) {
    const auto selector = Shared(RowSelector::Create(request.selector(), {}));
    return [this, node = request.node(), timeout = TimeoutOf(request.timeout_s()), latencies = request.latencies(),
            selector](const auto& begin) -> absl::Status {
      RETURN_IF_ERROR(selector->status());
      std::vector<std::string> nodes((*selector)->nodes().begin(), (*selector)->nodes().end());
      if (!node.empty()) {
        RETURN_IF_ERROR(coordinator_->FindNode(node).status());
        nodes = {node};
      }
      // Rows are made as daemons answer, and sent by the nodes' names.
      const auto rows = std::make_shared<std::map<std::string, v1::NodeStats>>();
      coordinator_->QueryStatusOfEach(
          nodes, timeout,
          [rows](const schedule::DaemonStatus& status) {
            v1::NodeStats& row = (*rows)[status.node];
            row.set_node(rpc::ToUtf8(status.node));
            row.mutable_counters()->insert(status.counters.begin(), status.counters.end());
            for (const schedule::LatencyStatus& latency : status.latencies) FillLatency(latency, row.add_latencies());
          },
          [rows, begin](const std::vector<std::string>& silent) {
            begin(
                [rows, silent = std::deque(silent.begin(), silent.end())](v1::GetStatsReply* reply) mutable -> size_t {
                  if (rows->empty()) return AddSilent(&silent, reply);
                  v1::NodeStats* const row = reply->add_stats();
                  row->Swap(&rows->begin()->second);
                  rows->erase(rows->begin());
                  return row->ByteSizeLong();
                });
          },
          latencies);
      return absl::OkStatus();
    };
  }

  // Serves a call whose reply `work` fills before it returns.
  Reactor* Answer(Context* context, const char* method, std::function<absl::Status()> work) {
    return Serve(context, method, [work = std::move(work)](const Done& done) {
      done(work());
      return absl::OkStatus();
    });
  }

  // Asks all daemons for their calls in flight, and passes them on with the nodes that are silent.
  void MergeCalls(absl::Duration timeout,
                  std::function<void(std::shared_ptr<coordinator::CallMerge>, std::vector<std::string>)> done) {
    const auto merge = std::make_shared<coordinator::CallMerge>();
    coordinator_->QueryStatusOfEach(
        {}, timeout, [merge](const schedule::DaemonStatus& status) { merge->Add(status.node, status); },
        [merge, done = std::move(done)](std::vector<std::string> silent) { done(merge, std::move(silent)); });
  }

  // Asks all daemons for the number of calls in flight by team; calls of derived teams count for their parents, too.
  void CountCalls(std::function<void(std::map<TeamId, uint32_t>)> done) {
    MergeCalls(kStatusTimeout, [this, done = std::move(done)](std::shared_ptr<coordinator::CallMerge> merge,
                                                              const std::vector<std::string>& /*silent*/) {
      std::map<TeamId, uint32_t> calls = merge->Counts();
      for (const auto& [id, count] : merge->Counts()) {
        const auto team = coordinator_->FindTeam(id);
        if (team.ok() && schedule::IsDerivedTeam(team->layout.identity)) calls[team->layout.parent] += count;
      }
      done(std::move(calls));
    });
  }

  absl::Status StartProbe(const v1::ProbeTopologyRequest& request, v1::ProbeTopologyReply* reply, const Done& done) {
    if (probe_ != nullptr) return absl::FailedPreconditionError("probe: another one is running");
    ASSIGN_OR_RETURN(ProbeOptions options, ReadProbe(request));
    const std::optional<topology::Topology> tree = options.tree;
    const absl::Time began = clock_.Now();
    const uint64_t version = topologies_->newest_version();
    reply->set_taken(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()));
    probe_ = std::make_unique<TopologyProbe>(
        &clock_, coordinator_, std::move(options),
        [this, apply = request.apply(), reply, done, tree, began, version](const absl::StatusOr<ProbeReport>& report) {
          queue_->Post([this] {  // posted, since the probe cannot be deleted within its callback
            probe_.reset();
            for (const Done& stopped : std::exchange(stoppers_, {})) stopped(absl::OkStatus());
          });
          if (!report.ok()) return done(report.status());
          reply->set_took_s(absl::ToDoubleSeconds(clock_.Now() - began));
          FillProbe(*report, tree, reply);
          reply->set_topology(topology::FormatTopologyYaml(report->topology));
          if (!apply) return done(absl::OkStatus());
          if (topologies_->newest_version() != version) {
            return done(absl::AbortedError(absl::StrCat("probe: the topology has changed meanwhile (version=",
                                                        topologies_->newest_version(), ", was=", version, ")")));
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
    return absl::OkStatus();
  }

  // Reads the options of a probe. Errors: INVALID_ARGUMENT for a value that is not valid, NOT_FOUND for an unknown
  // node, UNAVAILABLE for a node without a stream, FAILED_PRECONDITION if a known tree is wanted and there is none.
  absl::StatusOr<ProbeOptions> ReadProbe(const v1::ProbeTopologyRequest& request) const {
    ProbeOptions options;
    if (request.seconds() != 0) {
      if (!(request.seconds() > 0 && request.seconds() <= absl::ToDoubleSeconds(kProbeTimeMax))) {
        return absl::InvalidArgumentError(absl::StrCat("probe: out of range (seconds=", request.seconds(),
                                                       ", limit=", absl::ToDoubleSeconds(kProbeTimeMax), ")"));
      }
      options.budget = absl::Seconds(request.seconds());
    }
    for (const std::string& name : request.nodes()) {
      const auto info = coordinator_->FindNode(name);
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
    ASSIGN_OR_RETURN(const ClusterTopologies::Shared known,
                     plan_maker_->TopologyWith(all.empty() ? options.nodes : all));
    options.costs = known->costs();
    options.about = known->nodes();
    if (has_topology && request.tree() != "find") options.tree = *known;
    return options;
  }

  TaskQueue* const queue_;
  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  TopologyHistory* const topologies_;
  const PlannerInstruments* const instruments_;
  StateSaver* const saver_;
  const rpc::Authorizer* const authorizer_;
  const bool has_private_data_;
  AuditLog audit_;
  const uint64_t number_ = static_cast<uint64_t>(absl::ToUnixNanos(absl::Now()));  // other planners have others
  std::map<std::string, std::string> drain_reasons_;                               // by node, as last requested
  std::map<uint64_t, OpenCall*> open_;                                             // RPCs that have not ended
  std::map<uint64_t, AuditRecord> changes_;                                        // of those that change something
  uint64_t calls_ = 0;                                                             // number of the last RPC
  const MonotonicClock clock_;
  std::unique_ptr<TopologyProbe> probe_;  // one at a time
  std::vector<Done> stoppers_;            // StopProbe calls that wait for its end
  bool stopped_ = false;
  TaskThread sender_;  // encodes and sends replies
};

}  // namespace

std::unique_ptr<AdminService> MakeAdminService(TaskQueue* queue, coordinator::Coordinator* coordinator,
                                               ClusterPlanMaker* plan_maker, TopologyHistory* topologies,
                                               const PlannerInstruments* instruments, StateSaver* saver,
                                               const rpc::Authorizer* authorizer, const AdminServiceOptions& options) {
  return std::make_unique<AdminCalls>(queue, coordinator, plan_maker, topologies, instruments, saver, authorizer,
                                      options);
}

}  // namespace copse::planner
