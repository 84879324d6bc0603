// SPDX-License-Identifier: Apache-2.0
#include "testbed/processes/process_cluster.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "collectives/call_arguments.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/fabric/fabric_control.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/programs.h"

namespace copse::procs {
namespace {

using scenario::Outcome;

constexpr char kPlanner[] = "planner/server/copse-planner";
constexpr char kDaemon[] = "daemon/copsed";
constexpr char kAuthority[] = "cli/ca/copse-ca";
// With the value "tcp", daemons have certificates, and data goes over Copse's own TCP.
constexpr char kTransportVariable[] = "TESTBED_TRANSPORT";
constexpr absl::Duration kIssueMax = absl::Seconds(20);
constexpr char kClient[] = "testbed/processes/scripted_client";

// Limit for the cluster to come up, or to come back, on a busy machine.
constexpr absl::Duration kSettle = absl::Seconds(60);
// Limit of one administrative call.
constexpr absl::Duration kCallTimeout = absl::Seconds(10);
// The planner's view changes without an event here, so it is polled at this interval.
constexpr absl::Duration kAskAgain = absl::Milliseconds(10);
// Exit code of a planner that was set to die at a decision.
constexpr int kCrashExitCode = 137;
constexpr size_t kTailLines = 40;
constexpr size_t kLastWords = 25;  // of a server that should live: a backtrace

std::vector<std::string> Joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

int PollMilliseconds(absl::Duration timeout) {
  return static_cast<int>(absl::ToInt64Milliseconds(std::clamp(timeout, absl::ZeroDuration(), absl::Hours(1)))) + 1;
}

std::deque<std::string> TailOf(const std::filesystem::path& path, size_t lines) {
  std::ifstream file(path);
  std::deque<std::string> tail;
  for (std::string line; std::getline(file, line);) {
    tail.push_back(line);
    if (tail.size() > lines) tail.pop_front();
  }
  return tail;
}

void Signal(ChildProcess* child, int number) {
  if (child != nullptr) child->Signal(number);
}

// Kills a process and waits for its end.
void Kill(ChildProcess* child) {
  Signal(child, SIGKILL);
  if (child != nullptr) CHECK(child->AwaitEnd(kSettle).ok());
}

}  // namespace

ProcessCluster::ProcessCluster(ProcessClusterOptions options) : options_(std::move(options)) {}

ProcessCluster::~ProcessCluster() {
  clients_.clear();
  daemons_.clear();
  planner_.child.reset();
  network_.reset();
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

absl::Status ProcessCluster::MakeFolder() {
  const char* base = getenv("TMPDIR");  // Bazel's TEST_TMPDIR is too long for a socket's name
  folder_ = absl::StrCat(!options_.parent.empty() ? options_.parent : base != nullptr ? base : "/tmp", "/copse-XXXXXX");
  if (mkdtemp(folder_.data()) == nullptr) {
    const absl::Status status = absl::ErrnoToStatus(errno, folder_);
    folder_.clear();
    return status;
  }
  const size_t longest = absl::StrCat(folder_, "/n", cluster_.nodes, ".sock").size();
  if (longest >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("folder ", folder_, ": sockets there have too long a name (bytes=",
                                                   longest, ", limit=", sizeof(sockaddr_un::sun_path) - 1, ")"));
  }
  // A configuration of this machine must not apply.
  if (!std::ofstream(absl::StrCat(folder_, "/empty.yaml"))) return absl::ErrnoToStatus(errno, folder_);
  return absl::OkStatus();
}

std::string ProcessCluster::SocketOf(uint32_t node) const {
  return network_ != nullptr ? "@copse" : absl::StrCat(folder_, "/n", node, ".sock");
}
std::string ProcessCluster::LogOf(const std::string& name) const { return absl::StrCat(folder_, "/", name, ".log"); }

absl::Status ProcessCluster::Start(const scenario::ClusterOptions& options) {
  CHECK(daemons_.empty());
  cluster_ = options;
  RETURN_IF_ERROR(MakeFolder());
  std::optional<netns::NetworkOptions> network = options_.network;
  if (options_.one_switch_fabric) {
    network = netns::NetworkOptions{.fabric = absl::StrCat(folder_, "/topology.yaml")};
    std::ofstream(network->fabric) << "version: 1\nswitches: [{name: core}]\nnodes: [{name: 'n[0-" << options.nodes - 1
                                   << "]', switch: core}]\n";
  }
  if (network) {
    network->nodes = options.nodes;
    network->folder = folder_;
    topology_ = network->fabric;
    ASSIGN_OR_RETURN(network_, netns::TestNetwork::Create(*std::move(network)));
  }
  daemons_.resize(options.nodes);
  for (uint32_t node = 0; node < options.nodes; ++node) {
    daemons_[node].name = network_ != nullptr            ? network_->HostName(node)
                          : node < options_.names.size() ? options_.names[node]
                                                         : absl::StrCat("n", node);
  }
  const char* const wanted = getenv(kTransportVariable);
  has_certificates_ = (options_.transport.empty() && wanted != nullptr ? wanted : options_.transport) == "tcp";
  if (has_certificates_) RETURN_IF_ERROR(IssueCertificates());
  RETURN_IF_ERROR(StartPlanner({}));
  for (uint32_t node = 0; node < options.nodes; ++node) RETURN_IF_ERROR(StartDaemon(node));
  for (uint32_t node = 0; node < options.nodes; ++node) RETURN_IF_ERROR(AwaitNodeState(node, "ready", kSettle));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ProcessCluster::ServerCommand(
    const char* label, std::map<std::string, std::string> settings,
    const std::map<std::string, std::string>& changed) const {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(label));
  std::vector<std::string> command = {program, "--config", absl::StrCat(folder_, "/empty.yaml")};
  for (const auto& [key, value] : changed) settings[key] = value;
  for (const auto& [key, value] : settings) command.insert(command.end(), {"--set", absl::StrCat(key, "=", value)});
  return command;
}

absl::Status ProcessCluster::StartPlanner(const std::map<std::string, std::string>& environment) {
  planner_ = Server();
  planner_.name = "planner";
  const std::string port_file = absl::StrCat(folder_, "/planner.port");
  unlink(port_file.c_str());
  const std::string host = network_ != nullptr ? netns::kSwitchAddress : "127.0.0.1";
  std::map<std::string, std::string> settings = {
      {"listen", planner_address_.empty() ? absl::StrCat(host, ":0") : planner_address_},
      {"state", absl::StrCat(folder_, "/planner.db")},
      {"node_timeout", FormatShortDuration(cluster_.node_timeout)},
      {"team_formation_timeout", FormatShortDuration(cluster_.team_formation_timeout)},
  };
  if (network_ != nullptr && !has_certificates_) settings["insecure"] = "true";
  if (has_certificates_) {
    settings.insert({{"tls_cert", CertificatesFolder() + "/planner/p0.pem"},
                     {"tls_key", CertificatesFolder() + "/planner/p0.key"},
                     {"tls_ca", CertificatesFolder() + "/ca.pem"},
                     {"run_dir", folder_}});
  }
  if (!topology_.empty()) settings["topology"] = topology_;
  ASSIGN_OR_RETURN(std::vector<std::string> command,
                   ServerCommand(kPlanner, std::move(settings), options_.planner_settings));
  command.insert(command.end(), {"--port-file", port_file});
  if (network_ != nullptr) command = Joined(network_->EnterSwitch(), command);

  const UniqueFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  CHECK(inotify_add_watch(watch.get(), folder_.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) >= 0);
  ASSIGN_OR_RETURN(
      planner_.child,
      ChildProcess::Start({.arguments = command, .environment = environment, .log_file = LogOf("planner")}));
  const absl::Time deadline = Now() + kSettle;
  std::string line;
  while ((line = ContentOf(port_file)).empty()) {
    RETURN_IF_ERROR(CheckAlive());
    if (Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("planner: no port file (file=", port_file, ")"));
    }
    pollfd events[] = {{watch.get(), POLLIN, 0}, {planner_.child->pidfd(), POLLIN, 0}};
    poll(events, 2, PollMilliseconds(deadline - Now()));
    char drained[4096];
    while (read(watch.get(), drained, sizeof(drained)) > 0) {
    }
  }
  uint32_t port = 0;
  if (!absl::SimpleAtoi(line.substr(line.rfind(':') + 1), &port)) {
    return absl::InternalError(absl::StrCat("planner: port file is \"", line, "\""));
  }
  planner_address_ = absl::StrCat(host, ":", port);
  // Without a certificate this process is known on the planner's socket alone.
  admin_ = has_certificates_ ? std::make_unique<AdminClient>(absl::StrCat("unix:", folder_, "/admin.sock"))
                             : std::make_unique<AdminClient>(planner_address_,
                                                             network_ != nullptr ? network_->SwitchNamespace() : "");
  return absl::OkStatus();
}

