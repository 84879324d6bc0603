// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/probe_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "planner/admin/admin_rows.h"
#include "planner/topology/topology_yaml.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kProbeTimeMax = absl::Minutes(60);

}  // namespace

absl::Status ProbeRun::Start(const v1::ProbeTopologyRequest& request, v1::ProbeTopologyReply* reply,
                             const CallEnd& done) {
  if (probe_ != nullptr) return absl::FailedPreconditionError("probe: another one is running");
  if (is_applying_) return absl::FailedPreconditionError("probe: the topology of another one is not in force yet");
  ASSIGN_OR_RETURN(ProbeOptions options, ReadOptions(request));
  const std::optional<topology::Topology> tree = options.tree;
  const absl::Time began = clock_.Now();
  const uint64_t version = topologies_->newest_version();
  reply->set_taken(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()));
  probe_ = std::make_unique<TopologyProbe>(
      &clock_, coordinator_, std::move(options),
      [this, apply = request.apply(), reply, done, tree, began, version](const absl::StatusOr<ProbeReport>& report) {
        queue_->Post([this] {  // posted, since the probe cannot be deleted within its callback
          probe_.reset();
          for (const CallEnd& stopped : std::exchange(stoppers_, {})) stopped(absl::OkStatus());
        });
        if (!report.ok()) return done(report.status());
        reply->set_took_s(absl::ToDoubleSeconds(clock_.Now() - began));
        FillProbe(*report, tree, reply);
        reply->set_topology(topology::FormatTopologyYaml(report->topology, topology::FigureUnits::kReadable));
        if (!apply) return done(absl::OkStatus());
        if (topologies_->newest_version() != version) {
          return done(absl::AbortedError(absl::StrCat("probe: the topology has changed meanwhile (version=",
                                                      topologies_->newest_version(), ", was=", version, ")")));
        }
        Apply(*report, tree.has_value(), reply, done);
      });
  probe_->Start();
  return absl::OkStatus();
}

void ProbeRun::Apply(const ProbeReport& report, bool has_tree, v1::ProbeTopologyReply* reply, const CallEnd& done) {
  const std::string source =
      absl::StrCat("probe of ", report.pairs.size(), " pairs, tree ", has_tree ? "known" : "found");
  is_applying_ = true;
  topologies_->Apply(
      report.topology, source,
      [this, reply, done](const absl::StatusOr<TopologyOutcome>& outcome) {
        is_applying_ = false;
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
}

absl::StatusOr<ProbeOptions> ProbeRun::ReadOptions(const v1::ProbeTopologyRequest& request) const {
  ProbeOptions options;
  if (request.seconds() != 0) {
    if (!(request.seconds() > 0 && request.seconds() <= absl::ToDoubleSeconds(kProbeTimeMax))) {
      return absl::InvalidArgumentError(absl::StrCat("probe: out of range (seconds=", request.seconds(),
                                                     ", limit=", absl::ToDoubleSeconds(kProbeTimeMax), ")"));
    }
    options.budget = absl::Seconds(request.seconds());
  }
  for (const std::string& name : request.nodes()) {
    const auto info = coordinator_->view().FindNode(name);
    if (!info.ok()) return absl::NotFoundError(absl::StrCat("probe: ", info.status().message()));
    if (!info->connected) return absl::UnavailableError(absl::StrCat("probe: node ", name, ": not connected"));
    if (std::find(options.nodes.begin(), options.nodes.end(), name) == options.nodes.end()) {
      options.nodes.push_back(name);
    }
  }
  std::vector<std::string> all;
  for (const coordinator::NodeInfo& info : coordinator_->view().Nodes()) {
    all.push_back(info.announcement->name);
    if (request.nodes().empty() && info.connected) options.nodes.push_back(info.announcement->name);
  }
  const bool has_topology = plan_maker_->topology().has_value();
  if (!request.tree().empty() && request.tree() != "known" && request.tree() != "find") {
    return absl::InvalidArgumentError(
        absl::StrCat("probe: unknown (tree=", rpc::ToUtf8(request.tree(), 64), ", known=known find)"));
  }
  if (request.tree() == "known" && !has_topology) {
    return absl::FailedPreconditionError("probe: no topology is known (tree=known)");
  }
  ASSIGN_OR_RETURN(const ClusterTopologies::Shared known, plan_maker_->TopologyWith(all.empty() ? options.nodes : all));
  options.costs = known->costs();
  options.about = known->nodes();
  if (has_topology && request.tree() != "find") options.tree = *known;
  return options;
}

absl::Status ProbeRun::Stop(const CallEnd& done) {
  if (probe_ == nullptr) return absl::FailedPreconditionError("probe: none is running");
  stoppers_.push_back(done);
  probe_->Stop();
  return absl::OkStatus();
}

void ProbeRun::Cancel() {
  if (probe_ != nullptr) probe_->Stop();
}

}  // namespace copse::planner
