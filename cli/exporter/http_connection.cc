// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/http_connection.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/time/clock.h"

namespace copse::exporter {
namespace {

constexpr char kEmptyLine[] = "\r\n\r\n";
constexpr ssize_t kOver = 0;
constexpr ssize_t kWouldBlock = -1;

absl::Time Deadline() { return absl::Now() + HttpConnection::kPatience; }

}  // namespace

HttpConnection::HttpConnection(UniqueFd socket, SslSession session)
    : socket_(std::move(socket)), session_(std::move(session)), events_(POLLIN), deadline_(Deadline()) {}

bool HttpConnection::GoOn(const Answer& answer) {
  while (answer_.empty()) {
    std::array<char, 4096> data;
    const ssize_t received = Receive(data.data(), data.size());
    if (received <= 0) return received == kWouldBlock;
    request_.append(data.data(), static_cast<size_t>(received));
    if (!IsWhole()) continue;
    answer_ = answer(request_, session_.get());
    if (answer_.empty()) return false;
    deadline_ = Deadline();
  }
  while (sent_ < answer_.size()) {
    const ssize_t sent = Send(answer_.data() + sent_, answer_.size() - sent_);
    if (sent <= 0) return sent == kWouldBlock;
    sent_ += static_cast<size_t>(sent);
    deadline_ = Deadline();
  }
  if (session_ != nullptr) SSL_shutdown(session_.get());
  return false;
}

bool HttpConnection::IsWhole() const {
  return request_.size() >= kRequestBytesMax || request_.find(kEmptyLine) != std::string::npos;
}

ssize_t HttpConnection::Receive(char* data, size_t bytes) {
  ERR_clear_error();
  return Outcome(
      session_ == nullptr ? recv(fd(), data, bytes, 0) : SSL_read(session_.get(), data, static_cast<int>(bytes)),
      POLLIN);
}

ssize_t HttpConnection::Send(const char* data, size_t bytes) {
  ERR_clear_error();
  return Outcome(session_ == nullptr ? send(fd(), data, bytes, MSG_NOSIGNAL)
                                     : SSL_write(session_.get(), data, static_cast<int>(bytes)),
                 POLLOUT);
}

// Returns how many bytes were moved, or kOver, or kWouldBlock with events_ set. TLS may have to write in order to read.
ssize_t HttpConnection::Outcome(ssize_t result, short events) {
  if (result > 0) return result;
  if (session_ == nullptr) {
    if (result == 0 || (errno != EAGAIN && errno != EINTR)) return kOver;
    events_ = events;
    return kWouldBlock;
  }
  const int error = SSL_get_error(session_.get(), static_cast<int>(result));
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return kOver;
  events_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  return kWouldBlock;
}

}  // namespace copse::exporter
