// SPDX-License-Identifier: Apache-2.0
#include "bench/site.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/row.h"
#include "nlohmann/json.hpp"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"
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

// A new file in `folder` (empty: /tmp).
absl::Status WriteFile(const std::string& folder, const std::string& text, std::string* path) {
  std::string name = absl::StrCat(folder.empty() ? "/tmp" : folder, "/copse-site-XXXXXX");
  const int fd = mkstemp(name.data());
  if (fd < 0) return absl::ErrnoToStatus(errno, name);
  close(fd);
  *path = name;
  std::ofstream file(name);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::ErrnoToStatus(errno, name);
}

std::vector<std::string> Joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

absl::Status NotOnLoopback(const std::string& system) {
  return absl::InvalidArgumentError(absl::StrCat("not on loopback, which has no nodes for it (system=", system, ")"));
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

absl::StatusOr<std::unique_ptr<Site>> Site::Open(const SiteOptions& options) {
  std::unique_ptr<Site> site(new Site(options));
  RETURN_IF_ERROR(site->Start());
  return site;
}

Site::~Site() {
  cluster_.reset();
  for (const std::string& file : {topology_file_, rules_file_}) {
    if (!file.empty()) unlink(file.c_str());
  }
}

absl::Status Site::Start() {
  procs::ProcessClusterOptions cluster = {.parent = options_.parent};
  cluster.copsed_settings = options_.daemon_settings;
  cluster.copsed_settings.try_emplace("client_memory_limit", kClientMemory);
  if (!options_.loopback) {
    const bool delays = options_.latency > absl::ZeroDuration() || !options_.fabric.empty();
    RETURN_IF_ERROR(netns::CheckNamespaces(delays));
    if (options_.fabric.empty()) RETURN_IF_ERROR(WriteTopology());
    cluster.network = netns::NetworkOptions();
    cluster.network->rate_bits_per_s = options_.rate_bits_per_s;
    if (delays) {
      cluster.network->fabric = options_.fabric.empty() ? topology_file_ : options_.fabric;
    } else {
      cluster.planner_settings["topology"] = topology_file_;
    }
  }
  if (!options_.algorithm.empty()) {
    RETURN_IF_ERROR(WriteRules());
    cluster.planner_settings["rules"] = rules_file_;
  }
  cluster_ = std::make_unique<ProcessCluster>(std::move(cluster));
  const absl::Status status = cluster_->Start({.nodes = options_.nodes});
  if (!status.ok()) cluster_->DumpLogs(stderr);
  return status;
}

// One switch, half of the latency away from each node.
absl::Status Site::WriteTopology() {
  const std::string latency = options_.latency > absl::ZeroDuration()
                                  ? absl::StrCat(", latency: ", absl::ToInt64Microseconds(options_.latency / 2), "us")
                                  : "";
  const std::string bandwidth =
      options_.rate_bits_per_s > 0 ? absl::StrCat(", bandwidth: ", options_.rate_bits_per_s / 1'000'000, "Mbit") : "";
  return WriteFile(
      options_.parent,
      absl::StrCat("version: 1\nswitches:\n  - {name: core}\nnodes:\n  - {name: \"n[1-", options_.nodes,
                   "]\", switch: core, host: here, cores: ", sysconf(_SC_NPROCESSORS_ONLN), latency, bandwidth, "}\n"),
      &topology_file_);
}

absl::Status Site::WriteRules() {
  std::string text = "version: 1\nrules:\n";
  for (const char* collective : {"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"}) {
    absl::StrAppend(&text, "  - {collective: ", collective, ", algorithm: ", options_.algorithm, "}\n");
  }
  return WriteFile(options_.parent, text, &rules_file_);
}

absl::StatusOr<RankProcesses> Site::StartRanks(const std::string& system, uint32_t ppn,
                                               const std::vector<std::string>& arguments) {
  if (system == "copse") return StartCopse(ppn, arguments);
  if (options_.loopback) return NotOnLoopback(system);
  if (system == "sockets") return StartSockets(ppn, arguments);
  if (IsMpi(std::string(absl::StripSuffix(system, kUnderMpi)))) {
    return StartMpi(system, {.program = "bench/rank", .ppn = ppn, .arguments = arguments});
  }
  return absl::InvalidArgumentError(absl::StrCat("no such system (system=", system, ")"));
}

std::string Site::NextLog() { return absl::StrCat(cluster_->folder(), "/r", logs_++, ".log"); }

absl::StatusOr<RankProcesses> Site::StartCopse(uint32_t ppn, std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/rank_copse"));
  arguments.insert(arguments.begin(), program);
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes() * ppn; ++rank) {
    ASSIGN_OR_RETURN(auto process,
                     cluster_->StartApplication(rank / ppn, arguments,
                                                {{"BENCH_RANK", absl::StrCat(rank)},
                                                 {"BENCH_SIZE", absl::StrCat(nodes() * ppn)},
                                                 {"BENCH_DAEMON", absl::StrCat(cluster_->DaemonPid(rank / ppn))}}));
    ranks.processes.push_back(std::move(process));
  }
  return ranks;
}

