// SPDX-License-Identifier: Apache-2.0
#include "testbed/netns/mpi_launch.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "testbed/processes/programs.h"

namespace copse::netns {
namespace {

constexpr char kMpichFinalize[] = "testbed/netns/libmpich_finalize.so";

using Words = std::vector<std::string>;

void Append(Words* words, const Words& more) { words->insert(words->end(), more.begin(), more.end()); }

// The differences between the libraries.
struct Launcher {
  std::string program;
  Words options;  // for all ranks
  Words (*variable)(const std::string& name, const std::string& value);
  std::map<std::string, std::string> environment;
};

Words HydraVariable(const std::string& name, const std::string& value) { return {"-env", name, value}; }
Words OrteVariable(const std::string& name, const std::string& value) { return {"-x", absl::StrCat(name, "=", value)}; }

Launcher Mpich(const MpiPlace& place, uint32_t hosts, uint32_t ranks_in_a_row) {
  Launcher launcher = {.program = "/usr/bin/mpiexec.mpich", .variable = HydraVariable};
  if (place.remote_shell.empty()) {
    launcher.options = {"-launcher", "fork"};
    return launcher;
  }
  launcher.options = {"-launcher",
                      "ssh",
                      "-launcher-exec",
                      place.remote_shell,
                      "-disable-x",
                      "-iface",
                      kControlDevice,
                      "-hosts",
                      absl::StrJoin(place.hosts.begin(), place.hosts.begin() + hosts, ","),
                      "-ppn",
                      absl::StrCat(ranks_in_a_row)};
  // Inside a node MPICH has shared memory of its own.
  launcher.environment = {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", kDataDevice}};
  return launcher;
}

Launcher OpenMpi(const MpiPlace& place, uint32_t hosts, uint32_t ppn, bool in_turn) {
  Launcher launcher = {.program = "/usr/bin/mpiexec.openmpi", .variable = OrteVariable};
  const auto set = [&](const char* key, const std::string& value) { Append(&launcher.options, {"--mca", key, value}); };
  if (geteuid() == 0) launcher.options.push_back("--allow-run-as-root");
  Append(&launcher.options, {"--map-by", in_turn ? "node" : "slot", "--bind-to", "none"});
  set("mpi_yield_when_idle", "1");
  set("pml", "ob1");
  set("btl", "self,vader,tcp");
  if (!place.folder.empty()) set("orte_tmpdir_base", place.folder);
  if (place.remote_shell.empty()) {
    Append(&launcher.options, {"--host", absl::StrCat("localhost:", hosts * ppn)});
    return launcher;
  }
  set("plm", "rsh");
  set("plm_rsh_agent", place.remote_shell);
  set("plm_rsh_no_tree_spawn", "1");
  set("oob_tcp_if_include", kControlDevice);
  set("btl_tcp_if_include", kDataDevice);
  const auto slots = [&](std::string* out, const std::string& host) { absl::StrAppend(out, host, ":", ppn); };
  Append(&launcher.options, {"--host", absl::StrJoin(place.hosts.begin(), place.hosts.begin() + hosts, ",", slots)});
  return launcher;
}

}  // namespace

absl::StatusOr<MpiLibrary> ParseMpiLibrary(std::string_view name) {
  if (name == "mpich") return MpiLibrary::kMpich;
  if (name == "openmpi") return MpiLibrary::kOpenMpi;
  return absl::InvalidArgumentError(
      absl::StrCat("mpirun: no such MPI library (value=", AbslView(name), ", limit=mpich or openmpi)"));
}

MpiPlace PlaceOn(const TestNetwork& network, const std::string& folder) {
  return {.hosts = network.host_names(),
          .enter = network.EnterSwitch(),
          .remote_shell = network.remote_shell(),
          .folder = folder};
}

absl::StatusOr<MpiCommand> MakeMpiCommand(const MpiPlace& place, const MpiJob& job) {
  if (job.command.empty()) return absl::InvalidArgumentError("mpirun: no command");
  const auto nodes = static_cast<uint32_t>(place.hosts.size());
  if (job.ranks == 0 || nodes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("mpirun: no ranks (ranks=", job.ranks, ", nodes=", nodes, ")"));
  }
  const uint32_t ppn = job.ppn != 0 ? job.ppn : (job.ranks + nodes - 1) / nodes;
  const uint32_t hosts = job.ranks / ppn + (job.ranks % ppn != 0);
  if (hosts > nodes) {
    return absl::InvalidArgumentError(absl::StrCat("mpirun: more ranks than places (ranks=", job.ranks, ", limit=",
                                                   uint64_t{nodes} * ppn, ": ", nodes, " nodes x ", ppn, ")"));
  }
  Launcher launcher = job.library == MpiLibrary::kMpich ? Mpich(place, hosts, job.in_turn ? 1 : ppn)
                                                        : OpenMpi(place, hosts, ppn, job.in_turn);
  if (access(launcher.program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("mpirun: not installed; tools/setup does (program=", launcher.program, ")"));
  }
  MpiCommand command = {.arguments = place.enter, .environment = launcher.environment};
  command.arguments.push_back(launcher.program);
  Append(&command.arguments, launcher.options);
  // The variables of all ranks, and, where ranks of different nodes differ in it, their node's daemon.
  Words everywhere;
  if (job.library == MpiLibrary::kMpich) {
    std::string mend = place.mpich_finalize;
    if (mend.empty()) {
      ASSIGN_OR_RETURN(mend, procs::FindProgram(kMpichFinalize));
    }
    const auto own = job.environment.find("LD_PRELOAD");
    Append(&everywhere,
           launcher.variable("LD_PRELOAD", own == job.environment.end() ? mend : absl::StrCat(own->second, ":", mend)));
  }
  for (const auto& [name, value] : job.environment) {
    if (job.library != MpiLibrary::kMpich || name != "LD_PRELOAD") Append(&everywhere, launcher.variable(name, value));
  }
  const bool by_node = job.copse && !place.sockets.empty();
  for (uint32_t node = 0, left = job.ranks; left > 0; ++node) {
    const uint32_t here = by_node ? std::min(ppn, left) : left;
    if (node > 0) command.arguments.push_back(":");
    Append(&command.arguments, {"-n", absl::StrCat(here)});
    Append(&command.arguments, everywhere);
    if (by_node) Append(&command.arguments, launcher.variable("COPSE_SOCKET", place.sockets[node]));
    Append(&command.arguments, job.command);
    left -= here;
  }
  return command;
}

}  // namespace copse::netns
