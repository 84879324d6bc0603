// SPDX-License-Identifier: Apache-2.0
//
// copse-fabric: emulates a cluster's network between network namespaces.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/unique_fd.h"
#include "base/version.h"
#include "testbed/fabric/fabric.h"
#include "testbed/fabric/fabric_control.h"

namespace copse::fabric {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2, kUnreachable = 3, kTimedOut = 4;

constexpr char kHelp[] =
    "usage: copse-fabric --topology FILE --control SOCKET --node NAME=NETNS [--node ...] [--no-realtime]\n"
    "       copse-fabric --control SOCKET --ask REQUEST\n"
    "\n"
    "Emulates a cluster's network: makes eth0 with address 10.77.x.y in each namespace, prints `ready`, and carries\n"
    "packets between them with the topology's latencies and rates, until SIGTERM, or until its standard input (a "
    "pipe)\n"
    "or its parent goes. Needs root and /dev/net/tun.\n"
    "\n"
    "  --topology FILE     topology file; its section `fabric` adds jitter, loss, queues, seed and MTU\n"
    "  --control SOCKET    Unix socket for requests\n"
    "  --node NAME=NETNS   a node of the file and its network namespace, such as /proc/PID/ns/net;\n"
    "                      the i-th, from 1, is 10.77.(i/256).(i%256)\n"
    "  --no-realtime       do not ask for SCHED_FIFO\n"
    "  --ask REQUEST       send a request to a running fabric and print its answer:\n"
    "                        set LINKS KEY=VALUE...   latency jitter bandwidth loss queue reorder\n"
    "                        cut LINKS | heal LINKS | stats | clear | quit\n"
    "                      LINKS is a host list of nodes and switches: the link above each\n"
    "  --help              print this\n"
    "  --version           print the version\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 cannot reach the fabric, 4 timed out.\n";

// Prints one line, whatever the text contains.
int Fail(int code, std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::fprintf(stderr, "copse-fabric: %s\n", text.c_str());
  return code;
}

int AskRunning(const std::string& socket, const std::string& request) {
  absl::StatusOr<FabricControl> control = FabricControl::Connect(socket);
  if (!control.ok()) {
    return Fail(absl::IsInvalidArgument(control.status()) ? kUsage : kUnreachable,
                std::string(control.status().message()));
  }
  const absl::StatusOr<std::string> answer = control->Ask(request);
  if (!answer.ok()) {
    return Fail(absl::IsDeadlineExceeded(answer.status()) ? kTimedOut : kUnreachable,
                std::string(answer.status().message()));
  }
  const absl::Status refused = FabricControl::StatusOf(*answer);
  if (!refused.ok()) return Fail(kFailed, std::string(refused.message()));
  std::printf("%s\n", answer->c_str());
  return kDone;
}

int Switch(const FabricOptions& options) {
  // Signals are blocked before anything is created, so that all of it is removed in the end.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) return kDone;
  const UniqueFd stop(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  struct stat input;
  const bool piped = fstat(0, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));

  absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Create(options);
  if (!fabric.ok()) {
    return Fail(absl::IsInvalidArgument(fabric.status()) ? kUsage : kFailed, std::string(fabric.status().message()));
  }
  std::printf("ready\n");
  std::fflush(stdout);
  (*fabric)->Run(stop.get(), piped ? 0 : -1);
  return kDone;
}

int Main(const std::vector<std::string>& arguments) {
  FabricOptions options;
  std::string topology, request;
  bool ask = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      return kDone;
    }
    if (argument == "--version") {
      std::printf("copse-fabric %s\n", kVersion);
      return kDone;
    }
    if (argument == "--no-realtime") {
      options.realtime = false;
      continue;
    }
    const size_t equals = absl::StartsWith(argument, "--") ? argument.find('=') : std::string::npos;
    const std::string flag = argument.substr(0, equals);
    if (flag != "--topology" && flag != "--control" && flag != "--node" && flag != "--ask") {
      return Fail(kUsage, absl::StrCat("usage: unknown argument; try --help (argument=", argument, ")"));
    }
    if (equals == std::string::npos && ++i == arguments.size()) {
      return Fail(kUsage, absl::StrCat("usage: value missing (flag=", flag, ")"));
    }
    const std::string value = equals == std::string::npos ? arguments[i] : argument.substr(equals + 1);
    if (flag == "--topology") {
      topology = value;
    } else if (flag == "--control") {
      options.control = value;
    } else if (flag == "--ask") {
      request = value;
      ask = true;
    } else {
      const size_t separator = value.find('=');
      if (separator == 0 || separator == std::string::npos || separator + 1 == value.size()) {
        return Fail(kUsage, absl::StrCat("usage: --node: must be NAME=NETNS (value=", value, ")"));
      }
      options.nodes.push_back({value.substr(0, separator), value.substr(separator + 1)});
    }
  }
  if (options.control.empty()) return Fail(kUsage, "usage: --control is missing; try --help");
  if (ask) return AskRunning(options.control, request);
  if (topology.empty()) return Fail(kUsage, "usage: --topology is missing; try --help");
  std::optional<std::string> text = ReadFile(topology);
  if (!text.has_value()) return Fail(kUsage, absl::StrCat("--topology: cannot be read (file=", topology, ")"));
  options.topology_text = *std::move(text);
  options.topology_name = topology;
  return Switch(options);
}

}  // namespace
}  // namespace copse::fabric

int main(int argc, char** argv) { return copse::fabric::Main({argv + 1, argv + argc}); }
