// SPDX-License-Identifier: Apache-2.0
//
// copse-exporter shows a node's daemon to Prometheus.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/config/tls_files.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/ctl/admin_client.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/metrics_server.h"
#include "rpc/credentials.h"
#include "rpc/prepare_grpc.h"

namespace copse::exporter {
namespace {

constexpr char kPortFile[] = "port-file";
// Prometheus gives a scrape up after 10 s.
constexpr absl::Duration kPatience = absl::Seconds(4);

config::Config NewConfig() {
  using config::Type;
  return config::Config(
      "copse-exporter",
      {{.name = "listen",
        .default_text = "127.0.0.1:7472",
        .comment = "Where Prometheus asks, HOST:PORT. Port 0: any."},
       {.name = "daemon", .default_text = "127.0.0.1:7471", .comment = "This node's daemon: its admin_listen."},
       {.name = "insecure",
        .type = Type::kBool,
        .default_text = "false",
        .comment = "Lets it listen beyond loopback, where everybody may read, and reach the daemon in plain text."},
       {.name = "tls_cert", .comment = "PEM file of a viewer's certificate, for the daemon."},
       {.name = "tls_key", .comment = "PEM file of its private key, readable by its owner only."},
       {.name = "tls_ca", .comment = "PEM file of the authorities whose certificates are believed."},
       {.name = "tls_crl_dir", .comment = "Folder with their revocation lists, PEM. Empty: nothing is revoked."}});
}

absl::StatusOr<std::unique_ptr<ctl::AdminClient>> Connect(const config::Config& config) {
  const std::string& listen = config.Text("listen");
  RETURN_IF_ERROR(rpc::CheckAddress(listen));
  if (!rpc::IsLoopback(listen) && !config.Bool("insecure")) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: beyond loopback everybody could read it: set insecure: true (listen=", listen, ")"));
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  ASSIGN_OR_RETURN(const config::TlsFiles tls, config::CompleteTlsFiles({.certificate = config.Text("tls_cert"),
                                                                         .key = config.Text("tls_key"),
                                                                         .authorities = config.Text("tls_ca"),
                                                                         .revoked = config.Text("tls_crl_dir")},
                                                                        host));
  return ctl::AdminClient::Create({.endpoint = config.Text("daemon"),
                                   .insecure = config.Bool("insecure"),
                                   .token_file = "",
                                   .tls = tls,
                                   .server = "node",
                                   .timeout = kPatience});
}

int Main(int argc, char** argv) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  rpc::PrepareGrpc();
  config::Config config = NewConfig();
  config::ProgramDescription description;
  description.summary = "Shows this node's daemon to Prometheus, at /metrics.";
  description.default_file = "/etc/copse/exporter.yaml";
  description.flags = {{.name = kPortFile, .value_name = "FILE", .help = "write HOST:PORT there once it listens"}};
  absl::StatusOr<std::unique_ptr<ctl::AdminClient>> client = nullptr;
  description.read = [&client](const config::Config& loaded) {
    client = Connect(loaded);
    return client.status();
  };
  const config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;

  const auto collect = [daemon = client->get()] {
    daemon->Renew();
    const absl::StatusOr<v1::StatusAnswer> status = daemon->Call(&ctl::DaemonAdmin::Status, {});
    if (!status.ok()) COPSE_LOG(kWarning, "the daemon does not answer: ", status.status().message());
    return DaemonMetrics(status.ok() ? &*status : nullptr, kVersion);
  };
  const absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Start(config.Text("listen"), collect);
  if (!server.ok()) return config::Fail(config, server.status());
  if (const auto file = started.flags.find(kPortFile); file != started.flags.end()) {
    std::ofstream(file->second) << (*server)->address() << "\n";
  }
  int signal = 0;
  sigwait(&ends, &signal);
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::exporter

int main(int argc, char** argv) { return copse::exporter::Main(argc, argv); }
