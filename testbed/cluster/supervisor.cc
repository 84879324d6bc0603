// SPDX-License-Identifier: Apache-2.0
#include "testbed/cluster/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::cluster {
namespace {

using procs::ProcessCluster;

constexpr absl::Duration kDrain = absl::Seconds(30);
constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct Pipe {
  UniqueFd read, write;
};
Pipe MakePipe() {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Reports to `up` while the cluster comes up, one line each: "pid N", "ready", "error CODE TEXT".
void Say(int fd, const std::string& line) {
  const std::string whole = absl::StrReplaceAll(line, {{"\n", "; "}}) + "\n";
  (void)!write(fd, whole.data(), whole.size());
}

ClusterState Describe(const ProcessCluster& cluster, const UpOptions& options) {
  ClusterState state = {.planner = cluster.planner_address(), .folder = cluster.folder(), .ppn = options.ppn};
  const netns::TestNetwork* network = cluster.network();
  for (uint32_t node = 0; node < options.nodes; ++node) {
    NodeState row = {.name = cluster.NodeName(node), .socket = cluster.SocketOf(node)};
    if (network != nullptr) {
      row.data = netns::TestNetwork::DataAddress(node);
      row.control = netns::TestNetwork::ControlAddress(node);
      row.enter = network->Enter(node);
    }
    state.nodes.push_back(std::move(row));
  }
  if (network != nullptr) {
    state.enter_switch = network->EnterSwitch();
    state.switch_namespace = network->SwitchNamespace();
    state.remote_shell = network->remote_shell();
  }
  return state;
}

// Runs the supervisor. `up` reads `verdict`; `leash` ends before `up` has written to it if it was interrupted.
int Supervise(const StateFolder& folder, const UpOptions& options, int verdict, int leash) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : kEndSignals) sigaddset(&ends, number);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::thread([leash] {
    char byte;
    ssize_t got;
    while ((got = read(leash, &byte, 1)) < 0 && errno == EINTR) {
    }
    // The kernel ends the children with this process.
    if (got != 1) _exit(1);
  }).detach();

  procs::ProcessClusterOptions cluster_options = {.parent = folder.path()};
  if (options.netns) {
    cluster_options.network =
        netns::NetworkOptions{.rate_bits_per_s = options.rate_bits_per_s, .fabric = options.fabric};
  } else {
    for (uint32_t node = 0; node < options.nodes; ++node) {
      cluster_options.names.push_back(absl::StrCat("n", node + 1));
    }
  }
  ProcessCluster cluster(cluster_options);
  absl::Status status = cluster.Start({.nodes = options.nodes});
  if (status.ok()) status = folder.WriteState(Describe(cluster, options));
  if (!status.ok()) {
    Say(verdict, absl::StrCat("error ", static_cast<int>(status.code()), " ", status.message()));
    return 1;
  }
  Say(verdict, "ready");
  close(verdict);
  int number;
  sigwait(&ends, &number);
  // From here on the cluster is not up any more.
  unlink(absl::StrCat(folder.path(), "/state.json").c_str());
  return cluster.Stop(kDrain).ok() ? 0 : 1;
}

// The first process of a process namespace forwards signals, reaps orphans, and ends, with all others, when the
// supervisor does.
pid_t supervisor_pid = 0;
void HandOn(int number) { kill(supervisor_pid, number); }

