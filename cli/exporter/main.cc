// SPDX-License-Identifier: Apache-2.0
//
// copse-exporter shows a node's daemon to Prometheus.
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/client/admin_client.h"
#include "cli/exporter/http_server.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/viewer.h"

namespace copse::exporter {
namespace {

constexpr char kIndex[] = "<html><title>Copse</title><a href=\"metrics\">metrics</a></html>\n";

config::Config NewConfig() {
  std::vector<config::Key> keys = ViewerKeys("127.0.0.1:7472");
  keys.push_back(
      {.name = "daemon", .default_text = "127.0.0.1:7471", .comment = "This node's daemon: its admin_listen."});
  return config::Config("copse-exporter", std::move(keys));
}

std::vector<prometheus::MetricFamily> Ask(ctl::AdminClient* daemon) {
  daemon->Renew();
  v1::StatusRequest request;
  request.set_latencies(true);
  const absl::StatusOr<v1::StatusAnswer> status = daemon->Call(ctl::DaemonAdmin::Status, request);
  if (status.ok()) {
    SetLogNode(status->node());
  } else {
    COPSE_LOG(kWarning, "the daemon does not answer: ", status.status().message());
  }
  return DaemonMetrics(status.ok() ? &*status : nullptr, kVersion);
}

int Main(int argc, char** argv) {
  PrepareViewer();
  config::Config config = NewConfig();
  absl::StatusOr<std::unique_ptr<ctl::AdminClient>> client = nullptr;
  const config::ProgramDescription description = {.summary = "Shows this node's daemon to Prometheus, at /metrics.",
                                                  .default_file = "/etc/copse/exporter.yaml",
                                                  .flags = {PortFileFlag()},
                                                  .read = [&client](const config::Config& loaded) {
                                                    client = Connect(loaded, "daemon");
                                                    return client.status();
                                                  }};
  const config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;

  return ServeUntilSignal(config, started, [daemon = client->get()](Routes* routes) {
    ServeMetrics([daemon] { return Ask(daemon); }, routes);
    routes->Add(
        "/", [](const httplib::Request&, httplib::Response& response) { response.set_content(kIndex, "text/html"); });
  });
}

}  // namespace
}  // namespace copse::exporter

int main(int argc, char** argv) { return copse::exporter::Main(argc, argv); }
