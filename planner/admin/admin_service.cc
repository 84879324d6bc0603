// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/admin_service.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
#include "planner/admin/admin_lists.h"
#include "planner/admin/admin_rows.h"
#include "planner/admin/plan_measures.h"
#include "planner/admin/planner_rows.h"
#include "planner/admin/probe_run.h"
#include "planner/admin/served_calls.h"
#include "planner/admin/status_lists.h"
#include "planner/admin/topology_source.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology_changes.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

constexpr size_t kWhyBytesMax = 256;

// Returns the topology that the source names, or FAILED_PRECONDITION if there is none.
absl::StatusOr<SourcedTopology> ReadTopology(const v1::TopologySource& source, const TopologyHistory& history) {
  ASSIGN_OR_RETURN(SourcedTopology read, ReadSource(source, history));
  if (read.topology.has_value()) return read;
  return absl::FailedPreconditionError(absl::StrCat("topology: there is none (source=", read.source, ")"));
}

void FillAudit(const rpc::AuditRecord& record, v1::AuditRow* row) {
  row->set_time(TimeText(record.time));
  row->set_who(rpc::ToUtf8(record.who));
  row->set_from(rpc::ToUtf8(record.from));
  row->set_method(record.method);
  row->set_request(rpc::ToUtf8(record.request));
  row->set_result(record.result.ok() ? "OK" : rpc::ToUtf8(record.result.ToString()));
  row->set_duration_s(absl::ToDoubleSeconds(record.duration));
}

// Returns what the caller may have of a trace. PERMISSION_DENIED: an owner who would take gaps for losses.
absl::StatusOr<schedule::TraceQuery> TraceQueryOf(const v1::GetTraceRequest& request, const rpc::Principal& who) {
  schedule::TraceQuery query;
  query.from = request.from();
  query.records = request.records() == 0 ? schedule::kTracePieceRecordsMax : request.records();
  if (request.has_last_s()) {
    // A value that is not a number, or too large for nanoseconds, means the whole trace.
    const double last_ns = request.last_s() * 1e9;
    query.last_ns = last_ns >= 0 && last_ns < 9e18 ? static_cast<int64_t>(last_ns) : -1;
  }
  if (who.MayChangeAll()) return query;
  if (!who.uid.has_value() || !request.takes_gaps()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "trace: ", who.who, " may have the records of its own teams alone, which this copsectl cannot read (role=",
        std::string(rpc::RoleName(who.role)), ", wanted=operator)"));
  }
  query.owner = who.uid;
  return query;
}

// Returns what trace records call a daemon. It tells daemons and their lives apart as the incarnation does, which
// viewers may not know with `private_data`.
uint64_t TagOf(Incarnation incarnation) { return (incarnation.value() ^ (incarnation.value() >> 32)) & 0xffffffff; }

// AdminCalls has a method for each RPC.
class AdminCalls final : public AdminService, public v1::AdminService::CallbackService {
 public:
  using Context = ServedCalls::Context;
  using Reactor = ServedCalls::Reactor;

  AdminCalls(TaskQueue* queue, coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker,
             TopologyHistory* topologies, const PlannerInstruments* instruments, StateSaver* saver,
             const rpc::Authorizer* authorizer, const AdminServiceOptions& options)
      : coordinator_(coordinator),
        plan_maker_(plan_maker),
        topologies_(topologies),
        instruments_(instruments),
        saver_(saver),
        has_private_data_(options.private_data),
        measures_(coordinator, plan_maker, topologies),
        statuses_(coordinator, options.private_data),
        lists_(coordinator, &statuses_, plan_maker, &measures_, instruments, options.private_data),
        probe_(queue, coordinator, plan_maker, topologies),
        calls_(queue, authorizer, options.log_file) {}

  grpc::Service* service() override { return this; }

  void Stop() override { calls_.Stop(); }
  void Record(rpc::AuditRecord record) override { calls_.Record(std::move(record)); }

