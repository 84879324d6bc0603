// SPDX-License-Identifier: Apache-2.0

#include "client/daemon_socket.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "client/error.h"

namespace copse::client {
namespace {

constexpr int kConnectSecondsMax = 5;  // a full backlog, and later a send to a daemon that does not read

std::string ErrorText(int error) {
  char buffer[128] = "";
  return strerror_r(error, buffer, sizeof(buffer));  // the GNU one: returns its text
}

bool FillAddress(const std::string& place, sockaddr_un* address, socklen_t* length) {
  if (place.size() >= sizeof(address->sun_path)) return false;
  *address = {};
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, place.data(), place.size());
  if (place[0] == '@') {
    address->sun_path[0] = '\0';
    *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  } else {
    *length = sizeof(*address);
  }
  return true;
}

// 0 or errno.
int TryConnect(const sockaddr_un& address, socklen_t length, FileDescriptor* connected) {
  FileDescriptor socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return errno;
  const timeval limit{kConnectSecondsMax, 0};
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  while (connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno != EINTR) return errno;
  }
  *connected = std::move(socket_fd);
  return 0;
}

copse_status_t CheckServer(int socket_fd, const std::string& place) {
  ucred server{};
  socklen_t length = sizeof(server);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &server, &length) != 0) {
    return Fail(COPSE_ERR_PERMISSION, "cannot tell who listens (socket=%s)", place.c_str());
  }
  if (MayServe(server.uid, geteuid())) return COPSE_OK;
  return Fail(COPSE_ERR_PERMISSION, "the server is neither root nor user %s nor this user (socket=%s, uid=%u, own=%u)",
              kDaemonUser, place.c_str(), static_cast<unsigned>(server.uid), static_cast<unsigned>(geteuid()));
}

}  // namespace

bool MayServe(uid_t server, uid_t own) {
  if (server == 0 || server == own) return true;
  // Only now, as it may ask a directory server.
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  return getpwnam_r(kDaemonUser, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
         entry.pw_uid == server;
}

copse_status_t ConnectDaemon(const std::string& place, FileDescriptor* socket, std::string* connected_place) {
  std::vector<std::string> places;
  if (place.empty()) {
    places = {kAbstractSocket, kSocketPath};
  } else {
    places = {place};
  }
  std::string tried;
  for (const std::string& candidate : places) {
    sockaddr_un address;
    socklen_t length = 0;
    if (!FillAddress(candidate, &address, &length)) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the socket's name is too long (bytes=%zu, limit=%zu)", candidate.size(),
                  sizeof(address.sun_path) - 1);
    }
    FileDescriptor connected;
    const int error = TryConnect(address, length, &connected);
    if (error == 0) {
      const copse_status_t status = CheckServer(connected.get(), candidate);
      if (status != COPSE_OK) return status;
      *socket = std::move(connected);
      *connected_place = candidate;
      return COPSE_OK;
    }
    if (!tried.empty()) tried += "; ";
    tried += candidate + ": " + ErrorText(error);
  }
  return Fail(COPSE_ERR_NO_DAEMON, "no daemon answers (tried=%s)", tried.c_str());
}

}  // namespace copse::client