int Init(const StateFolder& folder, const UpOptions& options, int verdict, int leash) {
  // The mount gives /proc of these processes.
  if (mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0 || mount("proc", "/proc", "proc", 0, nullptr) != 0) {
    Say(verdict, absl::StrCat("error ", static_cast<int>(absl::StatusCode::kInternal), " up: cannot mount /proc"));
    return 1;
  }
  supervisor_pid = fork();
  if (supervisor_pid == 0) {
    const int code = Supervise(folder, options, verdict, leash);
    _exit(code);
  }
  close(verdict);
  close(leash);
  for (const int number : kEndSignals) signal(number, HandOn);
  int status = 0;
  pid_t ended;
  while ((ended = wait(&status)) != supervisor_pid) {
    if (ended < 0 && errno != EINTR) return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Starts a session of its own, so that a terminal's signals do not reach it. `lock` stays open in it.
void Detach(const StateFolder& folder, const UpOptions& options, int verdict, int leash) {
  setsid();
  const int null = open("/dev/null", O_RDWR);
  const int log = open(absl::StrCat(folder.path(), "/supervisor.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(null, 0);
  dup2(log, 1);
  dup2(log, 2);
  if (options.netns && unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
    Say(verdict, absl::StrCat("error ", static_cast<int>(absl::StatusCode::kPermissionDenied),
                              " up: no process namespace: ", std::to_string(errno)));
    _exit(1);
  }
  // The child is the first process in a new process namespace, or just an orphan.
  const pid_t pid = fork();
  if (pid != 0) {
    Say(verdict, absl::StrCat("pid ", pid));
    _exit(0);
  }
  const int code = options.netns ? Init(folder, options, verdict, leash) : Supervise(folder, options, verdict, leash);
  _exit(code);
}

volatile sig_atomic_t interrupted = 0;
void OnInterrupt(int number) { interrupted = number; }

// Returns the next line of `fd`; empty at its end, or when interrupted.
std::string ReadLine(int fd) {
  std::string line;
  char byte;
  while (interrupted == 0) {
    const ssize_t got = read(fd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    if (byte == '\n') return line;
    line += byte;
  }
  return "";
}

// Whether the process ended in time. `pid` may be reused: only for callers that know it is not.
bool AwaitEnd(pid_t pid, absl::Duration timeout) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return true;
  pollfd event = {pidfd.get(), POLLIN, 0};
  return poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) == 1;
}

}  // namespace

absl::Status StartCluster(const StateFolder& folder, const UpOptions& options) {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;  // without SA_RESTART: it ends a read
  for (const int number : kEndSignals) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  ASSIGN_OR_RETURN(UniqueFd lock, folder.Claim());
  Pipe verdict = MakePipe();
  Pipe leash = MakePipe();
  const pid_t first = fork();
  if (first < 0) return absl::ErrnoToStatus(errno, "fork");
  if (first == 0) {
    for (const int number : kEndSignals) signal(number, SIG_DFL);
    leash.write.reset();
    verdict.read.reset();
    Detach(folder, options, verdict.write.get(), leash.read.get());
  }
  verdict.write.reset();
  leash.read.reset();
  while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
  }

  pid_t pid = 0;
  absl::Status status = absl::InternalError("up: the cluster ended before it was ready");
  for (std::string line; !(line = ReadLine(verdict.read.get())).empty();) {
    if (line.rfind("pid ", 0) == 0) {
      pid = std::stoi(line.substr(4));
      RETURN_IF_ERROR(folder.WritePid(pid));
    } else if (line == "ready") {
      status = absl::OkStatus();
      break;
    } else if (line.rfind("error ", 0) == 0) {
      const size_t space = line.find(' ', 6);
      status = absl::Status(static_cast<absl::StatusCode>(std::stoi(line.substr(6))), line.substr(space + 1));
    }
  }
  if (status.ok() && interrupted == 0) {
    (void)!write(leash.write.get(), "k", 1);
    return status;
  }
  if (interrupted != 0) status = absl::CancelledError(std::to_string(interrupted));
  leash.write.reset();
  // An interruption may come before the pid was read: the pid is the first line.
  interrupted = 0;
  for (std::string line; pid == 0 && !(line = ReadLine(verdict.read.get())).empty();) {
    if (line.rfind("pid ", 0) == 0) pid = std::stoi(line.substr(4));
  }
  if (pid != 0 && !AwaitEnd(pid, kDrain)) kill(pid, SIGKILL);
  status.Update(folder.Remove());
  return status;
}

absl::Status EndCluster(const StateFolder& folder, absl::Duration patience) {
  ASSIGN_OR_RETURN(const pid_t pid, folder.ReadPid());
  kill(pid, SIGTERM);
  absl::Status status;
  if (!AwaitEnd(pid, patience)) {
    kill(pid, SIGKILL);
    AwaitEnd(pid, patience);
    status = absl::DeadlineExceededError(
        absl::StrCat("down: it had to be killed (timeout=", absl::FormatDuration(patience), ")"));
  }
  status.Update(folder.Remove());
  return status;
}

}  // namespace copse::cluster
