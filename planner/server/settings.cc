// SPDX-License-Identifier: Apache-2.0
#include "planner/server/settings.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/config/places.h"
#include "base/config/service_keys.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "planner/server/rules_file.h"
#include "planner/topology/topology_yaml.h"
#include "rpc/credentials.h"

namespace copse::planner {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& key, const std::string& path) {
  std::optional<std::string> text = copse::ReadFile(path);
  if (!text.has_value()) {
    return absl::NotFoundError(
        absl::StrCat(key, ": cannot read the file: ", strerror(errno), " (", key, "=", path, ")"));
  }
  // An editor that writes a file in place empties it first.
  if (text->empty()) return absl::NotFoundError(absl::StrCat(key, ": the file is empty (", key, "=", path, ")"));
  return *std::move(text);
}

bool IsWildcard(const std::string& address) {
  return absl::StartsWith(address, "0.0.0.0:") || absl::StartsWith(address, "[::]:");
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

uint32_t UsableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1;
}

absl::StatusOr<ClusterModel> ReadModel(const config::Config& config) {
  ClusterModel model;
  if (const std::string& path = config.Text("topology"); !path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile("topology", path));
    ASSIGN_OR_RETURN(topology::Topology topology, topology::ParseTopologyYaml(text, path));
    model.topology = std::move(topology);
  }
  if (const std::string& path = config.Text("rules"); !path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile("rules", path));
    ASSIGN_OR_RETURN(model.rules, ParseRules(text, path));
  }
  // Only daemons on this machine can reach a planner that listens on loopback.
  if (rpc::IsLoopback(config.Text("listen"))) model.shared_cores = UsableCores();
  return model;
}