  Reactor* Ping(Context* context, const v1::PingRequest* request, v1::PingReply* reply) override {
    return calls_.Serve(context, "Ping", [this, request, reply](const CallEnd& done) -> absl::Status {
      if (request->proto_version() != 0) {
        RETURN_IF_ERROR(CheckVersion("proto", kProtoVersion, request->proto_version()));
      }
      reply->set_ok(true);
      reply->set_version(kVersion);
      if (request->node().empty()) {
        done(absl::OkStatus());
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const coordinator::NodeInfo node, coordinator_->view().FindNode(request->node()));
      reply->set_version(rpc::ToUtf8(node.announcement->version));
      const absl::Time asked = absl::Now();
      coordinator_->queries().QueryStatus(
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
    return calls_.Answer(context, "Version", [this, request, reply]() -> absl::Status {
      schedule::FormatVersions formats{kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
      reply->set_program("copse-planner");
      reply->set_version(kVersion);
      if (!request->node().empty()) {
        ASSIGN_OR_RETURN(const coordinator::NodeInfo node, coordinator_->view().FindNode(request->node()));
        reply->set_program("copsed");
        reply->set_version(rpc::ToUtf8(node.announcement->version));
        formats = node.announcement->formats;
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
    return calls_.ServeRows<v1::ListNodesReply>(
        context, "ListNodes", reply,
        [this, request](const rpc::Principal& who) { return lists_.NodeRows(*request, who); });
  }
  grpc::ServerWriteReactor<v1::ListNodesReply>* StreamNodes(Context* context,
                                                            const v1::ListNodesRequest* request) override {
    return calls_.ServeStream<v1::ListNodesReply>(
        context, "StreamNodes", [this, request](const rpc::Principal& who) { return lists_.NodeRows(*request, who); });
  }

  Reactor* ShowNode(Context* context, const v1::ShowNodeRequest* request, v1::ShowNodeReply* reply) override {
    return calls_.ServeAs(
        context, "ShowNode", [this, request, reply](const rpc::Principal& who, const CallEnd& done) -> absl::Status {
          ASSIGN_OR_RETURN(const coordinator::NodeInfo info, coordinator_->view().FindNode(request->name()));
          lists_.FillNodeFor(who, info, reply->mutable_node());
          coordinator_->queries().QueryStatus(
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
    return calls_.Change(
        context, "DrainNode", *request, [this, request](const rpc::Principal&, const CallEnd& done) -> absl::Status {
          const std::string node = request->node();  // `done` ends the request's lifetime
          const bool draining = !request->off();
          std::optional<std::string> why;
          if (draining) why = rpc::ToUtf8(request->why(), kWhyBytesMax);
          coordinator_->SetDraining(node, why, [this, node, draining, done](const absl::Status& stored) {
            done(stored);
            if (stored.ok() && plan_maker_->SetDraining(node, draining)) topologies_->ReplanTeamsOf(node);
          });
          return absl::OkStatus();
        });
  }

  Reactor* RemoveNode(Context* context, const v1::RemoveNodeRequest* request, v1::RemoveNodeReply*) override {
    return calls_.Change(context, "RemoveNode", *request, [this, request](const rpc::Principal&, const CallEnd& done) {
      done(coordinator_->RemoveNode(request->node()));
      return absl::OkStatus();
    });
  }

  Reactor* ListTeams(Context* context, const v1::ListTeamsRequest* request, v1::ListTeamsReply* reply) override {
    return calls_.ServeRows<v1::ListTeamsReply>(
        context, "ListTeams", reply,
        [this, request](const rpc::Principal& who) { return lists_.TeamRows(*request, who); });
  }
  grpc::ServerWriteReactor<v1::ListTeamsReply>* StreamTeams(Context* context,
                                                            const v1::ListTeamsRequest* request) override {
    return calls_.ServeStream<v1::ListTeamsReply>(
        context, "StreamTeams", [this, request](const rpc::Principal& who) { return lists_.TeamRows(*request, who); });
  }

  Reactor* ShowTeam(Context* context, const v1::ShowTeamRequest* request, v1::ShowTeamReply* reply) override {
    return calls_.ServeAs(
        context, "ShowTeam", [this, request, reply](const rpc::Principal& who, const CallEnd& done) -> absl::Status {
          const TeamId id(request->id());
          ASSIGN_OR_RETURN(const auto team, coordinator_->view().FindTeam(id));
          const auto answer = [this, id, who, reply, done](const std::optional<StatusLists::CallCounts>& calls) {
            if (!done.is_open()) return;
            const auto info = coordinator_->view().FindTeam(id);
            if (info.ok()) lists_.FillTeamFor(who, *info, StatusLists::CallsOf(calls, id), reply->mutable_team());
            done(info.status());
          };
          std::vector<std::string> nodes;
          for (const auto& node : team.layout.nodes) nodes.push_back(node.name);
          if (request->without_calls()) {
            answer(std::nullopt);
          } else {
            statuses_.CountCalls(nodes, answer);
          }
          return absl::OkStatus();
        });
  }

  Reactor* ReplanTeam(Context* context, const v1::ReplanTeamRequest* request, v1::ReplanTeamReply* reply) override {
    return calls_.Change(context, "ReplanTeam", *request,
                         [this, request, reply](const rpc::Principal&, const CallEnd& done) -> absl::Status {
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
                             if (const auto info = coordinator_->view().FindTeam(id); info.ok())
                               reply->set_epoch(info->epoch.value());
                             done(status);
                           });
                           return absl::OkStatus();
                         });
  }

  Reactor* BreakTeam(Context* context, const v1::BreakTeamRequest* request, v1::BreakTeamReply*) override {
    return calls_.Change(context, "BreakTeam", *request,
                         [this, request](const rpc::Principal& who, const CallEnd& done) -> absl::Status {
                           const TeamId id(request->team());
                           ASSIGN_OR_RETURN(const coordinator::TeamInfo team, coordinator_->view().FindTeam(id));
                           if (!who.MayChange(team.layout.identity.uid)) {
                             return absl::PermissionDeniedError(absl::StrCat(
                                 "team ", id.value(), ": it is another user's, which needs role operator (who=",
                                 who.who, ", owner=uid ", team.layout.identity.uid, ")"));
                           }
                           const std::string why = request->why().empty() ? "no reason given" : request->why();
                           done(coordinator_->BreakTeam(id, why));
                           return absl::OkStatus();
                         });
  }

  Reactor* ListPlans(Context* context, const v1::ListPlansRequest* request, v1::ListPlansReply* reply) override {
    return calls_.ServeRows<v1::ListPlansReply>(
        context, "ListPlans", reply, [this, request](const rpc::Principal&) { return lists_.PlanRows(*request); });
  }
  grpc::ServerWriteReactor<v1::ListPlansReply>* StreamPlans(Context* context,
                                                            const v1::ListPlansRequest* request) override {
    return calls_.ServeStream<v1::ListPlansReply>(
        context, "StreamPlans", [this, request](const rpc::Principal&) { return lists_.PlanRows(*request); });
  }

  Reactor* ShowPlan(Context* context, const v1::ShowPlanRequest* request, v1::ShowPlanReply* reply) override {
    return calls_.Serve(context, "ShowPlan", [this, request, reply](const CallEnd& done) {
      return OnMeasured(request->id(), request->measured(), done, [this, reply, done](const MeasuredPlan& plan) {
        coordinator_->view().CriticalPath(
            plan.info.plan.id, [this, plan, reply, done](const absl::StatusOr<std::vector<std::string>>& path) {
              if (!done.is_open()) return;
              if (!path.ok()) return done(path.status());
              FillPlan(plan.info, *path, reply->mutable_plan());
              FillEdges(plan.info, reply->mutable_plan());
              reply->set_encoded(schedule::EncodePlan(plan.info.plan));
              PriceAsMeasured(plan, reply->mutable_plan(), done);
            });
      });
    });
  }

  Reactor* ExplainPlan(Context* context, const v1::ExplainPlanRequest* request, v1::ExplainPlanReply* reply) override {
    return calls_.Serve(context, "ExplainPlan", [this, request, reply](const CallEnd& done) {
      return OnMeasured(request->id(), request->measured(), done, [this, reply, done](const MeasuredPlan& plan) {
        coordinator_->view().Explain(
            plan.info.plan.id, plan.bytes(),
            [this, plan, reply, done](const absl::StatusOr<coordinator::PlanExplanation>& explanation) {
              if (!done.is_open()) return;
              if (!explanation.ok()) return done(explanation.status());
              FillPlan(plan.info, explanation->critical_path, reply->mutable_plan());
              FillEdges(plan.info, reply->mutable_plan());
              reply->set_text(explanation->text);
              reply->set_dot(explanation->dot);
              reply->set_json(explanation->json);
              PriceAsMeasured(plan, reply->mutable_plan(), done);
            });
      });
    });
  }

  Reactor* ShowTopology(Context* context, const v1::ShowTopologyRequest*, v1::ShowTopologyReply* reply) override {
    return calls_.Answer(context, "ShowTopology", [this, reply]() -> absl::Status {
      const std::vector<coordinator::NodeInfo> nodes = coordinator_->view().Nodes();
      std::vector<std::string> names;
      for (const coordinator::NodeInfo& node : nodes) names.push_back(node.announcement->name);
      reply->set_is_default(!plan_maker_->topology().has_value());
      if (names.empty() && reply->is_default()) return absl::OkStatus();
      ASSIGN_OR_RETURN(const ClusterTopologies::Shared topology, plan_maker_->TopologyWith(names));
      FillTopology(*topology, nodes, reply);
      return absl::OkStatus();
    });
  }

  Reactor* ImportTopology(Context* context, const v1::ImportTopologyRequest* request,
                          v1::ImportTopologyReply* reply) override {
    return calls_.Change(
        context, "ImportTopology", *request,
        [this, request, reply](const rpc::Principal&, const CallEnd& done) -> absl::Status {
          ASSIGN_OR_RETURN(SourcedTopology read, ReadTopology(request->source(), *topologies_));
          const auto& in_force = topologies_->in_force();
          FillChanges(topology::CompareTopologies(in_force.has_value() ? &*in_force : nullptr, &*read.topology),
                      reply->mutable_changes());
          for (const std::string& note : read.notes) reply->add_notes(rpc::ToUtf8(note));
          AddRegistrationNotes(*read.topology, coordinator_->view().Nodes(), reply);
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
    return calls_.Answer(context, "DiffTopology", [this, request, reply]() -> absl::Status {
      ASSIGN_OR_RETURN(const SourcedTopology before, ReadSource(request->before(), *topologies_));
      ASSIGN_OR_RETURN(const SourcedTopology after, ReadSource(request->after(), *topologies_));
      const auto pointer = [](const SourcedTopology& read) { return read.topology ? &*read.topology : nullptr; };
      FillChanges(topology::CompareTopologies(pointer(before), pointer(after)), reply->mutable_changes());
      return absl::OkStatus();
    });
  }

  Reactor* ExportTopology(Context* context, const v1::ExportTopologyRequest* request,
                          v1::ExportTopologyReply* reply) override {
    return calls_.Answer(context, "ExportTopology", [this, request, reply]() -> absl::Status {
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
                            : topology::FormatTopologyYaml(*read.topology, topology::FigureUnits::kReadable));
      return absl::OkStatus();
    });
  }

  Reactor* ListTopologies(Context* context, const v1::ListTopologiesRequest*, v1::ListTopologiesReply* reply) override {
    return calls_.Answer(context, "ListTopologies", [this, reply] {
      for (const coordinator::TopologyVersion& version : topologies_->versions()) {
        FillVersion(version, version.version == topologies_->newest_version(), reply->add_versions());
      }
      return absl::OkStatus();
    });
  }

  Reactor* ProbeTopology(Context* context, const v1::ProbeTopologyRequest* request,
                         v1::ProbeTopologyReply* reply) override {
    return calls_.Change(
        context, "ProbeTopology", *request,
        [this, request, reply](const rpc::Principal&, const CallEnd& done) {
          return probe_.Start(*request, reply, done);
        },
        [this] { probe_.Cancel(); });
  }

  Reactor* StopProbe(Context* context, const v1::StopProbeRequest* request, v1::StopProbeReply*) override {
    return calls_.Change(context, "StopProbe", *request,
                         [this](const rpc::Principal&, const CallEnd& done) { return probe_.Stop(done); });
  }

  Reactor* ListCollectives(Context* context, const v1::ListCollectivesRequest* request,
                           v1::ListCollectivesReply* reply) override {
    return calls_.ServeRows<v1::ListCollectivesReply>(
        context, "ListCollectives", reply,
        [this, request](const rpc::Principal&) { return statuses_.CollectiveRows(*request); });
  }
  grpc::ServerWriteReactor<v1::ListCollectivesReply>* StreamCollectives(
      Context* context, const v1::ListCollectivesRequest* request) override {
    return calls_.ServeStream<v1::ListCollectivesReply>(
        context, "StreamCollectives",
        [this, request](const rpc::Principal&) { return statuses_.CollectiveRows(*request); });
  }

  Reactor* GetStats(Context* context, const v1::GetStatsRequest* request, v1::GetStatsReply* reply) override {
    return calls_.ServeRows<v1::GetStatsReply>(context, "GetStats", reply, [this, request](const rpc::Principal& who) {
      return statuses_.StatsRows(*request, who);
    });
  }
  grpc::ServerWriteReactor<v1::GetStatsReply>* StreamStats(Context* context,
                                                           const v1::GetStatsRequest* request) override {
    return calls_.ServeStream<v1::GetStatsReply>(context, "StreamStats", [this, request](const rpc::Principal& who) {
      return statuses_.StatsRows(*request, who);
    });
  }

  Reactor* GetPlannerStatus(Context* context, const v1::GetPlannerStatusRequest*,
                            v1::GetPlannerStatusReply* reply) override {
    return calls_.Answer(context, "GetPlannerStatus", [this, reply] {
      FillPlannerStatus(instruments_->State(), reply);
      return absl::OkStatus();
    });
  }

  Reactor* GetPlannerStats(Context* context, const v1::GetPlannerStatsRequest*,
                           v1::GetPlannerStatsReply* reply) override {
    return calls_.Answer(context, "GetPlannerStats", [this, reply] {
      FillPlannerStats(*instruments_, reply);
      return absl::OkStatus();
    });
  }

  Reactor* SaveState(Context* context, const v1::SaveStateRequest* request, v1::SaveStateReply* reply) override {
    return calls_.Change(context, "SaveState", *request,
                         [this, reply](const rpc::Principal&, const CallEnd& done) -> absl::Status {
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
    return calls_.Change(
        context, "AdoptState", *request,
        [this, request, reply](const rpc::Principal&, const CallEnd& done) -> absl::Status {
          const std::string former = coordinator_->cluster().uuid();
          ASSIGN_OR_RETURN(const coordinator::ForeignTeams teams,
                           coordinator_->adoption().FindForeign(request->cluster()));
          if (!request->force()) {
            return absl::FailedPreconditionError(absl::StrCat(
                "state: the planner would leave its cluster for that of the nodes, and --force is not given "
                "(cluster=",
                teams.cluster, ", now=", former, ", nodes=", teams.nodes.size(), ")"));
          }
          coordinator_->adoption().Adopt(teams);
          reply->set_cluster(rpc::ToUtf8(teams.cluster));
          reply->set_former(rpc::ToUtf8(former));
          for (const std::string& node : teams.nodes) reply->add_nodes(rpc::ToUtf8(node));
          done(absl::OkStatus());
          return absl::OkStatus();
        });
  }

  Reactor* GetTrace(Context* context, const v1::GetTraceRequest* request, v1::GetTraceReply* reply) override {
    return calls_.ServeAs(
        context, "GetTrace", [this, request, reply](const rpc::Principal& who, const CallEnd& done) -> absl::Status {
          ASSIGN_OR_RETURN(const coordinator::NodeInfo info, coordinator_->view().FindNode(request->node()));
          ASSIGN_OR_RETURN(const schedule::TraceQuery query, TraceQueryOf(*request, who));
          reply->set_node(request->node());
          const Incarnation incarnation = info.announcement->incarnation;
          reply->set_incarnation(query.owner.has_value() ? TagOf(incarnation) : incarnation.value());
          coordinator_->queries().QueryTrace(request->node(), query, StatusTimeout(request->timeout_s()),
                                             [reply, done](const absl::StatusOr<coordinator::TraceAnswer>& answer) {
                                               if (answer.ok()) FillTrace(*answer, reply);
                                               done(answer.status());
                                             });
          return absl::OkStatus();
        });
  }

  Reactor* ListEvents(Context* context, const v1::ListEventsRequest* request, v1::ListEventsReply* reply) override {
    return calls_.Answer(context, "ListEvents", [this, request, reply] {
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
    return calls_.Answer(context, "ListAudit", [this, request, reply] {
      const std::deque<rpc::AuditRecord>& records = calls_.audit().records();
      const size_t count = request->last() == 0 ? records.size() : std::min<size_t>(request->last(), records.size());
      for (size_t i = records.size() - count; i < records.size(); ++i) FillAudit(records[i], reply->add_rows());
      return absl::OkStatus();
    });
  }

 private:
  // A MeasuredPlan is a plan and, if that was asked for and there were any, its calls.
  struct MeasuredPlan {
    coordinator::PlanInfo info;
    std::shared_ptr<const MeasuredCalls> calls;
    std::optional<MeasuredCall> call;

    coordinator::PlanMaker::Bytes bytes() const { return call.has_value() ? call->plan_bytes : std::nullopt; }
  };

  // Calls `then` with the plan unless `done` is called before.
  absl::Status OnMeasured(uint64_t id, bool measured, const CallEnd& done,
                          std::function<void(const MeasuredPlan&)> then) {
    ASSIGN_OR_RETURN(coordinator::PlanInfo info, coordinator_->view().FindPlan(PlanId(id)));
    std::set<std::string> nodes;
    if (measured) PlanMeasures::AddNodes(info.layout, &nodes);
    const TeamId team = info.layout.id;
    measures_.Ask(nodes, {team},
                  [info, done, then = std::move(then)](const std::shared_ptr<const MeasuredCalls>& calls) {
                    if (done.is_open()) then({info, calls, calls->Of(info.layout, info.plan.id, info.plan)});
                  });
    return absl::OkStatus();
  }

  // Adds to the plan's row what its calls took, and the prediction of a call of that size.
  void PriceAsMeasured(const MeasuredPlan& plan, v1::PlanRow* row, const CallEnd& done) {
    if (!plan.call.has_value()) return done(absl::OkStatus());
    const uint64_t bytes = plan.bytes().value_or(row->predicted_bytes());
    plan_maker_->PredictLater(plan.info.layout, plan.info.plan, bytes,
                              [this, plan, row, bytes, done](const absl::StatusOr<double>& us) {
                                if (!done.is_open()) return;
                                if (us.ok()) {
                                  row->set_predicted_us(*us);
                                  row->set_predicted_bytes(bytes);
                                }
                                measures_.Fill(*plan.calls, *plan.call, row);
                                done(absl::OkStatus());
                              });
  }

  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  TopologyHistory* const topologies_;
  const PlannerInstruments* const instruments_;
  StateSaver* const saver_;
  const bool has_private_data_;
  const uint64_t number_ = static_cast<uint64_t>(absl::ToUnixNanos(absl::Now()));  // other planners have others
  const MonotonicClock clock_;
  const PlanMeasures measures_;
  StatusLists statuses_;
  AdminLists lists_;
  ProbeRun probe_;
  ServedCalls calls_;
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
