// SPDX-License-Identifier: Apache-2.0
#include "bench/testbed.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/plans.h"
#include "bench/row.h"
#include "collectives/collective.h"
#include "nlohmann/json.hpp"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using procs::ChildProcess;
using procs::ProcessCluster;

// Launchers pass SIGTERM on to their ranks, in some seconds at most.
constexpr absl::Duration kFarewell = absl::Seconds(3);
constexpr absl::Duration kCallTimeout = absl::Seconds(5);
constexpr uint32_t kSocketsPort = 7500;   // of a node's first rank
constexpr char kClientMemory[] = "4GiB";  // eight ranks with messages of 64 MiB

std::vector<std::string> Joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

absl::Status RankProcesses::AwaitEnd(absl::Duration timeout) const {
  const absl::Time deadline = absl::Now() + timeout;
  for (const auto& process : processes) {
    RETURN_IF_ERROR(process->AwaitEnd(deadline - absl::Now()));
    if (process->exit_code() != 0) return absl::InternalError("a rank failed" + DescribeFailed());
  }
  return absl::OkStatus();
}

std::string RankProcesses::DescribeFailed() const {
  for (size_t i = 0; i < processes.size(); ++i) {
    ChildProcess& process = *processes[i];
    if (!process.Ended() || process.exit_code() == 0) continue;
    const std::string who = processes.size() == 1 ? "" : absl::StrCat("rank ", i, ": ");
    return absl::StrCat(": ", who, process.DescribeFailure());
  }
  return "";
}

RankProcesses::~RankProcesses() {
  for (const auto& process : processes) process->Signal(SIGTERM);
  if (!processes.empty()) front()->AwaitEnd(kFarewell).IgnoreError();
}

absl::Status MeasureOn(ProcessCluster* cluster, absl::FunctionRef<absl::Status()> measure) {
  const absl::Status status = measure();
  if (!status.ok()) {
    cluster->DumpLogs(stderr);
    return status;
  }
  return cluster->Stop(absl::Seconds(30));
}

absl::StatusOr<RankProcesses> StartCopseRanks(ProcessCluster* cluster, uint32_t nodes, uint32_t ppn,
                                              const std::vector<std::string>& arguments, const std::string& job,
                                              uint32_t user) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/ranks/rank_copse"));
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes * ppn; ++rank) {
    std::map<std::string, std::string> environment = {{"BENCH_RANK", absl::StrCat(rank)},
                                                      {"BENCH_SIZE", absl::StrCat(nodes * ppn)}};
    if (!job.empty()) environment["COPSE_JOB"] = job;
    if (user != 0) environment["BENCH_USER"] = absl::StrCat(user);
    ASSIGN_OR_RETURN(ranks.processes.emplace_back(),
                     cluster->StartApplication(rank / ppn, Joined({program}, arguments), std::move(environment)));
  }
  return ranks;
}

absl::StatusOr<std::unique_ptr<Testbed>> Testbed::Open(const TestbedOptions& options) {
  std::unique_ptr<Testbed> testbed(new Testbed(options));
  RETURN_IF_ERROR(testbed->Start());
  return testbed;
}

absl::Status Testbed::Start() {
  procs::ProcessClusterOptions cluster = {.parent = options_.parent};
  cluster.copsed_settings = options_.daemon_settings;
  cluster.copsed_settings.try_emplace("client_memory_limit", kClientMemory);
  cluster.transport = options_.transport.empty() ? "ucx" : "tcp";
  if (options_.transport == "tcp-encrypted") cluster.copsed_settings["data_encryption"] = "on";
  if (!options_.loopback) {
    const bool delays = options_.latency > absl::ZeroDuration() || !options_.fabric.empty();
    RETURN_IF_ERROR(netns::CheckNamespaces(delays));
    if (options_.fabric.empty()) {
      ASSIGN_OR_RETURN(topology_, TemporaryFile::Write(TopologyText(), options_.parent));
    }
    cluster.network = netns::NetworkOptions();
    cluster.network->rate_bits_per_s = options_.rate_bits_per_s;
    cluster.network->congestion_control = options_.congestion_control;
    if (delays) {
      cluster.network->fabric = options_.fabric.empty() ? topology_.path() : options_.fabric;
      if (!options_.fabric_known_as.empty()) cluster.planner_settings["topology"] = options_.fabric_known_as;
    } else {
      cluster.planner_settings["topology"] = topology_.path();
    }
  }
  if (!options_.algorithm.empty()) {
    ASSIGN_OR_RETURN(rules_, TemporaryFile::Write(RulesText(), options_.parent));
    cluster.planner_settings["rules"] = rules_.path();
  }
  cluster_ = std::make_unique<ProcessCluster>(std::move(cluster));
  const absl::Status status = cluster_->Start({.nodes = options_.nodes});
  if (!status.ok()) cluster_->DumpLogs(stderr);
  return status;
}

// One switch, half of the latency away from each node.
std::string Testbed::TopologyText() const {
  const std::string latency = options_.latency > absl::ZeroDuration()
                                  ? absl::StrCat(", latency: ", absl::ToInt64Microseconds(options_.latency / 2), "us")
                                  : "";
  const std::string bandwidth =
      options_.rate_bits_per_s > 0 ? absl::StrCat(", bandwidth: ", options_.rate_bits_per_s / 1'000'000, "Mbit") : "";
  return absl::StrCat("version: 1\nswitches:\n  - {name: core}\nnodes:\n  - {name: \"n[1-", options_.nodes,
                      "]\", switch: core, host: here, cores: ", sysconf(_SC_NPROCESSORS_ONLN), latency, bandwidth,
                      "}\n");
}

