// SPDX-License-Identifier: Apache-2.0

#include "daemon/settings.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/config/places.h"
#include "base/config/service_keys.h"
#include "base/status_macros.h"
#include "daemon/quota_settings.h"
#include "daemon/rpc/endpoints.h"
#include "daemon/shm/listen_socket.h"

namespace copse::daemon {
namespace {

constexpr char kAbstractSocket[] = "@copse";
constexpr size_t kNodeBytesMax = 127;
constexpr const char* kLiveKeys[] = {"heartbeat",       "node_timeout", "drain_timeout", "spin_us",
                                     "join_token_file", "log_level",    "log_file",      "quotas"};

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

absl::StatusOr<std::string> NodeName(const config::Config& config) {
  const std::string node = config.Text("node").empty() ? HostName() : config.Text("node");
  const bool good = !node.empty() && node.size() <= kNodeBytesMax && std::all_of(node.begin(), node.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (good) return node;
  return absl::InvalidArgumentError(absl::StrCat("node: not a name (node=", absl::CHexEscape(node),
                                                 ", limit=", kNodeBytesMax, " printable characters)"));
}

std::vector<std::string> Sockets(const config::Config& config, const std::string& node) {
  if (!config.Text("socket").empty()) return {ExpandSocketName(config.Text("socket"), node)};
  std::vector<std::string> sockets = {kAbstractSocket};
  const std::string& run_dir = config.Text("run_dir");
  if (!run_dir.empty() && access(run_dir.c_str(), W_OK) == 0) sockets.push_back(absl::StrCat(run_dir, "/copsed.sock"));
  return sockets;
}

}  // namespace

config::Config NewConfig() {
  using config::Type;
  return config::Config(
      "copsed",
      config::WithServiceKeys({
          {.name = "node", .comment = "This node's name in the cluster. Empty: the host name."},
          {.name = "planner",
           .default_text = "127.0.0.1:7470",
           .comment = "The planner, HOST:PORT, or all planners of which one leads, with commas."},
          {.name = "socket",
           .comment =
               "Where clients connect: @NAME is an abstract socket, anything else a path; %h is the node's name.\n"
               "Empty: @copse, and RUN_DIR/copsed.sock if that folder is there to write to."},
          {.name = "admin_listen",
           .default_text = "127.0.0.1:7471",
           .comment = "Where copsectl can ask this daemon, HOST:PORT. Port 0: any (see --port-file)."},
          {.name = "data_listen",
           .default_text = "127.0.0.1",
           .comment =
               "This node's address for data between daemons, or an interface (eth1) or network (10.1.0.0/16) that "
               "has it: its interface is used. 0.0.0.0: all interfaces."},
          {.name = "net_devices",
           .type = Type::kList,
           .comment =
               "Network devices as UCX names them (eth0, mlx5_0:1), instead of data_listen's. Those with a colon "
               "are used by verbs, unless UCX_TLS is set."},
          {.name = "transport",
           .default_text = "auto",
           .comment = "Carries data between daemons: ucx; tcp, which lets no stranger in and needs tls_cert; auto: tcp "
                      "where tls_cert is given and UCX would run over IP, else ucx.",
           .choices = {"auto", "ucx", "tcp"}},
          {.name = "data_encryption",
           .type = Type::kBool,
           .default_text = "off",
           .comment = "With tcp: whether data is encrypted. It cannot be forged or changed in either case."},
          {.name = "dscp_short",
           .type = Type::kInteger,
           .default_text = "18",
           .comment = "With tcp: DSCP of the packets of short frames (18: AF21). 0: none.",
           .lowest = "0",
           .highest = "63"},
          {.name = "dscp_bulk",
           .type = Type::kInteger,
           .default_text = "10",
           .comment = "With tcp: DSCP of the packets of long frames (10: AF11). 0: none.",
           .lowest = "0",
           .highest = "63"},
          {.name = "trust_network",
           .type = Type::kBool,
           .default_text = "false",
           .comment = "Lets UCX run over IP beside tls_cert, although its TCP believes whoever can connect."},
          {.name = "tls_cert",
           .comment =
               "PEM file of this node's certificate, for spiffe://DOMAIN/node/NAME; %h is the node's name. For the "
               "planner, copsectl, and other daemons."},
          {.name = "insecure",
           .type = Type::kBool,
           .default_text = "false",
           .comment = "Lets this daemon listen and connect beyond loopback without tls_cert: nothing is encrypted."},
          {.name = "join_token_file",
           .comment = "File with the token that the planner asks of daemons, in its first line, readable by its owner "
                      "only. Read again at SIGHUP."},
          {.name = "memory_limit",
           .type = Type::kBytes,
           .default_text = "256MiB",
           .comment = "For messages in transit: teams that could need more are refused.",
           .lowest = "1MiB"},
          {.name = "client_memory_limit",
           .type = Type::kBytes,
           .default_text = "0",
           .comment = "For the queues and data areas of all clients together. 0: room for clients_max of the usual "
                      "size, 1.05 MiB, of which only what they use takes memory."},
          {.name = "clients_max",
           .type = Type::kInteger,
           .default_text = "1024",
           .comment = "Processes attached at once. The limit of open files may allow fewer.",
           .lowest = "1",
           .highest = "65536"},
          {.name = "quotas",
           .type = Type::kMapping,
           .comment =
               "What one user may have at most, with all jobs: {default: {teams: 64, memory: 25%}, groups: {hpc: "
               "{teams: 256}}, users: {alice: {teams: unlimited}}}.\n"
               "Of clients, teams, memory, posts, client_memory, regions, region_bytes, sparse_bytes. Empty: of each "
               "seven "
               "eighths of what there is, as the last one is for users with little. May change while running."},
          {.name = "heartbeat",
           .type = Type::kDuration,
           .default_text = "500ms",
           .comment = "Between neighbors in a team's trees. May change while running (SIGHUP).",
           .lowest = "1ms"},
          {.name = "node_timeout",
           .type = Type::kDuration,
           .default_text = "10s",
           .comment = "A neighbor that was silent for so long is declared dead. May change while running.",
           .lowest = "10ms"},
          {.name = "team_formation_timeout",
           .type = Type::kDuration,
           .default_text = "30s",
           .comment = "How long teams, and calls whose plans have to be made first, wait for a planner that is away. "
                      "Clients wait 5 s longer for a team; as long as the planner's key of this name, or longer.",
           .lowest = "10ms"},
          {.name = "sub_teams",
           .default_text = "daemons",
           .comment =
               "Sub-teams of teams whose daemons all say `daemons` are formed by these if they have the plans or the "
               "planner is away; others by the planner.",
           .choices = {"daemons", "planner"}},
          {.name = "drain_timeout",
           .type = Type::kDuration,
           .default_text = "10s",
           .comment = "After SIGTERM: how long clients may finish. May change while running."},
          {.name = "spin_us",
           .type = Type::kInteger,
           .default_text = "200",
           .comment = "Looking for work before going to sleep, in microseconds, when work came soon lately and nobody "
                      "computes on this core. May change while running.",
           .lowest = "0",
           .highest = "10000"},
          {.name = "trace_records",
           .type = Type::kInteger,
           .default_text = "65536",
           .comment =
               "What happened lately, kept for `copsectl trace`: records of 32 bytes, rounded up to a power of two. 0: "
               "none.",
           .lowest = "0",
           .highest = "4194304"},
          {.name = "run_dir",
           .default_text = "/run/copse",
           .comment = "Folder of copsed.sock, and of copsed-NODE.crash, which is written when the daemon dies of an "
                      "error of its own."},
      }));
}

bool IsLive(const std::string& key) {
  return std::find(std::begin(kLiveKeys), std::end(kLiveKeys), key) != std::end(kLiveKeys);
}

absl::StatusOr<LiveSettings> ReadLiveSettings(const config::Config& config) {
  LiveSettings live;
  live.heartbeat = config.Duration("heartbeat");
  live.node_timeout = config.Duration("node_timeout");
  live.drain_timeout = config.Duration("drain_timeout");
  live.spin = absl::Microseconds(config.Integer("spin_us"));
  live.log_file = config.Text("log_file");
  ASSIGN_OR_RETURN(live.log_level, ParseLogLevel(config.Text("log_level")));
  ASSIGN_OR_RETURN(live.quotas, ReadQuotas(config.Text("quotas")));
  ASSIGN_OR_RETURN(live.join_token, ReadJoinToken(config.Text("join_token_file")));
  if (live.node_timeout < 2 * live.heartbeat) {
    return absl::InvalidArgumentError(
        absl::StrCat("node_timeout: shorter than two heartbeats (node_timeout=", config.Text("node_timeout"),
                     ", heartbeat=", config.Text("heartbeat"), ")"));
  }
  return live;
}

absl::StatusOr<Settings> ReadSettings(const config::Config& config) {
  Settings settings;
  ASSIGN_OR_RETURN(settings.live, ReadLiveSettings(config));
  ASSIGN_OR_RETURN(settings.node, NodeName(config));
  settings.admin_listen = config.Text("admin_listen");
  settings.insecure = config.Bool("insecure");
  settings.core_memory = config.Bool("core_memory");
  const std::string& run_dir = config.Text("run_dir");
  if (!run_dir.empty()) settings.crash_file = absl::StrCat(run_dir, "/copsed-", settings.node, ".crash");
  ASSIGN_OR_RETURN(settings.tls, config::TlsFilesOf(config, settings.node));
  const bool may_leave = settings.insecure || settings.tls.given();
  ASSIGN_OR_RETURN(settings.planners, ParsePlanners(config.Text("planner"), may_leave));
  RETURN_IF_ERROR(CheckAdminListen(settings.admin_listen, may_leave));
  TransportWishes wishes;
  wishes.transport = config.Text("transport");
  wishes.network = {config.Text("data_listen"), config.List("net_devices"), settings.insecure};
  wishes.has_identity = settings.tls.given();
  wishes.trust_network = config.Bool("trust_network");
  ASSIGN_OR_RETURN(settings.transport, ChooseTransport(wishes, getenv("UCX_TLS"), InterfaceAddresses()));
  settings.encrypts_data = config.Bool("data_encryption");
  settings.dscp = {static_cast<uint8_t>(config.Integer("dscp_short")),
                   static_cast<uint8_t>(config.Integer("dscp_bulk"))};
  settings.sockets = Sockets(config, settings.node);
  settings.memory_limit_bytes = config.Bytes("memory_limit");
  settings.client_memory_limit_bytes = config.Bytes("client_memory_limit");
  settings.trace_records = static_cast<uint32_t>(config.Integer("trace_records"));
  settings.team_formation_timeout = config.Duration("team_formation_timeout");
  settings.daemons_form_sub_teams = config.Text("sub_teams") == "daemons";
  settings.clients_max = static_cast<uint32_t>(config.Integer("clients_max"));
  return settings;
}

absl::Status CheckPlaces(const config::Config& config, const Settings& settings) {
  RETURN_IF_ERROR(config::CheckWritable("log_file", settings.live.log_file));
  // systemd's socket replaces a path, and the socket in run_dir is optional, so only a configured path is checked.
  const std::string& socket = settings.sockets.front();
  if (config.Text("socket").empty() || socket[0] == '@' || getenv("LISTEN_FDS") != nullptr) return absl::OkStatus();
  return config::CheckFolder("socket", socket);
}

}  // namespace copse::daemon
