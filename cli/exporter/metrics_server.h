// SPDX-License-Identifier: Apache-2.0
//
// Serves metrics to Prometheus over HTTP.
#ifndef COPSE_CLI_EXPORTER_METRICS_SERVER_H_
#define COPSE_CLI_EXPORTER_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/metric_family.h"

namespace copse::exporter {

// A MetricsServer answers GET /metrics with what `collect` returns, in Prometheus's text format, and GET / with a link
// there; all else is refused. It calls `collect` on threads of its own, one call at a time. A client that does not read
// or write is left after 5 s.
class MetricsServer {
 public:
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;

  // Listens on `address`, HOST:PORT; port 0: any. Errors: INVALID_ARGUMENT for another form; UNAVAILABLE if it is
  // taken.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address, Collect collect);
  virtual ~MetricsServer() = default;

  // Returns HOST:PORT.
  virtual std::string address() const = 0;
};

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_METRICS_SERVER_H_
