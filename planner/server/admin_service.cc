// SPDX-License-Identifier: Apache-2.0
#include "planner/server/admin_service.h"

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <functional>
#include <map>
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
#include "planner/server/admin_rows.h"
#include "planner/server/planner_rows.h"
#include "planner/server/topology_probe.h"
#include "planner/server/topology_source.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology_changes.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/status.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
constexpr absl::Duration kStatusTimeoutMax = absl::Minutes(1);
constexpr absl::Duration kProbeTimeMax = absl::Minutes(60);

// `plan list` has critical paths for plans of up to this many nodes; `plan show` always has them.
constexpr uint32_t kListedPathNodesMax = 16;

// Returns whether the layout is that of the team, or of a derived team of it.
bool IsOf(const schedule::TeamLayout& layout, TeamId team) { return layout.id == team || ShownTeam(layout) == team; }

absl::Duration TimeoutOf(double seconds) {
  if (!(seconds > 0)) return kStatusTimeout;
  return std::min(absl::Seconds(seconds), kStatusTimeoutMax);
}

template <typename Reply>
void AddSilent(const coordinator::StatusAnswer& answer, Reply* reply) {
  for (const std::string& node : answer.silent) reply->add_silent(rpc::ToUtf8(node));
}

// Returns the topology that the source names, or FAILED_PRECONDITION if there is none.
absl::StatusOr<SourcedTopology> ReadTopology(const v1::TopologySource& source, const TopologyHistory& history) {
  ASSIGN_OR_RETURN(SourcedTopology read, ReadSource(source, history));
  if (read.topology.has_value()) return read;
  return absl::FailedPreconditionError(absl::StrCat("topology: there is none (source=", read.source, ")"));
}

