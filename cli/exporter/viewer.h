// SPDX-License-Identifier: Apache-2.0
//
// What programs share that show a server's state over HTTP: settings, their client of that server, and how they run.
#ifndef COPSE_CLI_EXPORTER_VIEWER_H_
#define COPSE_CLI_EXPORTER_VIEWER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "cli/client/admin_client.h"
#include "cli/exporter/http_server.h"

namespace copse::exporter {

// Returns the keys `listen` (default HOST:PORT), `insecure` and those of a viewer's certificate.
std::vector<config::Key> ViewerKeys(const std::string& listen);

// Creates a client of the server that the key `server` names: "daemon" or "planner". Errors: INVALID_ARGUMENT if the
// program would listen beyond loopback without certificate and without `insecure`; those of config::CompleteTlsFiles
// and AdminClient::Create.
absl::StatusOr<std::unique_ptr<ctl::AdminClient>> Connect(const config::Config& config, const std::string& server);

// Returns whether the program serves by HTTPS: beyond loopback, unless `insecure`.
bool IsHttps(const config::Config& config);

// Blocks the signals that end the program, and prepares gRPC and the log. To be called before there are threads.
void PrepareViewer();
// Returns the flag --port-file FILE, into which ServeUntilSignal writes HOST:PORT once it listens.
config::Flag PortFileFlag();
// Serves on `listen` until SIGTERM or SIGINT, and returns the exit code. `listening` is called with HOST:PORT before;
// its error ends the program. Null: nothing is done then.
int ServeUntilSignal(const config::Config& config, const config::Started& started,
                     const HttpServer::AddRoutes& add_routes,
                     const std::function<absl::Status(const std::string& address)>& listening = nullptr);

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_VIEWER_H_
