// SPDX-License-Identifier: Apache-2.0
#include "bench/site.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "daemon/loop/unique_fd.h"
#include "integration_tests/procs/programs.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::bench {
namespace {

using procs::ChildProcess;
using procs::ProcessCluster;

// Launchers pass SIGTERM on to their ranks, in some seconds at most.
constexpr absl::Duration kFarewell = absl::Seconds(3);

// Ports that were free a moment ago.
absl::StatusOr<std::vector<uint16_t>> FreePorts(uint32_t count) {
  std::vector<daemon::UniqueFd> sockets;
  std::vector<uint16_t> ports;
  for (uint32_t i = 0; i < count; ++i) {
    daemon::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
      return absl::ErrnoToStatus(errno, "a free port");
    }
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(std::move(fd));
  }
  return ports;
}

// Since a launcher's standard error must not be mixed with figures, all of it goes to logs.
struct Launcher {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};

Launcher OpenMpi(uint32_t ranks) {
  // One rank a core would not be "oversubscribed" to it, so that it would not yield.
  return {.arguments = {"/usr/bin/mpirun.openmpi",
                        "--allow-run-as-root",
                        "--oversubscribe",
                        "-n",
                        absl::StrCat(ranks),
                        "--mca",
                        "mpi_yield_when_idle",
                        "1",
                        "--mca",
                        "pml",
                        "ob1",
                        "--mca",
                        "btl",
                        "tcp,self",
                        "--mca",
                        "btl_tcp_if_include",
                        "lo",
                        "--mca",
                        "plm_rsh_agent",
                        ""}};
}

Launcher Mpich(uint32_t ranks) {
  return {.arguments = {"/usr/bin/mpiexec.mpich", "-launcher", "fork", "-n", absl::StrCat(ranks)},
          .environment = {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}, {"MPIR_CVAR_NOLOCAL", "1"}}};
}

}  // namespace

absl::Status RankProcesses::AwaitEnd(absl::Duration timeout) const {
  const absl::Time deadline = absl::Now() + timeout;
  for (const auto& process : processes) {
    RETURN_IF_ERROR(process->AwaitEnd(deadline - absl::Now()));
    if (process->exit_code() != 0) return absl::InternalError(absl::StrCat("a rank: ", process->DescribeEnd()));
  }
  return absl::OkStatus();
}

RankProcesses::~RankProcesses() {
  for (const auto& process : processes) process->Signal(SIGTERM);
  if (!processes.empty()) front()->AwaitEnd(kFarewell).IgnoreError();
}

absl::StatusOr<std::unique_ptr<Site>> Site::Open(uint32_t nodes, const std::string& parent) {
  std::unique_ptr<Site> site(new Site(nodes, parent));
  const absl::Status status = site->cluster_.Start({.nodes = nodes});
  if (status.ok()) return site;
  site->cluster_.DumpLogs(stderr);
  return status;
}

absl::StatusOr<RankProcesses> Site::StartRanks(const std::string& system, uint32_t ppn,
                                               const std::vector<std::string>& arguments) {
  if (system == "copse") return StartCopse(ppn, arguments);
  if (system == "sockets") return StartSockets(ppn, arguments);
  if (system == "openmpi" || system == "mpich") return StartMpi(system, ppn, arguments);
  return absl::InvalidArgumentError(absl::StrCat("no such system (system=", system, ")"));
}

std::string Site::NextLog() { return absl::StrCat(cluster_.folder(), "/r", logs_++, ".log"); }

absl::StatusOr<RankProcesses> Site::StartCopse(uint32_t ppn, std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/rank_copse"));
  arguments.insert(arguments.begin(), program);
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes_ * ppn; ++rank) {
    ASSIGN_OR_RETURN(auto process, cluster_.StartApplication(rank / ppn, arguments,
                                                             {{"BENCH_RANK", absl::StrCat(rank)},
                                                              {"BENCH_SIZE", absl::StrCat(nodes_ * ppn)}}));
    ranks.processes.push_back(std::move(process));
  }
  return ranks;
}

absl::StatusOr<RankProcesses> Site::StartSockets(uint32_t ppn, std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/rank_sockets"));
  ASSIGN_OR_RETURN(const std::vector<uint16_t> ports, FreePorts(nodes_ * ppn));
  arguments.insert(arguments.begin(), program);
  const std::string addresses =
      absl::StrJoin(ports, ",", [](std::string* text, uint16_t port) { absl::StrAppend(text, "127.0.0.1:", port); });
  const std::string log = NextLog();
  RankProcesses ranks;
  for (uint32_t rank = 0; rank < nodes_ * ppn; ++rank) {
    ASSIGN_OR_RETURN(
        auto process,
        ChildProcess::Start({.arguments = arguments,
                             .environment = {{"BENCH_RANK", absl::StrCat(rank)}, {"BENCH_ADDRESSES", addresses}},
                             .stdin_pipe = true,
                             .stdout_pipe = true,
                             .log_file = log}));
    ranks.processes.push_back(std::move(process));
  }
  return ranks;
}

absl::StatusOr<RankProcesses> Site::StartMpi(const std::string& system, uint32_t ppn,
                                             std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(absl::StrCat("bench/rank_", system)));
  Launcher launcher = system == "openmpi" ? OpenMpi(nodes_ * ppn) : Mpich(nodes_ * ppn);
  launcher.arguments.push_back(program);
  for (std::string& argument : arguments) launcher.arguments.push_back(std::move(argument));
  RankProcesses ranks;
  ASSIGN_OR_RETURN(auto process, ChildProcess::Start({.arguments = std::move(launcher.arguments),
                                                      .environment = std::move(launcher.environment),
                                                      .stdin_pipe = true,
                                                      .stdout_pipe = true,
                                                      .log_file = NextLog()}));
  ranks.processes.push_back(std::move(process));
  return ranks;
}

absl::StatusOr<std::string> Site::AlgorithmOf(const std::string& collective, uint64_t bytes) const {
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans, cluster_.admin().ListPlans(absl::Seconds(5)));
  for (const v1::PlanRow& plan : plans.plans()) {
    if (plan.collective() == collective && plan.bytes_min() <= bytes && bytes <= plan.bytes_max()) {
      return plan.algorithm();
    }
  }
  return absl::NotFoundError(absl::StrCat("no plan for ", collective));
}

}  // namespace copse::bench