// Makes an authority, and certificates for the planner and each name.
absl::Status ProcessCluster::IssueCertificates() {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(kAuthority));
  std::vector<std::string> issue = {program, "--dir", CertificatesFolder(), "node"};
  std::set<std::string> names;
  for (const Server& server : daemons_) {
    if (names.insert(server.name).second) issue.push_back(server.name);
  }
  const std::vector<std::string> init = {program, "--dir", CertificatesFolder(), "init"};
  const std::vector<std::string> planner = {program, "--dir", CertificatesFolder(), "planner", "p0"};
  for (const std::vector<std::string>& command : {init, planner, issue}) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child,
                     ChildProcess::Start({.arguments = command, .log_file = LogOf("authority")}));
    RETURN_IF_ERROR(child->AwaitEnd(kIssueMax));
    if (child->exit_code() != 0) return absl::InternalError(absl::StrCat("copse-ca: ", child->DescribeFailure()));
  }
  return absl::OkStatus();
}

absl::Status ProcessCluster::StartDaemon(uint32_t node) {
  Server& server = daemons_[node];
  std::map<std::string, std::string> settings = {
      {"planner", planner_address_},
      {"socket", SocketOf(node)},
      {"run_dir", folder_},
      {"heartbeat", FormatShortDuration(cluster_.heartbeat)},
      {"node_timeout", FormatShortDuration(cluster_.node_timeout)},
      {"memory_limit", absl::StrCat(cluster_.memory_limit_bytes)},
  };
  if (network_ != nullptr) {
    // The node's name is its host name, and its ports are its own, like on a real cluster.
    settings.insert({{"insecure", "true"},
                     {"net_devices", netns::kDataDevice},
                     {"data_listen", netns::TestNetwork::DataAddress(node)}});
  } else {
    settings.insert({{"node", server.name}, {"admin_listen", "127.0.0.1:0"}});
  }
  if (has_certificates_) {
    settings.insert({{"transport", "tcp"},
                     {"tls_cert", CertificatesFolder() + "/node/%h.pem"},
                     {"tls_key", CertificatesFolder() + "/node/%h.key"},
                     {"tls_ca", CertificatesFolder() + "/ca.pem"}});
  }
  ASSIGN_OR_RETURN(std::vector<std::string> command,
                   ServerCommand(kDaemon, std::move(settings), options_.copsed_settings));
  server.stopped = false;
  ASSIGN_OR_RETURN(server.child, ChildProcess::Start(
                                     {.arguments = OnNode(node, std::move(command)), .log_file = LogOf(server.name)}));
  return absl::OkStatus();
}

