// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/http_server.h"

#include <latch>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "prometheus/text_serializer.h"
#include "rpc/network_listener.h"

namespace copse::exporter {
namespace {

constexpr char kMetrics[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr int kForbidden = 403;
// Each connection has a thread while it is open, and browsers open some before they have anything to ask.
constexpr size_t kThreads = 16;
constexpr time_t kPatienceSeconds = 5;
constexpr time_t kIdleSeconds = 1;
// A request has no body.
constexpr size_t kPayloadBytesMax = 1024;

class ListeningServer final : public HttpServer {
 public:
  ListeningServer(std::unique_ptr<HttpsIdentity> identity, const AddRoutes& add_routes)
      : identity_(std::move(identity)), server_(NewServer()) {
    server_->new_task_queue = [this] {
      runs_.count_down();
      return new httplib::ThreadPool(kThreads);
    };
    server_->set_read_timeout(kPatienceSeconds);
    server_->set_write_timeout(kPatienceSeconds);
    server_->set_keep_alive_timeout(kIdleSeconds);
    server_->set_keep_alive_max_count(1);
    server_->set_payload_max_length(kPayloadBytesMax);
    Routes routes(server_.get(), identity_.get());
    add_routes(&routes);
  }
  ~ListeningServer() override {
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen(const std::string& address) {
    RETURN_IF_ERROR(rpc::ListenOn("listen", address).status());
    const size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    int port = 0;
    if (!absl::SimpleAtoi(address.substr(colon + 1), &port)) return absl::InvalidArgumentError("listen: no port");
    const std::string name = host;
    if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
    if (port == 0) {
      port = server_->bind_to_any_port(host.c_str());
    } else if (!server_->bind_to_port(host.c_str(), port)) {
      port = -1;
    }
    if (port < 0) return absl::UnavailableError(absl::StrCat("listen: cannot listen there (listen=", address, ")"));
    address_ = absl::StrCat(name, ":", port);
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    runs_.wait();  // stop() ends no server that does not run yet
    return absl::OkStatus();
  }
  std::string address() const override { return address_; }

 private:
  std::unique_ptr<httplib::Server> NewServer() const {
    if (identity_ == nullptr) return std::make_unique<httplib::Server>();
    return std::make_unique<httplib::SSLServer>([this](SSL_CTX& context) { return identity_->Prepare(&context); });
  }

  const std::unique_ptr<HttpsIdentity> identity_;
  const std::unique_ptr<httplib::Server> server_;
  std::latch runs_{1};
  std::string address_;
  std::thread thread_;
};

}  // namespace

void Routes::Add(const std::string& path, httplib::Server::Handler handler) {
  if (identity_ == nullptr) return AddOpen(path, std::move(handler));
  AddOpen(path, [identity = identity_, handler = std::move(handler)](const httplib::Request& request,
                                                                     httplib::Response& response) {
    const absl::Status status = identity->Check(request.ssl);
    if (status.ok()) return handler(request, response);
    response.status = kForbidden;
    response.set_content(absl::StrCat(status.message(), "\n"), kText);
  });
}

void Routes::AddOpen(const std::string& path, httplib::Server::Handler handler) {
  server_->Get(path, std::move(handler));
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              std::unique_ptr<HttpsIdentity> identity,
                                                              const AddRoutes& add_routes) {
  auto server = std::make_unique<ListeningServer>(std::move(identity), add_routes);
  RETURN_IF_ERROR(server->Listen(address));
  return std::unique_ptr<HttpServer>(std::move(server));
}

void ServeMetrics(std::function<std::vector<prometheus::MetricFamily>()> collect, Routes* routes) {
  // Shared, since httplib copies handlers.
  auto mutex = std::make_shared<Mutex>();
  routes->Add("/metrics", [mutex, collect = std::move(collect)](const httplib::Request&, httplib::Response& response) {
    const MutexLock lock(mutex.get());
    response.set_content(prometheus::TextSerializer().Serialize(collect()), kMetrics);
  });
}

}  // namespace copse::exporter
