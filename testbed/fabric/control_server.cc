// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/control_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "testbed/fabric/fabric_control.h"

namespace copse::fabric {
namespace {

bool Watch(int epoll, int fd, uint32_t events, int operation) {
  epoll_event event = {.events = events, .data = {.fd = fd}};
  return epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Listen(const std::string& path, Answer answer) {
  ASSIGN_OR_RETURN(const sockaddr_un address, ControlAddress(path));
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
    const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(probe.get(), name, sizeof(address)) != 0 && errno == ECONNREFUSED) unlink(path.c_str());
  }
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  const mode_t mask = umask(0177);
  const bool bound = bind(listener.get(), name, sizeof(address)) == 0;
  const int error = errno;
  umask(mask);
  if (!bound) {
    if (error == EADDRINUSE) {
      return absl::AlreadyExistsError(absl::StrCat("control: exists, and may be in use (socket=", path, ")"));
    }
    return absl::ErrnoToStatus(error, absl::StrCat("control: ", path));
  }
  if (listen(listener.get(), kClientsMax) != 0 || !Watch(epoll.get(), listener.get(), EPOLLIN, EPOLL_CTL_ADD)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("control: ", path));
  }
  return std::unique_ptr<ControlServer>(
      new ControlServer(path, std::move(listener), std::move(epoll), std::move(answer)));
}

ControlServer::ControlServer(std::string path, UniqueFd listener, UniqueFd epoll, Answer answer)
    : path_(std::move(path)), listener_(std::move(listener)), epoll_(std::move(epoll)), answer_(std::move(answer)) {}

ControlServer::~ControlServer() { unlink(path_.c_str()); }

void ControlServer::Turn() {
  epoll_event events[kClientsMax];
  const int count = epoll_wait(epoll_.get(), events, kClientsMax, 0);
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == listener_.get()) {
      Accept();
      continue;
    }
    const auto client = clients_.find(fd);
    if (client != clients_.end() && !Serve(&client->second)) clients_.erase(client);
  }
}

void ControlServer::Flush() {
  for (auto& [fd, client] : clients_) Write(&client);
}

void ControlServer::Accept() {
  UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // A client beyond the limit finds its connection closed.
  if (!fd.valid() || clients_.size() >= kClientsMax) return;
  if (!Watch(epoll_.get(), fd.get(), EPOLLIN, EPOLL_CTL_ADD)) return;
  const int key = fd.get();
  clients_[key].fd = std::move(fd);
}

bool ControlServer::Serve(Client* client) {
  if (!client->out.empty()) return Write(client);
  char buffer[kRequestBytesMax];
  const ssize_t got = read(client->fd.get(), buffer, sizeof(buffer));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (got > 0) client->in.append(buffer, static_cast<size_t>(got));
  for (size_t end; (end = client->in.find('\n')) != std::string::npos; client->in.erase(0, end + 1)) {
    client->out += answer_(std::string_view(client->in).substr(0, end));
    client->out += '\n';
  }
  if (client->in.size() > kRequestBytesMax) return false;
  return Write(client);
}

bool ControlServer::Write(Client* client) {
  while (!client->out.empty()) {
    const ssize_t sent = send(client->fd.get(), client->out.data(), client->out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    client->out.erase(0, static_cast<size_t>(sent));
  }
  // The client's next request is not read while an answer waits.
  return Watch(epoll_.get(), client->fd.get(), client->out.empty() ? EPOLLIN : EPOLLOUT, EPOLL_CTL_MOD);
}

}  // namespace copse::fabric