std::vector<std::string> ProcessCluster::OnNode(uint32_t node, std::vector<std::string> command) const {
  return network_ == nullptr ? command : Joined(network_->Enter(node), command);
}

void ProcessCluster::AddClientEnvironment(uint32_t node, std::map<std::string, std::string>* environment) const {
  if (network_ == nullptr) environment->insert({"COPSE_SOCKET", SocketOf(node)});
}

uint32_t ProcessCluster::Launch(const std::vector<scenario::Program>& programs) {
  const auto first = static_cast<uint32_t>(clients_.size());
  for (const scenario::Program& program : programs) {
    const std::string name = absl::StrCat("p", clients_.size());
    const std::string script = absl::StrCat(folder_, "/", name, ".script");
    std::ofstream file(script);
    for (const scenario::Step& step : program.script) file << scenario::FormatStep(step) << "\n";
    file.close();

    clients_.push_back(std::make_unique<Client>());
    Client& client = *clients_.back();
    client.start = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const std::string path, FindProgram(kClient));
      std::map<std::string, std::string> environment = {{"COPSE_JOB", "scenario"}, {"COPSE_LOG_LEVEL", "info"}};
      AddClientEnvironment(program.node, &environment);
      ASSIGN_OR_RETURN(client.child, ChildProcess::Start({.arguments = OnNode(program.node, {path}),
                                                          .environment = environment,
                                                          .stdin_file = script,
                                                          .stdout_pipe = true,
                                                          .log_file = LogOf(name)}));
      return absl::OkStatus();
    }();
  }
  return first;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ProcessCluster::StartApplication(
    uint32_t node, std::vector<std::string> arguments, std::map<std::string, std::string> environment) {
  environment.insert({"COPSE_JOB", "application"});
  AddClientEnvironment(node, &environment);
  return ChildProcess::Start({.arguments = OnNode(node, std::move(arguments)),
                              .environment = std::move(environment),
                              .stdin_pipe = true,
                              .stdout_pipe = true,
                              .log_file = LogOf(absl::StrCat("a", applications_++))});
}