absl::Status ReadStore(const config::Config& config, Settings& settings) {
  const std::string& state = config.Text("state");
  settings.store_text = config.Text("store");
  if (settings.store_text.empty() && !state.empty()) {
    settings.store_key = "state";
    settings.store_text = absl::StrCat("sqlite:", state);
  }
  ASSIGN_OR_RETURN(settings.store, ParseStoreAddress(settings.store_text));
  if (settings.store_text.empty()) settings.store_text = "memory";
  settings.lease = config.Duration("lease");
  settings.advertise = config.Text("advertise");
  if (settings.store.etcd.empty()) return absl::OkStatus();
  const std::string& reached = settings.advertise.empty() ? settings.listen : settings.advertise;
  const absl::Status address = rpc::CheckAddress(reached);
  if (!address.ok()) return absl::InvalidArgumentError(absl::StrCat("advertise: ", address.message()));
  if (settings.advertise.empty() && IsWildcard(settings.listen)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "advertise: needed, since nobody can connect to the address of listen (listen=", settings.listen, ")"));
  }
  if (settings.store.is_encrypted) {
    // Its own files, or else those by which the planner proves who it is.
    const bool has_own = !config.Text("etcd_ca").empty() || !config.Text("etcd_cert").empty();
    const std::string prefix = has_own ? "etcd_" : "tls_";
    for (const auto& [name, path] : {std::pair{"ca", &settings.etcd_tls.authorities},
                                     {"cert", &settings.etcd_tls.certificate},
                                     {"key", &settings.etcd_tls.key}}) {
      const std::string key = prefix + name;
      *path = config.Text(key);
      if (path->empty()) {
        return absl::InvalidArgumentError(absl::StrCat(key, ": needed by etcds (store=", settings.store_text, ")"));
      }
      RETURN_IF_ERROR(ReadFile(key, *path).status());
    }
    return absl::OkStatus();
  }
  for (const std::string& member : settings.store.etcd) {
    const absl::Status plain = rpc::CredentialsFactory({settings.insecure}).CheckChannel(member);
    if (!plain.ok()) return absl::InvalidArgumentError(absl::StrCat("store: ", plain.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<LiveSettings> ReadLive(const config::Config& config) {
  LiveSettings live;
  ASSIGN_OR_RETURN(live.log_level, ParseLogLevel(config.Text("log_level")));
  live.log_file = config.Text("log_file");
  live.coordinator.team_formation_timeout = config.Duration("team_formation_timeout");
  live.coordinator.prepare_timeout = config.Duration("prepare_timeout");
  live.coordinator.window = static_cast<uint32_t>(config.Integer("window"));
  live.coordinator.team_size_max = static_cast<uint32_t>(config.Integer("team_size_max"));
  if ((live.coordinator.window & (live.coordinator.window - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("window: not a power of two (window=", live.coordinator.window, ", limit=2-4096)"));
  }
  absl::StatusOr<std::vector<std::string>> tokens = rpc::ReadTokenFile(config.Text("join_token_file"));
  if (!tokens.ok()) {
    return absl::Status(tokens.status().code(), absl::StrCat("join_token_file: ", tokens.status().message()));
  }
  live.coordinator.join_tokens = *std::move(tokens);
  ASSIGN_OR_RETURN(live.model, ReadModel(config));
  return live;
}

}  // namespace

config::Config NewConfig() {
  using config::Type;
  return config::Config(
      "copse-planner",
      config::WithServiceKeys({
          {.name = "listen",
           .default_text = "127.0.0.1:7470",
           .comment = "Where daemons and copsectl connect, HOST:PORT. Port 0: any (see --port-file)."},
          {.name = "store",
           .comment =
               "Teams and decisions that survive a restart: sqlite:FILE for one planner, or for several, of which one "
               "leads, etcds://HOST:PORT[,HOST:PORT...]/PREFIX (etcd:// without encryption). Empty: they do not."},
          {.name = "state", .comment = "SQLite file, unless store is given; an older name of store: sqlite:FILE."},
          {.name = "advertise",
           .comment = "HOST:PORT by which daemons and other planners reach this one, with etcd. Empty: as listen."},
          {.name = "lease",
           .type = Type::kDuration,
           .default_text = "10s",
           .comment = "With etcd: a leader that is not heard for so long is replaced.",
           .lowest = "2s"},
          {.name = "tls_cert",
           .comment =
               "PEM file of this planner's certificate, for spiffe://DOMAIN/planner/NAME; %h is the host's name. "
               "Replaced files are used within 10 s."},
          {.name = "etcd_ca",
           .comment = "With etcds: PEM file of the authority that signed etcd's certificates. Empty: as tls_ca."},
          {.name = "etcd_cert", .comment = "With etcds: PEM file with a certificate for etcd. Empty: as tls_cert."},
          {.name = "etcd_key", .comment = "With etcds: PEM file with its key."},
          {.name = "topology",
           .comment = "The cluster's topology, YAML. Empty: all nodes hang on one switch. Read again at SIGHUP."},
          {.name = "rules", .comment = "Algorithms that are not the planner's choice, YAML. Read again at SIGHUP."},
          {.name = "insecure",
           .type = Type::kBool,
           .default_text = "false",
           .comment = "Lets this planner listen beyond loopback without tls_cert: nothing is encrypted, and whoever "
                      "connects is an administrator."},
          {.name = "run_dir",
           .comment = "Folder of the sockets for this machine's users: admin.sock, whose users are operators, and "
                      "view.sock, whose users see everything and change their own teams. Empty: none."},
          {.name = "private_data",
           .type = Type::kBool,
           .default_text = "false",
           .comment = "Hides jobs, teams' names and incarnations from viewers, but for their own teams."},
          {.name = "join_token_file",
           .comment =
               "File with the token that daemons must show, readable by its owner only. Empty: none is asked for. A "
               "second line is accepted, too, while tokens are replaced. Read again at SIGHUP."},
          {.name = "team_formation_timeout",
           .type = Type::kDuration,
           .default_text = "30s",
           .comment = "From the first rank of a team to the last. May change while running.",
           .lowest = "10ms"},
          {.name = "prepare_timeout",
           .type = Type::kDuration,
           .default_text = "10s",
           .comment = "For daemons to accept plans. May change while running.",
           .lowest = "10ms"},
          {.name = "node_timeout",
           .type = Type::kDuration,
           .default_text = "10s",
           .comment =
               "A daemon that answers nothing for so long is away: it takes part in no new teams until it is back.",
           .lowest = "10ms"},
          {.name = "window",
           .type = Type::kInteger,
           .default_text = "8",
           .comment = "Calls of a team that may be in flight; a power of two.",
           .lowest = "2",
           .highest = "4096"},
          {.name = "team_size_max",
           .type = Type::kInteger,
           .default_text = "65536",
           .comment = "Ranks of a team.",
           .lowest = "1",
           .highest = "1048576"},
      }));
}

absl::StatusOr<Settings> ReadSettings(const config::Config& config) {
  Settings settings;
  settings.listen = config.Text("listen");
  settings.insecure = config.Bool("insecure");
  settings.core_memory = config.Bool("core_memory");
  settings.run_dir = config.Text("run_dir");
  settings.private_data = config.Bool("private_data");
  settings.node_timeout = config.Duration("node_timeout");
  ASSIGN_OR_RETURN(settings.tls, config::TlsFilesOf(config, HostName()));
  RETURN_IF_ERROR(ReadStore(config, settings));
  if (const absl::Status address = rpc::HostOf(settings.listen).status(); !address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("listen: ", address.message()));
  }
  if (!settings.tls.given()) {
    RETURN_IF_ERROR(rpc::CredentialsFactory({settings.insecure}).CheckServer(settings.listen));
  }
  ASSIGN_OR_RETURN(settings.live, ReadLive(config));
  return settings;
}

absl::Status CheckPlaces(const Settings& settings) {
  RETURN_IF_ERROR(config::CheckWritable(settings.store_key, settings.store.file));
  return config::CheckWritable("log_file", settings.live.log_file);
}

}  // namespace copse::planner
