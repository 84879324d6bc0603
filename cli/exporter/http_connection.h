// SPDX-License-Identifier: Apache-2.0
//
// Reads a client's request and writes the answer, and never waits for the client.
#ifndef COPSE_CLI_EXPORTER_HTTP_CONNECTION_H_
#define COPSE_CLI_EXPORTER_HTTP_CONNECTION_H_

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/certificates/x509.h"
#include "base/unique_fd.h"

namespace copse::exporter {

using SslSession = std::unique_ptr<SSL, x509::FreeBy<SSL_free>>;

// An HttpConnection is for one request and its answer. Single-threaded.
class HttpConnection {
 public:
  // The client's time for handshake and request, and then between two times at which it takes some of the answer.
  static constexpr absl::Duration kPatience = absl::Seconds(5);
  // A longer request is answered as if it ended there.
  static constexpr size_t kRequestBytesMax = 16 << 10;

  // Returns what is written for a request, which may be cut; nothing: the connection ends. `session` as below.
  using Answer = std::function<std::string(const std::string& request, const SSL* session)>;

  // `socket` does not block. `session` is null without TLS; otherwise its socket is this one.
  HttpConnection(UniqueFd socket, SslSession session);

  int fd() const { return socket_.get(); }
  // What the connection waits for, as for poll.
  short events() const { return events_; }
  absl::Time deadline() const { return deadline_; }
  // The memory that the answer takes.
  size_t answer_bytes() const { return answer_.size(); }

  // Reads and writes until the socket would block. Returns false if the connection is over.
  bool GoOn(const Answer& answer);

 private:
  bool IsWhole() const;
  ssize_t Receive(char* data, size_t bytes);
  ssize_t Send(const char* data, size_t bytes);
  ssize_t Outcome(ssize_t result, short events);

  const UniqueFd socket_;
  const SslSession session_;
  short events_;
  absl::Time deadline_;
  std::string request_;
  std::string answer_;
  size_t sent_ = 0;  // of answer_
};

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_HTTP_CONNECTION_H_