std::string Testbed::RulesText() const {
  std::string text = "version: 1\nrules:\n";
  for (const char* collective : {"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"}) {
    absl::StrAppend(&text, "  - {collective: ", collective, ", algorithm: ", options_.algorithm, "}\n");
  }
  return text;
}

absl::StatusOr<RankProcesses> Testbed::StartRanks(const std::string& system, const RankLaunch& launch) {
  if (system == "copse") return StartCopseRanks(cluster_.get(), nodes(), launch.ppn, launch.arguments);
  if (options_.loopback) {
    return absl::InvalidArgumentError(absl::StrCat("not on loopback, which has no nodes for it (system=", system, ")"));
  }
  if (system == "sockets") return StartSockets(launch);
  if (IsMpi(std::string(absl::StripSuffix(system, kUnderMpi)))) return StartMpi(system, launch);
  return absl::InvalidArgumentError(absl::StrCat("no such system (system=", system, ")"));
}

std::string Testbed::NextFile(const std::string& kind) {
  return absl::StrCat(cluster_->folder(), "/r", files_++, ".", kind);
}

absl::StatusOr<RankProcesses> Testbed::StartSockets(const RankLaunch& launch) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/ranks/rank_sockets"));
  std::vector<std::string> addresses;
  for (uint32_t rank = 0; rank < nodes() * launch.ppn; ++rank) {
    addresses.push_back(
        absl::StrCat(netns::TestNetwork::DataAddress(rank / launch.ppn), ":", kSocketsPort + rank % launch.ppn));
  }
  const std::string log = NextFile("log");
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes() * launch.ppn; ++rank) {
    const std::vector<std::string> command = Joined(cluster_->network()->Enter(rank / launch.ppn), {program});
    ASSIGN_OR_RETURN(auto process,
                     ChildProcess::Start({.arguments = Joined(command, launch.arguments),
                                          .environment = {{"BENCH_RANK", absl::StrCat(rank)},
                                                          {"BENCH_ADDRESSES", absl::StrJoin(addresses, ",")}},
                                          .stdin_pipe = true,
                                          .stdout_pipe = true,
                                          .log_file = log}));
    ranks.processes.push_back(std::move(process));
  }
  return ranks;
}

absl::StatusOr<RankProcesses> Testbed::StartMpi(const std::string& system, const RankLaunch& launch) {
  const std::string library(absl::StripSuffix(system, kUnderMpi));
  const std::string label = launch.program.empty() ? "bench/ranks/rank" : launch.program;
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(absl::StrCat(label, "_", library)));
  netns::MpiJob job = {.ranks = nodes() * launch.ppn,
                       .ppn = launch.ppn,
                       .in_turn = launch.in_turn,
                       .environment = launch.environment,
                       .command = Joined({program}, launch.arguments)};
  job.environment["BENCH_SIZE"] = absl::StrCat(job.ranks);
  job.environment["BENCH_MEETING"] = NextFile("meeting");
  ASSIGN_OR_RETURN(job.library, netns::ParseMpiLibrary(library));
  netns::MpiPlace place = netns::PlaceOn(*cluster_->network(), cluster_->folder());
  if (system != library) {
    ASSIGN_OR_RETURN(const std::string run, procs::FindProgram("client/run/copse-run"));
    ASSIGN_OR_RETURN(const std::string preload, procs::FindProgram("client/mpi/libcopse-mpi.so"));
    place.enter = Joined(place.enter, {run, "--library", preload});
  }
  ASSIGN_OR_RETURN(netns::MpiCommand command, netns::MakeMpiCommand(place, job));
  RankProcesses ranks;
  ASSIGN_OR_RETURN(auto process, ChildProcess::Start({.arguments = std::move(command.arguments),
                                                      .environment = std::move(command.environment),
                                                      .stdin_pipe = true,
                                                      .stdout_pipe = true,
                                                      .log_file = NextFile("log")}));
  ranks.processes.push_back(std::move(process));
  return ranks;
}

absl::StatusOr<Testbed::PlanSummary> Testbed::SummarizePlan(const std::string& collective, uint64_t bytes) const {
  const auto known = CollectiveFromName(collective);
  if (!known) return absl::InvalidArgumentError(absl::StrCat("no such collective (name=", collective, ")"));
  ASSIGN_OR_RETURN(const v1::PlanRow found, FindPlan(cluster_->admin(), *known, bytes));
  PlanSummary summary = {.algorithm = found.algorithm()};
  std::map<std::string, std::set<std::string>> neighbors;
  for (const v1::PlanEdge& edge : found.edges()) {
    neighbors[edge.from()].insert(edge.to());
    neighbors[edge.to()].insert(edge.from());
  }
  for (uint32_t node = 0; node < nodes(); ++node) {
    summary.neighbors.push_back(static_cast<uint32_t>(neighbors[cluster_->NodeName(node)].size()));
  }
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply explained, cluster_->admin().ExplainPlan(found.id(), kCallTimeout));
  // Where nodes share cores the path also goes over them: only what crosses the network is a hop.
  const nlohmann::json explanation = nlohmann::json::parse(explained.json());
  if (!explanation.contains("critical_path")) return summary;
  for (const nlohmann::json& step : explanation["critical_path"]) summary.hops += step["what"] == "transfer";
  return summary;
}

}  // namespace copse::bench
