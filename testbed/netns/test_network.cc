// SPDX-License-Identifier: Apache-2.0
#include "testbed/netns/test_network.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "planner/topology/topology.h"
#include "testbed/fabric/fabric_file.h"
#include "testbed/processes/programs.h"

namespace copse::netns {
namespace {

using procs::ChildOptions;
using procs::ChildProcess;

constexpr char kHolder[] = "testbed/netns/copse-node";
constexpr char kEnter[] = "testbed/netns/copse-enter";
constexpr char kFabric[] = "testbed/fabric/copse-fabric";
constexpr char kDataNetwork[] = "10.77.0.0/16";
constexpr char kSwitchName[] = "switch";

constexpr absl::Duration kSettle = absl::Seconds(60);
// Burst of the shaper: at least one 64 KiB super-packet, or TCP stalls.
constexpr int kBurstBytes = 128 << 10;
// Longest wait of a packet in the shaper before it is dropped.
constexpr int kQueueMs = 100;

std::string LastBytesOf(uint32_t node) { return absl::StrCat((node + 1) / 256, ".", (node + 1) % 256); }

absl::StatusOr<std::string> FindTool(const std::string& name) {
  for (const char* folder : {"/usr/sbin", "/sbin", "/usr/bin", "/bin"}) {
    std::string path = absl::StrCat(folder, "/", name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(absl::StrCat(name, ": not found; tools/setup installs iproute2 (program=", name, ")"));
}

// Creates an unnamed file that holds `text`, and a path to it for child processes.
absl::StatusOr<UniqueFd> TextFile(const std::string& text) {
  UniqueFd file(memfd_create("batch", MFD_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, "memfd");
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Returns a log's text as one line for a message.
std::string OneLine(std::string text) {
  absl::StripAsciiWhitespace(&text);
  return absl::StrReplaceAll(text, {{"\n", "; "}});
}

absl::Status CheckNames(const std::vector<std::string>& names) {
  std::set<std::string> seen = {kSwitchName, "planner", "localhost"};
  for (const std::string& name : names) {
    const bool good = !name.empty() && name.size() <= 63 && name[0] != '-' && name[0] != '.' &&
                      std::all_of(name.begin(), name.end(),
                                  [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_'; });
    if (!good) return absl::InvalidArgumentError(absl::StrCat("node: not a host name (name=", name, ", limit=63)"));
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("node: the name is taken (name=", name, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNamespaces(bool fabric) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("network namespaces: need root; a cluster on loopback does not (uid=", geteuid(), ")"));
  }
  if (!fabric) return absl::OkStatus();
  const UniqueFd tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (tun.valid()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("fabric: needs TUN, which this machine has not (file=/dev/net/tun, error=", errno, ")"));
}

absl::StatusOr<int64_t> ParseRate(const std::string& text) {
  std::string lower = text;
  absl::AsciiStrToLower(&lower);
  absl::string_view number = lower;
  absl::ConsumeSuffix(&number, "/s");
  double factor = 0;
  if (absl::ConsumeSuffix(&number, "kbit")) {
    factor = 1e3;
  } else if (absl::ConsumeSuffix(&number, "mbit")) {
    factor = 1e6;
  } else if (absl::ConsumeSuffix(&number, "gbit")) {
    factor = 1e9;
  }
  double value = 0;
  const bool digits = !number.empty() && number.find_first_not_of("0123456789.") == absl::string_view::npos;
  if (factor == 0 || !digits || !absl::SimpleAtod(number, &value)) {
    return absl::InvalidArgumentError(absl::StrCat("rate: not a rate such as 200mbit or 1gbit (value=", text, ")"));
  }
  const double bits = value * factor;
  if (bits < kRateBitsMin || bits > kRateBitsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: out of range (value=", text, ", limit=", kRateBitsMin, "..", kRateBitsMax, " bit/s)"));
  }
  return std::llround(bits);
}

absl::StatusOr<std::vector<std::string>> FabricNames(const std::string& file) {
  const std::optional<std::string> text = ReadFile(file);
  if (!text.has_value()) return absl::InvalidArgumentError(absl::StrCat("fabric: cannot be read (file=", file, ")"));
  ASSIGN_OR_RETURN(const fabric::FabricFile parsed, fabric::ParseFabricFile(*text, file));
  std::vector<std::string> names;
  for (const topology::Node& node : parsed.topology.nodes()) names.push_back(node.name);
  return names;
}

absl::StatusOr<std::unique_ptr<TestNetwork>> TestNetwork::Create(NetworkOptions options) {
  std::unique_ptr<TestNetwork> network(new TestNetwork(std::move(options)));
  RETURN_IF_ERROR(network->Start());
  return network;
}

TestNetwork::~TestNetwork() {
  fabric_.reset();
  for (const auto& holder : holders_) holder->Signal(SIGKILL);
}

absl::Status TestNetwork::Start() {
  RETURN_IF_ERROR(CheckNamespaces(!options_.fabric.empty()));
  if (!options_.fabric.empty() && options_.rate_bits_per_s != 0) {
    return absl::InvalidArgumentError("rate: not together with a fabric, whose topology has the rates");
  }
  names_ = options_.names;
  if (names_.empty() && !options_.fabric.empty()) {
    ASSIGN_OR_RETURN(names_, FabricNames(options_.fabric));
  }
  const uint32_t nodes = options_.nodes != 0 ? options_.nodes : size();
  for (uint32_t i = size(); options_.names.empty() && options_.fabric.empty() && i < nodes; ++i) {
    names_.push_back(absl::StrCat("n", i + 1));
  }
  if (nodes == 0 || nodes > kNodesMax || nodes > size() || (!options_.fabric.empty() && nodes != size())) {
    return absl::InvalidArgumentError(absl::StrCat("nodes: not that many (value=", nodes, ", limit=",
                                                   std::min(names_.empty() ? kNodesMax : size(), kNodesMax), ")"));
  }
  names_.resize(nodes);
  RETURN_IF_ERROR(CheckNames(names_));
  ASSIGN_OR_RETURN(enter_, procs::FindProgram(kEnter));
  RETURN_IF_ERROR(StartHolders());
  RETURN_IF_ERROR(WriteTables());
  RETURN_IF_ERROR(Configure());
  if (!options_.fabric.empty()) RETURN_IF_ERROR(StartFabric());
  return options_.congestion_control.empty() ? absl::OkStatus() : SetCongestionControl();
}

std::string TestNetwork::DataAddress(uint32_t node) { return absl::StrCat("10.77.", LastBytesOf(node)); }
std::string TestNetwork::ControlAddress(uint32_t node) { return absl::StrCat("10.76.", LastBytesOf(node)); }
std::string TestNetwork::LogFile() const { return absl::StrCat(options_.folder, "/network.log"); }

std::string TestNetwork::NetworkNamespace(uint32_t node) const {
  return absl::StrCat("/proc/", Holder(node), "/ns/net");
}
std::string TestNetwork::SwitchNamespace() const { return absl::StrCat("/proc/", switch_holder(), "/ns/net"); }

std::vector<std::string> TestNetwork::Enter(uint32_t node) const { return {enter_, absl::StrCat(Holder(node))}; }
std::vector<std::string> TestNetwork::EnterSwitch() const { return {enter_, absl::StrCat(switch_holder())}; }

absl::Status TestNetwork::StartHolders() {
  const std::string hosts = absl::StrCat(options_.folder, "/hosts");
  std::ofstream file(hosts);
  file << "127.0.0.1 localhost\n" << kSwitchAddress << " " << kSwitchName << " planner\n";
  for (uint32_t node = 0; node < size(); ++node) {
    file << ControlAddress(node) << " " << names_[node] << "\n"
         << DataAddress(node) << " " << names_[node] << "-data\n";
  }
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, hosts);

  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(kHolder));
  const auto start = [&](const std::string& name) {
    return ChildProcess::Start({.arguments = {program, name, hosts}, .stdout_pipe = true, .log_file = LogFile()});
  };
  ASSIGN_OR_RETURN(switch_, start(kSwitchName));
  for (const std::string& name : names_) {
    ASSIGN_OR_RETURN(auto holder, start(name));
    holders_.push_back(std::move(holder));
  }
  const auto await = [&](ChildProcess* holder) {
    if (holder->ReadLine(kSettle).ok()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("network namespaces: ", OneLine(procs::ContentOf(LogFile()))));
  };
  RETURN_IF_ERROR(await(switch_.get()));
  for (const auto& holder : holders_) RETURN_IF_ERROR(await(holder.get()));
  return absl::OkStatus();
}

absl::Status TestNetwork::WriteTables() {
  node_table_ = absl::StrCat(options_.folder, "/nodes");
  std::ofstream rows(node_table_);
  rows << kSwitchName << " " << switch_holder() << "\n";
  for (uint32_t node = 0; node < size(); ++node) rows << names_[node] << " " << Holder(node) << "\n";
  rows.close();
  remote_shell_ = absl::StrCat(options_.folder, "/rsh");
  std::ofstream script(remote_shell_);
  script << "#!/bin/sh\nexec '" << enter_ << "' --table '" << node_table_ << "' \"$@\"\n";
  script.close();
  if (!rows || !script || chmod(remote_shell_.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, remote_shell_);
  return absl::OkStatus();
}

absl::Status TestNetwork::Configure() {
  const bool bridged = options_.fabric.empty();
  const std::string bridge = " type bridge forward_delay 0 mcast_snooping 0\n";
  std::string links = absl::StrCat("link set lo up\nlink add ", kControlDevice, bridge, "addr add ", kSwitchAddress,
                                   "/16 dev ", kControlDevice, "\nlink set ", kControlDevice, " up\n");
  if (bridged) absl::StrAppend(&links, "link add data0", bridge, "link set data0 up\n");
  const auto connect = [&](const std::string& port, const char* master, const char* device, pid_t pid) {
    absl::StrAppend(&links, "link add ", port, " type veth peer name ", device, " netns ", pid, "\nlink set ", port,
                    " master ", master, " up\n");
  };
  const auto shape = [&](const std::string& device) {
    return absl::StrCat("qdisc add dev ", device, " root tbf rate ", options_.rate_bits_per_s, "bit burst ",
                        kBurstBytes, " latency ", kQueueMs, "ms\n");
  };
  std::string shapers;
  std::vector<Batch> inside;
  for (uint32_t node = 0; node < size(); ++node) {
    const std::string number = absl::StrCat(node + 1);
    connect("c" + number, kControlDevice, kControlDevice, Holder(node));
    std::string commands = absl::StrCat("link set lo up\naddr add ", ControlAddress(node), "/16 dev ", kControlDevice,
                                        "\nlink set ", kControlDevice, " up\n");
    if (bridged) {
      connect("d" + number, "data0", kDataDevice, Holder(node));
      absl::StrAppend(&commands, "addr add ", DataAddress(node), "/16 dev ", kDataDevice, "\nlink set ", kDataDevice,
                      " up\n");
    }
    inside.push_back({Holder(node), "ip", commands});
    if (bridged && options_.rate_bits_per_s != 0) {
      absl::StrAppend(&shapers, shape("d" + number));
      inside.push_back({Holder(node), "tc", shape(kDataDevice)});
    }
  }
  RETURN_IF_ERROR(RunAll({{switch_holder(), "ip", links}}));
  if (!shapers.empty()) inside.push_back({switch_holder(), "tc", shapers});
  return RunAll(inside);
}

absl::Status TestNetwork::SetCongestionControl() const {
  std::vector<Batch> inside;
  for (uint32_t node = 0; node < size(); ++node) {
    inside.push_back({Holder(node), "ip",
                      absl::StrCat("route replace ", kDataNetwork, " dev ", kDataDevice, " scope link src ",
                                   DataAddress(node), " congctl ", options_.congestion_control, "\n")});
  }
  return RunAll(inside);
}

absl::Status TestNetwork::RunAll(const std::vector<Batch>& batches) const {
  std::vector<std::unique_ptr<ChildProcess>> running;
  const std::string log = LogFile();
  for (const Batch& batch : batches) {
    ASSIGN_OR_RETURN(const std::string tool, FindTool(batch.program));
    ASSIGN_OR_RETURN(const UniqueFd commands, TextFile(batch.commands));
    ASSIGN_OR_RETURN(auto child,
                     ChildProcess::Start({.arguments = {enter_, absl::StrCat(batch.pid), tool, "-batch", "-"},
                                          .stdin_file = absl::StrCat("/proc/self/fd/", commands.get()),
                                          .log_file = log}));
    running.push_back(std::move(child));
  }
  for (const auto& child : running) {
    RETURN_IF_ERROR(child->AwaitEnd(kSettle));
    if (child->exit_code() != 0) return absl::InternalError(absl::StrCat("network: ", OneLine(procs::ContentOf(log))));
  }
  return absl::OkStatus();
}

absl::Status TestNetwork::StartFabric() {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(kFabric));
  fabric_socket_ = absl::StrCat(options_.folder, "/fabric.sock");
  const std::string log = absl::StrCat(options_.folder, "/fabric.log");
  ChildOptions child = {.arguments = {program, "--topology", options_.fabric, "--control", fabric_socket_},
                        .stdout_pipe = true,
                        .log_file = log};
  for (uint32_t node = 0; node < size(); ++node) {
    child.arguments.push_back("--node");
    child.arguments.push_back(absl::StrCat(names_[node], "=", NetworkNamespace(node)));
  }
  ASSIGN_OR_RETURN(fabric_, ChildProcess::Start(child));
  const absl::StatusOr<std::string> line = fabric_->ReadLine(kSettle);
  if (line.ok() && *line == "ready") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("fabric: not ready: ", OneLine(procs::ContentOf(log))));
}

absl::Status TestNetwork::SetLink(uint32_t node, const char* device, bool up) {
  return RunAll({{Holder(node), "ip", absl::StrCat("link set ", device, up ? " up\n" : " down\n")}});
}

absl::Status TestNetwork::CheckAlive() const {
  const auto check = [](ChildProcess* child, const std::string& name) {
    if (child == nullptr || !child->Ended()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("network: ", name, " ended unexpectedly: ", child->DescribeEnd()));
  };
  RETURN_IF_ERROR(check(switch_.get(), kSwitchName));
  RETURN_IF_ERROR(check(fabric_.get(), "copse-fabric"));
  for (uint32_t node = 0; node < holders_.size(); ++node) RETURN_IF_ERROR(check(holders_[node].get(), names_[node]));
  return absl::OkStatus();
}

}  // namespace copse::netns