// AdminCalls has a method for each RPC. gRPC's threads call these, and they return immediately; the work runs on the
// planner's thread, which alone accesses the data.
class AdminCalls final : public AdminService, public v1::AdminService::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  AdminCalls(TaskQueue* queue, coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker,
             TopologyHistory* topologies, const PlannerInstruments* instruments, StateSaver* saver,
             const rpc::Authorizer* authorizer)
      : queue_(queue),
        coordinator_(coordinator),
        plan_maker_(plan_maker),
        topologies_(topologies),
        instruments_(instruments),
        saver_(saver),
        authorizer_(authorizer) {}

  grpc::Service* service() override { return this; }

  void Stop() override {
    stopped_ = true;
    for (Call* reactor : open_) reactor->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
    open_.clear();
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

  Reactor* ListNodes(Context* context, const v1::ListNodesRequest*, v1::ListNodesReply* reply) override {
    return Answer(context, "ListNodes", [this, reply] {
      for (const coordinator::NodeInfo& info : coordinator_->Nodes()) FillNode(info, reply->add_nodes());
      return absl::OkStatus();
    });
  }

  Reactor* ShowNode(Context* context, const v1::ShowNodeRequest* request, v1::ShowNodeReply* reply) override {
    return Serve(context, "ShowNode", [this, request, reply](const Done& done) -> absl::Status {
      ASSIGN_OR_RETURN(const coordinator::NodeInfo info, coordinator_->FindNode(request->name()));
      FillNode(info, reply->mutable_node());
      coordinator_->QueryStatus({request->name()}, kStatusTimeout,
                                [reply, done](const coordinator::StatusAnswer& answer) {
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
    return Serve(context, "DrainNode", [this, request](const Done& done) -> absl::Status {
      const std::string node = request->node();  // `done` ends the request's lifetime
      const bool draining = !request->off();
      coordinator_->SetDraining(node, draining, [this, node, draining, done](const absl::Status& stored) {
        done(stored);
        if (stored.ok() && plan_maker_->SetDraining(node, draining)) topologies_->ReplanTeamsOf(node);
      });
      return absl::OkStatus();
    });
  }

  Reactor* RemoveNode(Context* context, const v1::RemoveNodeRequest* request, v1::RemoveNodeReply*) override {
    return Answer(context, "RemoveNode", [this, request] { return coordinator_->RemoveNode(request->node()); });
  }

  Reactor* ListTeams(Context* context, const v1::ListTeamsRequest* request, v1::ListTeamsReply* reply) override {
    return Serve(context, "ListTeams", [this, request, reply](const Done& done) {
      const bool all = request->all();
      coordinator_->QueryStatus({}, kStatusTimeout, [this, all, reply, done](const coordinator::StatusAnswer& answer) {
        std::map<TeamId, uint32_t> calls = CountCalls(answer);
        for (const coordinator::TeamInfo& info : coordinator_->Teams()) {
          if (!all && schedule::IsDerivedTeam(info.layout.identity)) continue;
          FillTeam(info, calls[info.layout.id], reply->add_teams());
        }
        done(absl::OkStatus());
      });
      return absl::OkStatus();
    });
  }

  Reactor* ShowTeam(Context* context, const v1::ShowTeamRequest* request, v1::ShowTeamReply* reply) override {
    return Serve(context, "ShowTeam", [this, request, reply](const Done& done) -> absl::Status {
      const TeamId id(request->id());
      RETURN_IF_ERROR(coordinator_->FindTeam(id).status());
      coordinator_->QueryStatus({}, kStatusTimeout, [this, id, reply, done](const coordinator::StatusAnswer& answer) {
        const auto info = coordinator_->FindTeam(id);
        if (info.ok()) FillTeam(*info, CountCalls(answer)[id], reply->mutable_team());
        done(info.status());
      });
      return absl::OkStatus();
    });
  }

  Reactor* ReplanTeam(Context* context, const v1::ReplanTeamRequest* request, v1::ReplanTeamReply* reply) override {
    return Serve(context, "ReplanTeam", [this, request, reply](const Done& done) -> absl::Status {
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
        if (const auto info = coordinator_->FindTeam(id); info.ok()) reply->set_epoch(info->epoch.value());
        done(status);
      });
      return absl::OkStatus();
    });
  }

  Reactor* BreakTeam(Context* context, const v1::BreakTeamRequest* request, v1::BreakTeamReply*) override {
    return Answer(context, "BreakTeam", [this, request] {
      const std::string why = request->why().empty() ? "no reason given" : request->why();
      return coordinator_->BreakTeam(TeamId(request->team()), why);
    });
  }

  Reactor* ListPlans(Context* context, const v1::ListPlansRequest* request, v1::ListPlansReply* reply) override {
    return Answer(context, "ListPlans", [this, request, reply]() -> absl::Status {
      const TeamId team(request->team());
      if (request->team() != 0) RETURN_IF_ERROR(coordinator_->FindTeam(team).status());
      for (const coordinator::PlanInfo& info : coordinator_->Plans()) {
        if (request->team() != 0 && !IsOf(info.layout, team)) continue;
        // A critical path costs a prediction: a list includes it only where that is fast.
        absl::StatusOr<std::vector<std::string>> path = std::vector<std::string>();
        if (info.plan.node_count <= kListedPathNodesMax) path = coordinator_->CriticalPath(info.plan.id);
        FillPlan(info, path.ok() ? *path : std::vector<std::string>(), reply->add_plans());
      }
      return absl::OkStatus();
    });
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
    return Serve(context, "ImportTopology", [this, request, reply](const Done& done) -> absl::Status {
      ASSIGN_OR_RETURN(SourcedTopology read, ReadTopology(request->source(), *topologies_));
      const auto& in_force = topologies_->in_force();
      FillChanges(topology::CompareTopologies(in_force.has_value() ? &*in_force : nullptr, &*read.topology),
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
    return Serve(
        context, "ProbeTopology",
        [this, request, reply](const Done& done) { return StartProbe(*request, reply, done); },
        [this] {
          if (probe_ != nullptr) probe_->Stop();
        });
  }

  Reactor* StopProbe(Context* context, const v1::StopProbeRequest*, v1::StopProbeReply*) override {
    return Serve(context, "StopProbe", [this](const Done& done) {
      if (probe_ == nullptr) return absl::FailedPreconditionError("probe: none is running");
      stoppers_.push_back(done);
      probe_->Stop();
      return absl::OkStatus();
    });
  }

  Reactor* ListCollectives(Context* context, const v1::ListCollectivesRequest* request,
                           v1::ListCollectivesReply* reply) override {
    return Serve(context, "ListCollectives", [this, request, reply](const Done& done) {
      coordinator_->QueryStatus(
          {}, TimeoutOf(request->timeout_s()), [this, request, reply, done](const coordinator::StatusAnswer& answer) {
            const TeamId wanted(request->team());
            for (const coordinator::CollectiveInfo& call : coordinator_->MergeCalls(answer)) {
              const auto team = coordinator_->FindTeam(call.team);
              if (wanted != TeamId(0) && call.team != wanted && !(team.ok() && IsOf(team->layout, wanted))) {
                continue;
              }
              FillCollective(call, team.ok() ? &team->layout : nullptr, reply->add_collectives());
            }
            AddSilent(answer, reply);
            done(absl::OkStatus());
          });
      return absl::OkStatus();
    });
  }

  Reactor* GetStats(Context* context, const v1::GetStatsRequest* request, v1::GetStatsReply* reply) override {
    return Serve(context, "GetStats", [this, request, reply](const Done& done) -> absl::Status {
      std::vector<std::string> nodes;
      if (!request->node().empty()) {
        RETURN_IF_ERROR(coordinator_->FindNode(request->node()).status());
        nodes.push_back(request->node());
      }
      coordinator_->QueryStatus(
          nodes, TimeoutOf(request->timeout_s()),
          [reply, done](const coordinator::StatusAnswer& answer) {
            for (const schedule::DaemonStatus& status : answer.nodes) {
              v1::NodeStats* row = reply->add_stats();
              row->set_node(rpc::ToUtf8(status.node));
              row->mutable_counters()->insert(status.counters.begin(), status.counters.end());
              for (const schedule::LatencyStatus& latency : status.latencies) {
                FillLatency(latency, row->add_latencies());
              }
            }
            AddSilent(answer, reply);
            done(absl::OkStatus());
          },
          request->latencies());
      return absl::OkStatus();
    });
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

  Reactor* SaveState(Context* context, const v1::SaveStateRequest*, v1::SaveStateReply* reply) override {
    return Serve(context, "SaveState", [this, reply](const Done& done) -> absl::Status {
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
    return Answer(context, "AdoptState", [this, request, reply]() -> absl::Status {
      const std::string former = coordinator_->cluster().uuid();
      ASSIGN_OR_RETURN(const coordinator::ForeignTeams teams, coordinator_->FindForeign(request->cluster()));
      if (!request->force()) {
        return absl::FailedPreconditionError(
            absl::StrCat("state: the planner would leave its cluster for that of the nodes, and --force is not given "
                         "(cluster=",
                         teams.cluster, ", now=", former, ", nodes=", teams.nodes.size(), ")"));
      }
      coordinator_->AdoptCluster(teams);
      reply->set_cluster(rpc::ToUtf8(teams.cluster));
      reply->set_former(rpc::ToUtf8(former));
      for (const std::string& node : teams.nodes) reply->add_nodes(rpc::ToUtf8(node));
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

 private:
  using Done = std::function<void(const absl::Status&)>;

  // A Call is one RPC. Its reactions run on gRPC's threads; the planner's thread deletes it after all tasks that were
  // posted for it.
  class Call final : public Reactor {
   public:
    Call(AdminCalls* calls, std::function<void()> on_cancel) : calls_(calls), on_cancel_(std::move(on_cancel)) {}

    void OnCancel() override {
      if (on_cancel_ == nullptr) return;
      calls_->queue_->Post([this] {
        if (calls_->open_.count(this) > 0) on_cancel_();
      });
    }
    void OnDone() override {
      calls_->queue_->Post([self = std::shared_ptr<Call>(this)] {});
    }

   private:
    AdminCalls* const calls_;
    const std::function<void()> on_cancel_;
  };

  // Authorizes the caller, then runs `work` on the planner's thread. `work` returns an error, or calls its argument
  // once, when the reply is filled. If the caller disconnects before that, `on_cancel` is called on the planner's
  // thread.
  Reactor* Serve(Context* context, const char* method, std::function<absl::Status(const Done&)> work,
                 std::function<void()> on_cancel = nullptr) {
    auto* const reactor = new Call(this, std::move(on_cancel));
    const absl::Status allowed =
        authorizer_->Authorize(rpc::CallerOf(*context), absl::StrCat("/copse.v1.AdminService/", method));
    if (!allowed.ok()) {
      reactor->Finish(rpc::ToGrpc(allowed));
      return reactor;
    }
    // Request and reply exist until Finish.
    queue_->Post([this, reactor, work = std::move(work)] {
      if (stopped_) return reactor->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
      open_.insert(reactor);
      const Done done = [this, reactor](const absl::Status& status) {
        if (open_.erase(reactor) > 0) reactor->Finish(rpc::ToGrpc(status));
      };
      if (const absl::Status begun = work(done); !begun.ok()) done(begun);
    });
    return reactor;
  }

  // Serves a call whose reply `work` fills before it returns.
  Reactor* Answer(Context* context, const char* method, std::function<absl::Status()> work) {
    return Serve(context, method, [work = std::move(work)](const Done& done) {
      done(work());
      return absl::OkStatus();
    });
  }

  // Returns the number of calls in flight by team; calls of derived teams count for their parents, too.
  std::map<TeamId, uint32_t> CountCalls(const coordinator::StatusAnswer& answer) const {
    std::map<TeamId, uint32_t> calls;
    for (const coordinator::CollectiveInfo& call : coordinator_->MergeCalls(answer)) {
      ++calls[call.team];
      const auto team = coordinator_->FindTeam(call.team);
      if (team.ok() && schedule::IsDerivedTeam(team->layout.identity)) ++calls[team->layout.parent];
    }
    return calls;
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
  std::set<Call*> open_;  // calls without a reply
  const MonotonicClock clock_;
  std::unique_ptr<TopologyProbe> probe_;  // one at a time
  std::vector<Done> stoppers_;            // StopProbe calls that wait for its end
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<AdminService> MakeAdminService(TaskQueue* queue, coordinator::Coordinator* coordinator,
                                               ClusterPlanMaker* plan_maker, TopologyHistory* topologies,
                                               const PlannerInstruments* instruments, StateSaver* saver,
                                               const rpc::Authorizer* authorizer) {
  return std::make_unique<AdminCalls>(queue, coordinator, plan_maker, topologies, instruments, saver, authorizer);
}

}  // namespace copse::planner
