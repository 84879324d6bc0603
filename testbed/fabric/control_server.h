// SPDX-License-Identifier: Apache-2.0
//
// The fabric's control socket: each request is a line, each answer a line of JSON.
#ifndef COPSE_TESTBED_FABRIC_CONTROL_SERVER_H_
#define COPSE_TESTBED_FABRIC_CONTROL_SERVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::fabric {

inline constexpr size_t kRequestBytesMax = 4096;
inline constexpr size_t kClientsMax = 16;

// A ControlServer owns its socket and its clients. The caller's loop waits until fd() is readable. Thread-compatible;
// never blocks.
class ControlServer {
 public:
  using Answer = std::function<std::string(std::string_view request)>;

  // Listens on the Unix socket `path`, for its own user only, and removes it in the end. A dead server's file is
  // replaced. Errors: ALREADY_EXISTS if a server listens there, INVALID_ARGUMENT for a path too long.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Listen(const std::string& path, Answer answer);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int fd() const { return epoll_.get(); }
  void Turn();
  // Writes pending answers, as far as clients take them without blocking.
  void Flush();

 private:
  struct Client {
    UniqueFd fd;
    std::string in;
    std::string out;
  };

  ControlServer(std::string path, UniqueFd listener, UniqueFd epoll, Answer answer);
  void Accept();
  // Returns false if the client has to be dropped.
  bool Serve(Client* client);
  bool Write(Client* client);

  const std::string path_;
  const UniqueFd listener_;
  const UniqueFd epoll_;
  const Answer answer_;
  std::map<int, Client> clients_;  // by descriptor
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_CONTROL_SERVER_H_