absl::StatusOr<RankProcesses> Site::StartSockets(uint32_t ppn, const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/rank_sockets"));
  std::vector<std::string> addresses;
  for (uint32_t rank = 0; rank < nodes() * ppn; ++rank) {
    addresses.push_back(absl::StrCat(netns::TestNetwork::DataAddress(rank / ppn), ":", kSocketsPort + rank % ppn));
  }
  const std::string log = NextLog();
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes() * ppn; ++rank) {
    const std::vector<std::string> command = Joined(cluster_->network()->Enter(rank / ppn), {program});
    ASSIGN_OR_RETURN(auto process,
                     ChildProcess::Start({.arguments = Joined(command, arguments),
                                          .environment = {{"BENCH_RANK", absl::StrCat(rank)},
                                                          {"BENCH_ADDRESSES", absl::StrJoin(addresses, ",")}},
                                          .stdin_pipe = true,
                                          .stdout_pipe = true,
                                          .log_file = log}));
    ranks.processes.push_back(std::move(process));
  }
  return ranks;
}

absl::StatusOr<RankProcesses> Site::StartMpi(const std::string& system, const MpiRanks& wanted) {
  if (options_.loopback) return NotOnLoopback(system);
  const std::string library(absl::StripSuffix(system, kUnderMpi));
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(absl::StrCat(wanted.program, "_", library)));
  netns::MpiJob job = {.ranks = nodes() * wanted.ppn,
                       .ppn = wanted.ppn,
                       .in_turn = wanted.in_turn,
                       .environment = wanted.environment,
                       .command = Joined({program}, wanted.arguments)};
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
                                                      .log_file = NextLog()}));
  ranks.processes.push_back(std::move(process));
  return ranks;
}

absl::StatusOr<Site::Plan> Site::PlanOf(const std::string& collective, uint64_t bytes) const {
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans, cluster_->admin().ListPlans(kCallTimeout));
  const std::string regular = collective.back() == 'v' ? collective.substr(0, collective.size() - 1) : collective;
  const v1::PlanRow* found = nullptr;
  for (const v1::PlanRow& row : plans.plans()) {
    if (row.collective() != regular || bytes < row.bytes_min()) continue;
    if (found == nullptr || row.bytes_min() > found->bytes_min()) found = &row;
  }
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no plan for ", collective));
  Plan plan = {.algorithm = found->algorithm()};
  std::map<std::string, std::set<std::string>> neighbours;
  for (const v1::PlanEdge& edge : found->edges()) {
    neighbours[edge.from()].insert(edge.to());
    neighbours[edge.to()].insert(edge.from());
  }
  for (uint32_t node = 0; node < nodes(); ++node) {
    plan.neighbours.push_back(static_cast<uint32_t>(neighbours[cluster_->NodeName(node)].size()));
  }
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply explained, cluster_->admin().ExplainPlan(found->id(), kCallTimeout));
  // Where nodes share cores the path also goes over them: only what crosses the network is a hop.
  const nlohmann::json explanation = nlohmann::json::parse(explained.json());
  if (!explanation.contains("critical_path")) return plan;
  for (const nlohmann::json& step : explanation["critical_path"]) plan.hops += step["what"] == "transfer";
  return plan;
}

}  // namespace copse::bench
