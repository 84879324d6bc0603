// SPDX-License-Identifier: Apache-2.0
//
// copse-web shows a cluster's planner to Prometheus and browsers.
#include <unistd.h>

#include <memory>
#include <string>
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
#include "cli/web/page_server.h"
#include "cli/web/planner_view.h"

namespace copse::web {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);
constexpr int kUnavailable = 503;

config::Config NewConfig() {
  std::vector<config::Key> keys = exporter::ViewerKeys("127.0.0.1:7473");
  keys.push_back({.name = "planner",
                  .default_text = "unix:/run/copse/view.sock",
                  .comment = "HOST:PORT or unix:PATH; of several planners all, with commas."});
  keys.push_back(
      {.name = "page_file",
       .default_text = "/run/copse-web/page",
       .comment = "Takes the page's address with its token, for `copsectl page`; its owner alone reads it."});
  keys.push_back({.name = "hosts",
                  .type = config::Type::kList,
                  .comment = "Names by which browsers may reach the page, besides those of loopback."});
  keys.push_back({.name = "viewers",
                  .type = config::Type::kInteger,
                  .default_text = "32",
                  .comment = "How many look at the page at once; others are told to come again.",
                  .lowest = "1",
                  .highest = "1000"});
  return config::Config("copse-web", std::move(keys));
}

std::vector<prometheus::MetricFamily> Metrics(const PlannerView& view) {
  const std::shared_ptr<const Figures> figures = view.figures();
  const bool is_up = figures->status.ok();
  return exporter::PlannerMetrics(is_up ? &figures->planner : nullptr, is_up ? &figures->stats : nullptr, kVersion);
}

void AnswerHealth(const PlannerView& view, httplib::Response* response) {
  const absl::Status status = view.figures()->status;
  if (!status.ok()) response->status = kUnavailable;
  response->set_content(status.ok() ? "ok\n" : std::string(status.message()) + "\n", "text/plain; charset=utf-8");
}

PageSite SiteOf(const config::Config& config) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  PageSite site{.is_https = exporter::IsHttps(config), .names = config.List("hosts")};
  site.names.push_back(host);
  return site;
}

int Main(int argc, char** argv) {
  exporter::PrepareViewer();
  config::Config config = NewConfig();
  absl::StatusOr<std::unique_ptr<ctl::AdminClient>> client = nullptr;
  const config::ProgramDescription description = {
      .summary = "Shows a cluster's planner to Prometheus, at /metrics, and to browsers; `copsectl page` prints where.",
      .default_file = "/etc/copse/web.yaml",
      .flags = {exporter::PortFileFlag(),
                {.name = "planner", .value_name = "ADDRESS", .help = "the key planner", .sets_key = true},
                {.name = "listen", .value_name = "HOST:PORT", .help = "the key listen", .sets_key = true}},
      .read = [&client](const config::Config& loaded) {
        client = exporter::Connect(loaded, "planner");
        return client.status();
      }};
  const config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;

  const std::unique_ptr<PlannerView> view = PlannerView::Start(*std::move(client), kPause);
  const std::string token = NewToken();
  const PageSite site = SiteOf(config);
  PageServer page(view.get(), token, site, static_cast<size_t>(config.Integer("viewers")));
  const auto add_routes = [&view, &page](exporter::Routes* routes) {
    exporter::ServeMetrics([&view] { return Metrics(*view); }, routes);
    routes->Add("/healthz",
                [&view](const httplib::Request&, httplib::Response& response) { AnswerHealth(*view, &response); });
    page.AddRoutes(routes);
  };
  // Metrics are there without the page, too.
  return exporter::ServeUntilSignal(config, started, add_routes, [&](const std::string& address) {
    const absl::Status status = WritePageFile(config.Text("page_file"), site.AddressOf(address), token);
    if (!status.ok()) COPSE_LOG(kWarning, "nobody can see the page: ", status.message());
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace copse::web

int main(int argc, char** argv) { return copse::web::Main(argc, argv); }
