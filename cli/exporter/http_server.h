// SPDX-License-Identifier: Apache-2.0
//
// Serves what a program shows over HTTP: metrics to Prometheus, and pages.
#ifndef COPSE_CLI_EXPORTER_HTTP_SERVER_H_
#define COPSE_CLI_EXPORTER_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "httplib.h"
#include "prometheus/metric_family.h"

namespace copse::exporter {

// An HttpServer answers requests on a few threads of its own, one request a connection, so that no client holds a
// thread between requests. A client that sends nothing is left after 1 s, one that stops reading or writing after 5 s.
class HttpServer {
 public:
  // Adds the handlers, before the server listens. They run on several threads at once, and must outlive the server.
  using AddRoutes = std::function<void(httplib::Server* server)>;

  // Listens on `address`, HOST:PORT; port 0: any. Errors: INVALID_ARGUMENT for another form; UNAVAILABLE if it is
  // taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, const AddRoutes& add_routes);
  virtual ~HttpServer() = default;

  // Returns HOST:PORT.
  virtual std::string address() const = 0;
};

// Answers GET /metrics with what `collect` returns, in Prometheus's text format. It makes one call at a time.
void ServeMetrics(std::function<std::vector<prometheus::MetricFamily>()> collect, httplib::Server* server);

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_HTTP_SERVER_H_
