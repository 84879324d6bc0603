// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/http_server.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/certificates/x509.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "cli/exporter/http_connection.h"
#include "prometheus/text_serializer.h"
#include "rpc/network_listener.h"

namespace copse::exporter {
namespace {

constexpr char kMetrics[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr int kForbidden = 403;
constexpr int kFaminePauseMs = 100;

using TlsContext = std::unique_ptr<SSL_CTX, x509::FreeBy<SSL_CTX_free>>;

// A MemoryStream has cpp-httplib read a request from memory and write the answer there.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(const std::string& request) : request_(request) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, size_t bytes) override {
    bytes = std::min(bytes, request_.size() - read_);
    std::memcpy(data, request_.data() + read_, bytes);
    read_ += bytes;
    return static_cast<ssize_t>(bytes);
  }
  ssize_t write(const char* data, size_t bytes) override {
    answer_.append(data, bytes);
    return static_cast<ssize_t>(bytes);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string TakeAnswer() { return std::move(answer_); }

 private:
  const std::string& request_;
  size_t read_ = 0;
  std::string answer_;
};

// A Site parses and routes requests, and words the answers, which is all that cpp-httplib does here: its own server
// holds a thread for each connection.
class Site final : public httplib::Server {
 public:
  std::string AnswerTo(const std::string& request, const SSL* session) {
    MemoryStream stream(request);
    bool closes = true;
    process_request(stream, /*close_connection=*/true, closes, [session](httplib::Request& r) { r.ssl = session; });
    return stream.TakeAnswer();
  }
};

uint16_t PortOf(int listener) {
  sockaddr_in6 where = {};  // IPv4 has the port at the same place
  socklen_t bytes = sizeof(where);
  getsockname(listener, reinterpret_cast<sockaddr*>(&where), &bytes);
  return ntohs(where.sin6_port);
}

class ListeningServer final : public HttpServer {
 public:
  ListeningServer(std::unique_ptr<HttpsIdentity> identity, const AddRoutes& add_routes)
      : identity_(std::move(identity)), stop_(eventfd(0, EFD_CLOEXEC)) {
    if (identity_ != nullptr) {
      context_.reset(SSL_CTX_new(TLS_server_method()));
      CHECK(context_ != nullptr && identity_->Prepare(context_.get()));
      SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    Routes routes(&site_, identity_.get());
    add_routes(&routes);
  }
  ~ListeningServer() override {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }

  absl::Status Listen(const std::string& address) {
    ASSIGN_OR_RETURN(listeners_, rpc::ListenOn("listen", address));
    address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", PortOf(listeners_.front().get()));
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }
  std::string address() const override { return address_; }

 private:
  void Run() {
    while (true) {
      std::vector<pollfd> polled = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
      for (const UniqueFd& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
      for (const HttpConnection& connection : connections_) {
        polled.push_back({connection.fd(), connection.events(), 0});
      }
      poll(polled.data(), polled.size(), TimeoutMs());
      if (polled.front().revents != 0) return;
      GoOn(polled.data() + 1 + listeners_.size());
      for (size_t i = 0; i < listeners_.size(); ++i) {
        if (polled[1 + i].revents != 0) Accept(listeners_[i].get());
      }
      EndOldest();
    }
  }

  // Returns the time until a connection is late; -1 without any.
  int TimeoutMs() const {
    absl::Time first = absl::InfiniteFuture();
    for (const HttpConnection& connection : connections_) first = std::min(first, connection.deadline());
    if (first == absl::InfiniteFuture()) return -1;
    return static_cast<int>(std::max<int64_t>(absl::ToInt64Milliseconds(first - absl::Now()), 0)) + 1;
  }

  // `polled` has the connections in their order.
  void GoOn(const pollfd* polled) {
    const auto answer = [this](const std::string& request, const SSL* session) {
      return site_.AnswerTo(request, session);
    };
    size_t held = 0;
    for (auto it = connections_.begin(); it != connections_.end() && held <= kAnswerBytesMax; ++polled) {
      // A client whose request has come is not late, however long others' answers took.
      const bool goes_on = polled->revents != 0 ? it->GoOn(answer) : absl::Now() < it->deadline();
      held += goes_on ? it->answer_bytes() : 0;
      it = goes_on ? std::next(it) : connections_.erase(it);
    }
  }

  void Accept(int listener) {
    UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return MakeRoom(errno);
    SslSession session;
    if (context_ != nullptr) {
      session.reset(SSL_new(context_.get()));
      CHECK(session != nullptr && SSL_set_fd(session.get(), socket.get()) == 1);
      SSL_set_accept_state(session.get());
    }
    connections_.emplace_back(std::move(socket), std::move(session));
  }

  // Ends a connection if descriptors are what lacked: the listener stays readable.
  void MakeRoom(int error) {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return;
    if (connections_.empty()) {
      poll(nullptr, 0, kFaminePauseMs);
    } else {
      connections_.pop_front();
    }
  }

  void EndOldest() {
    size_t held = 0;
    for (const HttpConnection& connection : connections_) held += connection.answer_bytes();
    while (connections_.size() > kConnectionsMax || (held > kAnswerBytesMax && connections_.size() > 1)) {
      held -= connections_.front().answer_bytes();
      connections_.pop_front();
    }
  }

  const std::unique_ptr<HttpsIdentity> identity_;
  TlsContext context_;  // null without TLS
  Site site_;
  const UniqueFd stop_;  // an eventfd
  std::vector<UniqueFd> listeners_;
  std::string address_;
  std::list<HttpConnection> connections_;  // the thread's; the oldest first
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
  routes->Add("/metrics", [collect = std::move(collect)](const httplib::Request&, httplib::Response& response) {
    response.set_content(prometheus::TextSerializer().Serialize(collect()), kMetrics);
  });
}

}  // namespace copse::exporter
