// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/viewer.h"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/config/service_keys.h"
#include "base/config/tls_files.h"
#include "base/process/journal.h"
#include "base/status_macros.h"
#include "rpc/credentials.h"
#include "rpc/prepare_grpc.h"

namespace copse::exporter {
namespace {

constexpr char kPortFile[] = "port-file";
// Prometheus gives a scrape up after 10 s.
constexpr absl::Duration kPatience = absl::Seconds(4);

sigset_t EndingSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  return ends;
}

absl::Status Named(const std::string& key, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(key, ": ", status.message()));
}

absl::StatusOr<config::TlsFiles> TlsOf(const config::Config& config) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return config::TlsFilesOf(config, host);
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartServer(const config::Config& config,
                                                        const HttpServer::AddRoutes& add_routes) {
  std::unique_ptr<HttpsIdentity> identity;
  if (IsHttps(config)) {
    ASSIGN_OR_RETURN(const config::TlsFiles tls, TlsOf(config));
    ASSIGN_OR_RETURN(identity, HttpsIdentity::Open(tls));
  }
  return HttpServer::Start(config.Text("listen"), std::move(identity), add_routes);
}

}  // namespace

std::vector<config::Key> ViewerKeys(const std::string& listen) {
  using config::Type;
  return config::WithTlsKeys({
      {.name = "listen",
       .default_text = listen,
       .comment = "Where Prometheus and browsers ask, HOST:PORT. Port 0: any."},
      {.name = "insecure",
       .type = Type::kBool,
       .default_text = "false",
       .comment = "Lets it listen beyond loopback in plain text, where everybody may read, and ask so, too."},
      {.name = "tls_cert",
       .comment = "PEM file of a viewer's certificate, for the server that it asks, and for HTTPS beyond loopback."},
  });
}

absl::StatusOr<std::unique_ptr<ctl::AdminClient>> Connect(const config::Config& config, const std::string& server) {
  const std::string& listen = config.Text("listen");
  RETURN_IF_ERROR(Named("listen", rpc::CheckAddress(listen)));
  RETURN_IF_ERROR(Named(server, rpc::ParseAddresses(config.Text(server)).status()));
  ASSIGN_OR_RETURN(const config::TlsFiles tls, TlsOf(config));
  if (IsHttps(config) && !tls.given()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "listen: beyond loopback everybody could read it: set tls_cert, tls_key and tls_ca, or insecure: true (listen=",
        listen, ")"));
  }
  return ctl::AdminClient::Create({.endpoint = config.Text(server),
                                   .insecure = config.Bool("insecure"),
                                   .token_file = "",
                                   .tls = tls,
                                   .server = server == "daemon" ? "node" : server,
                                   .by_keys = true,
                                   .timeout = kPatience});
}

bool IsHttps(const config::Config& config) {
  return !rpc::IsLoopback(config.Text("listen")) && !config.Bool("insecure");
}

void PrepareViewer() {
  const sigset_t ends = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  rpc::PrepareGrpc();
  LogToJournal();
}

config::Flag PortFileFlag() {
  return {.name = kPortFile, .value_name = "FILE", .help = "write HOST:PORT there once it listens"};
}

int ServeUntilSignal(const config::Config& config, const config::Started& started,
                     const HttpServer::AddRoutes& add_routes,
                     const std::function<absl::Status(const std::string& address)>& listening) {
  const auto server = StartServer(config, add_routes);
  if (!server.ok()) return config::Fail(config, server.status());
  if (listening) {
    if (const absl::Status status = listening((*server)->address()); !status.ok()) return config::Fail(config, status);
  }
  if (const auto file = started.flags.find(kPortFile); file != started.flags.end()) {
    std::ofstream(file->second) << (*server)->address() << "\n";
  }
  const sigset_t ends = EndingSignals();
  int signal = 0;
  sigwait(&ends, &signal);
  return config::kExitDone;
}

}  // namespace copse::exporter