// --- Waiting ---

absl::Time ProcessCluster::Now() const { return clock_.Now(); }

void ProcessCluster::Pass(absl::Duration duration) {
  const absl::Time end = Now() + duration;
  while (Now() < end) AwaitSomething(end - Now());
}

void ProcessCluster::AwaitSomething(absl::Duration timeout) {
  std::vector<pollfd> events;
  const auto add_end = [&](ChildProcess* child) {
    if (child != nullptr && !child->Ended()) events.push_back({child->pidfd(), POLLIN, 0});
  };
  add_end(planner_.child.get());
  for (const Server& server : daemons_) add_end(server.child.get());
  for (const auto& client : clients_) {
    add_end(client->child.get());
    if (client->child != nullptr && !client->output_ended) events.push_back({client->child->output(), POLLIN, 0});
  }
  poll(events.data(), events.size(), PollMilliseconds(timeout));
  for (const auto& client : clients_) ReadOutput(client.get());
}

void ProcessCluster::ReadOutput(Client* client) const {
  if (client->child == nullptr || client->output_ended) return;
  char buffer[16384];
  ssize_t got;
  while ((got = read(client->child->output(), buffer, sizeof(buffer))) > 0) client->unread.append(buffer, got);
  client->output_ended = got == 0;
  for (size_t end; (end = client->unread.find('\n')) != std::string::npos; client->unread.erase(0, end + 1)) {
    const absl::StatusOr<scenario::NumberedOutcome> outcome =
        scenario::ParseOutcome(std::string_view(client->unread).substr(0, end));
    if (outcome.ok()) {
      client->outcomes.emplace(outcome->step, outcome->outcome);
    } else {
      client->start = outcome.status();  // not a scripted client, or a broken one
    }
  }
}

absl::Status ProcessCluster::Await(const std::function<bool()>& done, absl::Duration timeout, const std::string& what) {
  const absl::Time deadline = Now() + timeout;
  while (!done()) {
    RETURN_IF_ERROR(CheckAlive());
    if (Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(what, ": not within ", absl::FormatDuration(timeout)));
    }
    AwaitSomething(std::min(deadline - Now(), kAskAgain));
  }
  return absl::OkStatus();
}

absl::Status ProcessCluster::CheckAlive() const {
  const auto check = [&](const Server& server) {
    if (server.child == nullptr || server.may_end || !server.child->Ended()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(server.name, " ended unexpectedly: ", server.child->DescribeEnd(),
                                            " (log=", LogOf(server.name), "); its last words:\n",
                                            absl::StrJoin(TailOf(LogOf(server.name), kLastWords), "\n")));
  };
  if (network_ != nullptr) RETURN_IF_ERROR(network_->CheckAlive());
  RETURN_IF_ERROR(check(planner_));
  for (const Server& server : daemons_) RETURN_IF_ERROR(check(server));
  return absl::OkStatus();
}

