// SPDX-License-Identifier: Apache-2.0
//
// Serves what a program shows over HTTP: metrics to Prometheus, and pages.
#ifndef COPSE_CLI_EXPORTER_HTTP_SERVER_H_
#define COPSE_CLI_EXPORTER_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/exporter/https_identity.h"
#include "httplib.h"
#include "prometheus/metric_family.h"

namespace copse::exporter {

// Routes says which handler answers what. Handlers run on the server's thread, one at a time, and must outlive the
// server.
class Routes {
 public:
  // `identity` is null without TLS.
  Routes(httplib::Server* server, const HttpsIdentity* identity) : server_(server), identity_(identity) {}

  // With TLS, a client that has no certificate of the cluster gets 403.
  void Add(const std::string& path, httplib::Server::Handler handler);
  // The handler decides who gets an answer.
  void AddOpen(const std::string& path, httplib::Server::Handler handler);

 private:
  httplib::Server* const server_;
  const HttpsIdentity* const identity_;
};

// An HttpServer answers requests on a thread of its own, one request a connection. No client holds the thread: one that
// is slow, sends nothing or reads nothing holds its connection and answer alone, until its patience
// (http_connection.h) or the limits below end it.
class HttpServer {
 public:
  // Beyond one of these the connections that were accepted first are ended.
  static constexpr size_t kConnectionsMax = 512;
  static constexpr size_t kAnswerBytesMax = 128 << 20;  // answers that have not been taken yet

  // Adds the handlers, before the server listens.
  using AddRoutes = std::function<void(Routes* routes)>;

  // Listens on `address`, HOST:PORT; port 0: any. With `identity`, by HTTPS. Errors: INVALID_ARGUMENT for another form;
  // UNAVAILABLE if it is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           std::unique_ptr<HttpsIdentity> identity,
                                                           const AddRoutes& add_routes);
  virtual ~HttpServer() = default;

  // Returns HOST:PORT.
  virtual std::string address() const = 0;
};

// Answers GET /metrics with what `collect` returns, in Prometheus's text format.
void ServeMetrics(std::function<std::vector<prometheus::MetricFamily>()> collect, Routes* routes);

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_HTTP_SERVER_H_
