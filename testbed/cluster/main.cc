// SPDX-License-Identifier: Apache-2.0
//
// The inner part of tools/cluster: test clusters on this machine, from the command line.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "rpc/status.h"
#include "testbed/cluster/state.h"
#include "testbed/cluster/supervisor.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/programs.h"

namespace copse::cluster {
namespace {

constexpr absl::Duration kDownPatience = absl::Seconds(60);
constexpr absl::Duration kCallTimeout = absl::Seconds(5);

struct CommandLine {
  std::string name = "default";
  UpOptions up;
  bool nodes_given = false;
  std::string rate;
  std::string node;
  std::string library;
  netns::MpiJob job;
  std::vector<std::string> command;
};

int Fail(const absl::Status& status) {
  if (absl::IsCancelled(status)) {
    std::fprintf(stderr, "tools/cluster: up: interrupted; nothing is left (signal=%s)\n",
                 std::string(status.message()).c_str());
    return 128 + std::stoi(std::string(status.message()));
  }
  std::fprintf(stderr, "tools/cluster: %s\n", std::string(status.message()).c_str());
  return rpc::ExitCode(status);
}

// --- up, down, status ---

absl::Status CheckUp(CommandLine* line) {
  UpOptions& up = line->up;
  if (!line->rate.empty()) {
    ASSIGN_OR_RETURN(up.rate_bits_per_s, netns::ParseRate(line->rate));
    up.netns = true;
  }
  if (!up.fabric.empty()) {
    if (!line->rate.empty()) {
      return absl::InvalidArgumentError("--rate: not together with --fabric, whose topology has the rates");
    }
    up.netns = true;
    up.fabric = std::filesystem::absolute(up.fabric);
    ASSIGN_OR_RETURN(const std::vector<std::string> names, netns::FabricNames(up.fabric));
    if (line->nodes_given && up.nodes != names.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--nodes: the fabric has another number (value=", up.nodes, ", fabric=", names.size(), ")"));
    }
    up.nodes = static_cast<uint32_t>(names.size());
  }
  return up.netns ? netns::CheckNamespaces(!up.fabric.empty()) : absl::OkStatus();
}

void PrintUse(const StateFolder& folder, const ClusterState& state) {
  const std::string name = folder.name() == "default" ? "" : absl::StrCat(" --name ", folder.name());
  const bool spaces = !state.enter_switch.empty();
  std::printf("%zu nodes, %s to %s; planner %s; logs in %s\n", state.nodes.size(), state.nodes.front().name.c_str(),
              state.nodes.back().name.c_str(), state.planner.c_str(), state.folder.c_str());
  if (!spaces) {
    std::printf("  export COPSECTL_ENDPOINT=%s\n  export COPSE_SOCKET=%s    # of %s\n", state.planner.c_str(),
                state.nodes[0].socket.c_str(), state.nodes[0].name.c_str());
  }
  std::printf("  tools/cluster%s exec %s copsectl node list\n", name.c_str(), state.nodes[0].name.c_str());
  std::printf("  tools/cluster%s mpirun openmpi -n %zu PROGRAM\n", name.c_str(), state.nodes.size());
  std::printf("  tools/cluster%s down\n", name.c_str());
}

absl::Status Up(CommandLine line, const StateFolder& folder) {
  RETURN_IF_ERROR(CheckUp(&line));
  if (folder.Look() == Condition::kCrashed) {
    std::fprintf(stderr, "tools/cluster: up: removing what a crash left (state=crashed, name=%s)\n",
                 folder.name().c_str());
  }
  RETURN_IF_ERROR(StartCluster(folder, line.up));
  ASSIGN_OR_RETURN(const ClusterState state, folder.ReadState());
  PrintUse(folder, state);
  return absl::OkStatus();
}

absl::Status Down(const StateFolder& folder) {
  switch (folder.Look()) {
    case Condition::kAbsent:
      std::printf("no cluster is up (state=absent, name=%s)\n", folder.name().c_str());
      return absl::OkStatus();
    case Condition::kCrashed:
      RETURN_IF_ERROR(folder.Remove());
      std::printf("removed what a crash left (state=crashed, name=%s)\n", folder.name().c_str());
      return absl::OkStatus();
    default:
      return EndCluster(folder, kDownPatience);
  }
}

absl::StatusOr<ClusterState> StateOf(const StateFolder& folder) {
  const std::string name = absl::StrCat(", name=", folder.name(), ")");
  switch (folder.Look()) {
    case Condition::kUp:
      return folder.ReadState();
    case Condition::kHalfUp:
      return absl::FailedPreconditionError(absl::StrCat("cluster: it is coming up or going down (state=half-up", name));
    case Condition::kCrashed:
      return absl::UnavailableError(
          absl::StrCat("cluster: it has crashed; `down` or `up` cleans up (state=crashed", name));
    case Condition::kAbsent:
      break;
  }
  return absl::UnavailableError(absl::StrCat("cluster: none is up (state=absent", name));
}

absl::Status Status(const StateFolder& folder) {
  ASSIGN_OR_RETURN(const ClusterState state, StateOf(folder));
  // The path has numbers of the cluster's process namespace; below the root of its first process it is valid here.
  std::string switch_namespace = state.switch_namespace;
  if (!switch_namespace.empty()) {
    ASSIGN_OR_RETURN(const pid_t pid, folder.ReadPid());
    switch_namespace = absl::StrCat("/proc/", pid, "/root", switch_namespace);
  }
  const procs::AdminClient planner(state.planner, switch_namespace);
  const absl::StatusOr<v1::ListNodesReply> nodes = planner.ListNodes(kCallTimeout);
  PrintUse(folder, state);
  for (const NodeState& node : state.nodes) {
    std::string seen = nodes.ok() ? "unknown" : "?";
    for (int i = 0; nodes.ok() && i < nodes->nodes_size(); ++i) {
      const v1::NodeRow& row = nodes->nodes(i);
      if (row.name() == node.name) seen = row.connected() ? row.state() : absl::StrCat(row.state(), ", away");
    }
    std::printf("%-12s %-12s %-15s %-15s %s\n", node.name.c_str(), seen.c_str(),
                node.data.empty() ? "-" : node.data.c_str(), node.control.empty() ? "-" : node.control.c_str(),
                node.socket.c_str());
  }
  if (!nodes.ok()) return absl::UnavailableError(absl::StrCat("planner: ", nodes.status().message()));
  return absl::OkStatus();
}

// --- exec, mpirun ---

pid_t command_pid = 0;
void HandOn(int number) { kill(command_pid, number); }

[[noreturn]] void Become(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::fprintf(stderr, "tools/cluster: command: %s (command=%s)\n", std::strerror(errno), words[0]);
  _exit(errno == ENOENT ? 127 : 126);
}

// Runs the command among the cluster's processes, and returns its exit code.
absl::StatusOr<int> Run(const StateFolder& folder, const ClusterState& state, std::vector<std::string> command) {
  if (state.enter_switch.empty()) Become(std::move(command));
  ASSIGN_OR_RETURN(const pid_t pid, folder.ReadPid());
  const std::string here = std::filesystem::current_path();
  const int first = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (first < 0 || setns(first, CLONE_NEWPID | CLONE_NEWNS) != 0) {
    return absl::UnavailableError(absl::StrCat("cluster: it has ended: ", std::strerror(errno)));
  }
  close(first);
  if (chdir(here.c_str()) != 0) return absl::ErrnoToStatus(errno, here);
  // A new process is forked, so that this one stays outside of the process namespace.
  command_pid = fork();
  if (command_pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (command_pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Become(std::move(command));
  }
  // The terminal sends these signals to the command, too.
  for (const int number : {SIGINT, SIGQUIT}) signal(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP}) signal(number, HandOn);
  int status = 0;
  while (waitpid(command_pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Sets the variables for programs that users run inside: the planner, copsectl and copse-perftest.
void SetEnvironment(const ClusterState& state) {
  for (const char* label : {"cli/ctl/copsectl", "cli/perftest/copse-perftest"}) {
    const absl::StatusOr<std::string> program = procs::FindProgram(label);
    if (!program.ok()) continue;
    const char* path = getenv("PATH");
    const std::string folder = std::filesystem::path(*program).parent_path();
    setenv("PATH", absl::StrCat(folder, ":", path != nullptr ? path : "/usr/bin:/bin").c_str(), 1);
  }
  setenv("COPSECTL_ENDPOINT", state.planner.c_str(), 1);
  if (!state.enter_switch.empty()) setenv("COPSECTL_INSECURE", "true", 1);
}

std::vector<std::string> NamesOf(const ClusterState& state) {
  std::vector<std::string> names;
  for (const NodeState& node : state.nodes) names.push_back(node.name);
  return names;
}

absl::StatusOr<int> Exec(const CommandLine& line, const StateFolder& folder) {
  if (line.command.empty()) return absl::InvalidArgumentError("exec: no command; try --help");
  ASSIGN_OR_RETURN(const ClusterState state, StateOf(folder));
  const bool in_switch = line.node == "switch" && !state.enter_switch.empty();
  const auto node = std::find_if(state.nodes.begin(), state.nodes.end(),
                                 [&](const NodeState& candidate) { return candidate.name == line.node; });
  if (node == state.nodes.end() && !in_switch) {
    return absl::InvalidArgumentError(
        absl::StrCat("exec: no such node (node=", line.node, ", limit=", absl::StrJoin(NamesOf(state), ","), ")"));
  }
  SetEnvironment(state);
  std::vector<std::string> command = in_switch ? state.enter_switch : node->enter;
  if (command.empty()) setenv("COPSE_SOCKET", node->socket.c_str(), 1);
  command.insert(command.end(), line.command.begin(), line.command.end());
  return Run(folder, state, std::move(command));
}

absl::StatusOr<int> MpiRun(const CommandLine& line, const StateFolder& folder) {
  netns::MpiJob job = line.job;
  ASSIGN_OR_RETURN(job.library, netns::ParseMpiLibrary(line.library));
  ASSIGN_OR_RETURN(const ClusterState state, StateOf(folder));
  job.command = line.command;
  if (job.copse) {
    ASSIGN_OR_RETURN(job.environment["LD_PRELOAD"], procs::FindProgram("client/mpi/libcopse-mpi.so"));
  }
  if (job.ppn == 0) job.ppn = state.ppn;
  netns::MpiPlace place = {
      .hosts = NamesOf(state), .enter = state.enter_switch, .remote_shell = state.remote_shell, .folder = state.folder};
  if (state.enter_switch.empty()) {
    for (const NodeState& node : state.nodes) place.sockets.push_back(node.socket);
  }
  ASSIGN_OR_RETURN(const netns::MpiCommand command, netns::MakeMpiCommand(place, job));
  SetEnvironment(state);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  return Run(folder, state, command.arguments);
}

// --- The command line ---

// Cuts the command to run, which may have options of its own, off the arguments of `exec NODE` and `mpirun LIBRARY`:
// it begins at the second word that is neither an option of this program nor such an option's value, or after "--".
std::vector<std::string> CutCommand(std::vector<std::string>* arguments) {
  size_t i = 0;
  while (i < arguments->size() && absl::StartsWith((*arguments)[i], "-")) i += (*arguments)[i] == "--name" ? 2 : 1;
  if (i >= arguments->size() || ((*arguments)[i] != "exec" && (*arguments)[i] != "mpirun")) return {};
  const bool mpirun = (*arguments)[i] == "mpirun";
  int words = 0;
  for (++i; i < arguments->size(); ++i) {
    const std::string& argument = (*arguments)[i];
    if (argument == "--") break;
    if (argument.empty() || argument[0] != '-') {
      if (++words == 2) break;
    } else if (mpirun && (argument == "-n" || argument == "--ppn")) {
      ++i;
    }
  }
  if (i >= arguments->size()) return {};
  std::vector<std::string> command(arguments->begin() + i, arguments->end());
  arguments->resize(i);
  if (command[0] == "--") command.erase(command.begin());
  return command;
}

int Main(std::vector<std::string> arguments) {
  CommandLine line;
  line.command = CutCommand(&arguments);
  CLI::App app("A test cluster on this machine: on loopback, or one network namespace a node.");
  app.name("tools/cluster");
  app.set_version_flag("--version", absl::StrCat("tools/cluster ", kVersion));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 bad usage, 3 no cluster or planner, 4 timed out; of exec and mpirun the "
      "command's.\nPage: docs/reference/cluster.md");
  app.add_option("--name", line.name, "which cluster, if there are several")->option_text("NAME");

  CLI::App* up = app.add_subcommand("up", "starts it, and returns when it is ready");
  CLI::Option* nodes = up->add_option("--nodes", line.up.nodes, "nodes, default 4")
                           ->check(CLI::Range(1u, netns::kNodesMax))
                           ->option_text("N");
  up->add_flag("--netns", line.up.netns, "a network namespace a node; needs root");
  up->add_option("--rate", line.rate, "of each data link and direction, such as 200mbit; implies --netns")
      ->option_text("RATE");
  up->add_option("--fabric", line.up.fabric,
                 "topology whose delays, rates and losses the data network has; implies "
                 "--netns, and needs TUN")
      ->option_text("FILE");
  up->add_option("--ppn", line.up.ppn, "ranks on a node, if mpirun does not say")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("P");

  CLI::App* exec = app.add_subcommand("exec", "runs a command as a process of a node (or of `switch`)");
  exec->add_option("NODE", line.node, "its host name")->required()->option_text(" ");
  exec->footer("CMD...: the command, which finds the node's daemon and, by COPSECTL_ENDPOINT, the planner");

  CLI::App* mpirun = app.add_subcommand("mpirun", "runs an MPI program across the nodes");
  mpirun->add_option("LIBRARY", line.library, "mpich or openmpi")->required()->option_text(" ");
  mpirun->add_option("-n", line.job.ranks, "ranks")->required()->check(CLI::Range(1u, 65536u))->option_text("RANKS");
  mpirun->add_option("--ppn", line.job.ppn, "ranks on a node; default: spread over all nodes")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("P");
  mpirun->add_flag("--copse", line.job.copse,
                   "ranks find their node's daemon, and an MPI program's collectives go there");
  mpirun->footer("CMD...: the program and its arguments");

  CLI::App* down = app.add_subcommand("down", "ends it, and removes what a crash left");
  CLI::App* status = app.add_subcommand("status", "says what is up");

  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::RequiredError& error) {
    // CLI11 would only report that a subcommand is missing.
    const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
    return Fail(absl::InvalidArgumentError(
        rest.empty()
            ? absl::StrCat("usage: ", absl::StrReplaceAll(error.what(), {{"A subcommand", "a VERB"}, {"\n", "; "}}),
                           "; try --help")
            : absl::StrCat("usage: no such verb (argument=", rest.front(), "); try --help")));
  } catch (const CLI::ParseError& error) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("usage: ", absl::StrReplaceAll(error.what(), {{"\n", "; "}}), "; try --help")));
  }
  line.nodes_given = nodes->count() > 0;
  const absl::StatusOr<StateFolder> folder = StateFolder::Open(line.name);
  if (!folder.ok()) return Fail(folder.status());
  absl::StatusOr<int> code = 0;
  if (exec->parsed()) code = Exec(line, *folder);
  if (mpirun->parsed()) code = MpiRun(line, *folder);
  absl::Status done = code.status();
  if (up->parsed()) done = Up(line, *folder);
  if (down->parsed()) done = Down(*folder);
  if (status->parsed()) done = Status(*folder);
  return done.ok() ? *code : Fail(done);
}

}  // namespace
}  // namespace copse::cluster

int main(int argc, char** argv) { return copse::cluster::Main({argv + 1, argv + argc}); }