// A client that could not be started, or failed by itself, must not be waited for.
absl::Status ProcessCluster::CheckClient(uint32_t process) const {
  const Client& client = *clients_[process];
  RETURN_IF_ERROR(client.start);
  if (client.child->Ended() && client.child->exit_code() != 0 && client.child->exit_code() != 128 + SIGKILL) {
    return absl::InternalError(absl::StrCat("process ", process, " failed: ", client.child->DescribeEnd()));
  }
  return absl::OkStatus();
}

absl::Status ProcessCluster::AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) {
  Client* client = clients_[process].get();
  RETURN_IF_ERROR(CheckClient(process));
  RETURN_IF_ERROR(Await([&] { return client->outcomes.size() >= count || client->output_ended; }, timeout,
                        absl::StrCat(count, " outcomes of process ", process)));
  if (client->outcomes.size() >= count) return absl::OkStatus();
  RETURN_IF_ERROR(client->child->AwaitEnd(kSettle));
  RETURN_IF_ERROR(CheckClient(process));
  return absl::FailedPreconditionError(absl::StrCat("process ", process, " ended: ", client->child->DescribeEnd(),
                                                    " (outcomes=", client->outcomes.size(), ", wanted=", count, ")"));
}

absl::Status ProcessCluster::AwaitEnd(uint32_t process, absl::Duration timeout) {
  Client* client = clients_[process].get();
  RETURN_IF_ERROR(client->start);
  RETURN_IF_ERROR(Await([&] { return client->output_ended && client->child->Ended(); }, timeout,
                        absl::StrCat("end of process ", process)));
  return CheckClient(process);
}

std::vector<Outcome> ProcessCluster::Outcomes(uint32_t process) const {
  Client* client = clients_[process].get();
  ReadOutput(client);
  std::vector<Outcome> in_order;
  for (const auto& [step, outcome] : client->outcomes) in_order.push_back(outcome);
  return in_order;
}

// --- Faults ---

void ProcessCluster::KillProcess(uint32_t process) { Kill(clients_[process]->child.get()); }
void ProcessCluster::StopProcess(uint32_t process) { Signal(clients_[process]->child.get(), SIGSTOP); }
void ProcessCluster::ContinueProcess(uint32_t process) { Signal(clients_[process]->child.get(), SIGCONT); }

void ProcessCluster::KillDaemon(uint32_t node) {
  Server& server = daemons_[node];
  Kill(server.child.get());
  server.child.reset();
  server.dead_incarnation = server.incarnation;
}

absl::Status ProcessCluster::RestartDaemon(uint32_t node) {
  KillDaemon(node);
  RETURN_IF_ERROR(StartDaemon(node));
  return AwaitNodeState(node, "ready", kSettle);
}

void ProcessCluster::StopDaemon(uint32_t node) {
  daemons_[node].stopped = true;
  Signal(daemons_[node].child.get(), SIGSTOP);
}
void ProcessCluster::ContinueDaemon(uint32_t node) {
  daemons_[node].stopped = false;
  Signal(daemons_[node].child.get(), SIGCONT);
}

void ProcessCluster::KillPlanner() {
  Kill(planner_.child.get());
  planner_.child.reset();
  planner_.may_end = false;
}
void ProcessCluster::StopPlanner() { Signal(planner_.child.get(), SIGSTOP); }
void ProcessCluster::ContinuePlanner() { Signal(planner_.child.get(), SIGCONT); }

absl::Status ProcessCluster::ReplacePlanner() {
  KillPlanner();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (absl::StartsWith(entry.path().filename().string(), "planner.db")) std::filesystem::remove(entry.path(), error);
  }
  return RestartPlanner();
}

absl::StatusOr<fabric::FabricControl> ProcessCluster::Fabric() const {
  if (network_ == nullptr || network_->fabric_socket().empty()) return absl::UnimplementedError("no fabric");
  return fabric::FabricControl::Connect(network_->fabric_socket());
}

