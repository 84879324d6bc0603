// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::daemon {
namespace {

constexpr int kBacklog = 1024;

struct Address {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

absl::StatusOr<Address> AddressOf(const std::string& name) {
  Address result;
  if (name.empty() || name.size() >= sizeof(result.address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket: name empty or too long (socket=", name,
                                                   ", limit=", sizeof(result.address.sun_path) - 1, ")"));
  }
  result.address.sun_family = AF_UNIX;
  memcpy(result.address.sun_path, name.data(), name.size());
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (name[0] == '@') {
    result.address.sun_path[0] = '\0';
  } else {
    ++result.bytes;
  }
  return result;
}

UniqueFd NewSocket() { return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool IsSocket(const std::string& path) {
  struct stat file;
  return lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode);
}

// Returns whether the path is a socket on which no process listens.
bool IsLeftOver(const std::string& path, const Address& address) {
  if (!IsSocket(path)) return false;
  const UniqueFd probe = NewSocket();
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address.address), address.bytes) != 0 &&
         errno == ECONNREFUSED;
}

// Returns whether a process of root or of this daemon's user listens at an abstract name. Also returns false if the
// name cannot be connected to, for example because the backlog is full.
bool MayBeDaemon(const Address& address) {
  const UniqueFd probe = NewSocket();
  ucred server{};
  socklen_t bytes = sizeof(server);
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address.address), address.bytes) == 0 &&
         getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &server, &bytes) == 0 &&
         (server.uid == 0 || server.uid == geteuid());
}

}  // namespace

std::string ExpandSocketName(std::string_view name, std::string_view node) {
  return absl::StrReplaceAll(AbslView(name), {{"%h", AbslView(node)}});
}

absl::StatusOr<UniqueFd> ListenOn(const std::string& name) {
  ASSIGN_OR_RETURN(const Address address, AddressOf(name));
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return absl::ErrnoToStatus(errno, "socket");
  const bool is_path = name[0] != '@';
  const auto try_bind = [&] {
    return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.address), address.bytes);
  };
  int error = try_bind() == 0 ? 0 : errno;
  if (error == EADDRINUSE && is_path && IsLeftOver(name, address)) {
    unlink(name.c_str());
    error = try_bind() == 0 ? 0 : errno;
  }
  if (error == EADDRINUSE && is_path && !IsSocket(name))
    return absl::AlreadyExistsError(absl::StrCat("socket: something else is there (socket=", name, ")"));
  if (error == EADDRINUSE && !is_path && !MayBeDaemon(address))
    return absl::PermissionDeniedError(absl::StrCat("socket: taken by another user's process (socket=", name, ")"));
  if (error == EADDRINUSE)
    return absl::AlreadyExistsError(absl::StrCat("socket: a daemon listens there already (socket=", name, ")"));
  if (error != 0) {
    return absl::Status(absl::ErrnoToStatus(error, "").code(),
                        absl::StrCat("socket: cannot bind: ", strerror(error), " (socket=", name, ")"));
  }
  // Any user may connect, as the kernel identifies the client's user (SO_PEERCRED).
  if (is_path && chmod(name.c_str(), 0666) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("chmod ", name));
  if (listen(socket.get(), kBacklog) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("listen ", name));
  return socket;
}

absl::StatusOr<std::vector<UniqueFd>> SocketsFromSystemd() {
  std::vector<UniqueFd> sockets;
  const int count = sd_listen_fds(/*unset_environment=*/1);
  if (count < 0) return absl::ErrnoToStatus(-count, "LISTEN_FDS");
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) sockets.emplace_back(fd);
  for (const UniqueFd& socket : sockets) {
    if (sd_is_socket_unix(socket.get(), SOCK_SEQPACKET, /*listening=*/1, nullptr, 0) <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "socket: systemd passed one that is not a listening SOCK_SEQPACKET Unix socket (fd=", socket.get(), ")"));
    }
    // systemd's sockets block unless the unit says otherwise, and the loop must not block in accept.
    const int flags = fcntl(socket.get(), F_GETFL);
    if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0)
      return absl::ErrnoToStatus(errno, "LISTEN_FDS");
  }
  return sockets;
}

}  // namespace copse::daemon