absl::Status ProcessCluster::SetDataLink(uint32_t node, bool up) {
  ASSIGN_OR_RETURN(fabric::FabricControl fabric, Fabric());
  return up ? fabric.Heal(daemons_[node].name) : fabric.Cut(daemons_[node].name);
}

absl::Status ProcessCluster::SetManagementLink(uint32_t node, bool up) {
  if (network_ == nullptr) return absl::UnimplementedError("no management network");
  daemons_[node].is_cut_off = !up;
  return network_->SetLink(node, netns::kControlDevice, up);
}

absl::Status ProcessCluster::DisturbData(bool on) {
  ASSIGN_OR_RETURN(fabric::FabricControl fabric, Fabric());
  for (const Server& server : daemons_) {
    RETURN_IF_ERROR(fabric.Set(server.name, on ? "jitter=2ms reorder=true loss=1%" : "jitter=0s reorder=false loss=0"));
  }
  return absl::OkStatus();
}

absl::Status ProcessCluster::RestartPlanner() {
  if (planner_.may_end) {
    // The planner had to die by itself; if it survived the decision, the test would have tested nothing.
    RETURN_IF_ERROR(planner_.child->AwaitEnd(kSettle));
    if (planner_.child->exit_code() != kCrashExitCode) {
      return absl::FailedPreconditionError(
          absl::StrCat("planner: did not end at its next decision, but with ", planner_.child->DescribeEnd()));
    }
  }
  KillPlanner();
  RETURN_IF_ERROR(StartPlanner({}));
  return AwaitAllConnected(kSettle);
}

absl::Status ProcessCluster::KillPlannerAtNextDecision() {
  // The place of its death is a setting at its start.
  KillPlanner();
  RETURN_IF_ERROR(StartPlanner({{"COPSE_CRASH_POINT", "after_decision"}}));
  RETURN_IF_ERROR(AwaitAllConnected(kSettle));
  planner_.may_end = true;
  return absl::OkStatus();
}

// --- Administration ---

absl::StatusOr<uint64_t> ProcessCluster::FindTeam(const std::string& name) const {
  ASSIGN_OR_RETURN(const v1::ListTeamsReply teams, admin_->ListTeams(kCallTimeout));
  for (const v1::TeamRow& team : teams.teams()) {
    if (team.name() == name) return team.id();
  }
  return absl::NotFoundError(absl::StrCat("no team ", name));
}

absl::Status ProcessCluster::ReplanCollective(const std::string& team_name, std::optional<Collective> collective,
                                              const std::string& algorithm) {
  ASSIGN_OR_RETURN(const uint64_t team, FindTeam(team_name));
  const std::string name(collective ? CollectiveName(*collective) : "");
  return admin_->ReplanTeam(team, algorithm, kSettle, name).status();
}

absl::StatusOr<std::vector<scenario::ListedCall>> ProcessCluster::ListCalls(const std::string& team_name) {
  ASSIGN_OR_RETURN(const uint64_t team, FindTeam(team_name));
  ASSIGN_OR_RETURN(const v1::ListCollectivesReply calls, admin_->ListCollectives(team, kCallTimeout));
  std::vector<scenario::ListedCall> listed;
  for (const v1::CollectiveRow& call : calls.collectives()) {
    if (call.team() != team) continue;
    listed.push_back({.sequence = call.sequence(),
                      .collective = call.collective(),
                      .joined = {call.joined().begin(), call.joined().end()},
                      .missing = {call.missing().begin(), call.missing().end()}});
  }
  return listed;
}

absl::Status ProcessCluster::DrainNode(uint32_t node, bool on) {
  return admin_->DrainNode(daemons_[node].name, !on, kCallTimeout);
}

absl::StatusOr<std::map<std::string, uint64_t>> ProcessCluster::Gauges(uint32_t node) {
  const Server& server = daemons_[node];
  if (server.child == nullptr) return absl::UnavailableError(absl::StrCat(server.name, " has no daemon"));
  ASSIGN_OR_RETURN(const v1::GetStatsReply reply, admin_->GetStats(server.name, kCallTimeout));
  if (reply.stats().empty()) return absl::UnavailableError(absl::StrCat(server.name, " does not answer"));
  std::map<std::string, uint64_t> gauges;
  for (const char* name : scenario::kIdleCounters) gauges[name] = reply.stats(0).counters().at(name);
  ASSIGN_OR_RETURN(const v1::ListTeamsReply teams, admin_->ListTeams(kCallTimeout));
  gauges["planner.teams"] = teams.teams_size();
  const std::string process = absl::StrCat("/proc/", server.child->pid());
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) gauges["shared_memory"] += absl::StrContains(line, "/memfd:");
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(process + "/fd", error)) gauges["files"] += file.exists();
  return gauges;
}

absl::StatusOr<v1::NodeRow> ProcessCluster::NodeIn(uint32_t node, const std::string& state) const {
  ASSIGN_OR_RETURN(const v1::ListNodesReply nodes, admin_->ListNodes(kCallTimeout));
  const Server& server = daemons_[node];
  for (const v1::NodeRow& row : nodes.nodes()) {
    if (row.name() != server.name || row.state() != state) continue;
    if (state == "lost" || state == "away") return row;
    if (row.connected() && row.incarnation() != server.dead_incarnation) return row;
  }
  return absl::NotFoundError(absl::StrCat("node ", server.name, " is not ", state));
}

absl::Status ProcessCluster::AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) {
  absl::StatusOr<v1::NodeRow> row;
  const absl::Status status = Await(
      [&] {
        row = NodeIn(node, state);
        return row.ok();
      },
      timeout, absl::StrCat("node ", daemons_[node].name, " is ", state));
  if (status.ok() && row->connected()) daemons_[node].incarnation = row->incarnation();
  return status;
}

absl::Status ProcessCluster::AwaitAllConnected(absl::Duration timeout) {
  return Await(
      [this] {
        const absl::StatusOr<v1::ListNodesReply> nodes = admin_->ListNodes(kCallTimeout);
        if (!nodes.ok()) return false;
        return std::all_of(daemons_.begin(), daemons_.end(), [&](const Server& server) {
          if (server.child == nullptr || server.stopped || server.is_cut_off) return true;
          return std::any_of(nodes->nodes().begin(), nodes->nodes().end(), [&](const v1::NodeRow& row) {
            return row.name() == server.name && row.connected() && row.incarnation() == server.incarnation;
          });
        });
      },
      timeout, "all nodes are connected to the planner");
}

// --- The end ---

absl::Status ProcessCluster::Stop(absl::Duration timeout) {
  const absl::Time deadline = Now() + timeout;
  absl::Status first;
  const auto await = [&](Server* server) {
    if (server->child == nullptr) return;
    absl::Status status = server->child->AwaitEnd(std::max(deadline - Now(), absl::ZeroDuration()));
    if (!status.ok()) {
      status = absl::DeadlineExceededError(
          absl::StrCat(server->name, ": still runs after SIGTERM (timeout=", absl::FormatDuration(timeout), ")"));
    } else if (server->child->exit_code() != 0 && !server->may_end) {
      status = absl::InternalError(absl::StrCat(server->name, ": ended with ", server->child->DescribeEnd()));
    }
    first.Update(status);
    server->child.reset();
  };
  for (Server& server : daemons_) Signal(server.child.get(), SIGTERM);
  for (Server& server : daemons_) await(&server);
  Signal(planner_.child.get(), SIGTERM);
  await(&planner_);
  return first;
}

void ProcessCluster::DumpLogs(std::FILE* out) const {
  const char* outputs = getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  std::error_code error;
  std::vector<std::filesystem::path> logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path());
  }
  std::sort(logs.begin(), logs.end());
  for (const std::filesystem::path& log : logs) {
    if (outputs != nullptr) {
      std::filesystem::copy_file(log, std::filesystem::path(outputs) / log.filename(),
                                 std::filesystem::copy_options::overwrite_existing, error);
    }
    const std::deque<std::string> tail = TailOf(log, kTailLines);
    if (tail.empty()) continue;
    std::fprintf(out, "---- end of %s\n", log.filename().c_str());
    for (const std::string& line : tail) std::fprintf(out, "%s\n", line.c_str());
  }
}

}  // namespace copse::procs
