// SPDX-License-Identifier: Apache-2.0

#include "client/port/daemon_socket.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "client/port/error.h"

namespace copse::client {
namespace {

// Limits a connect to a daemon whose backlog is full, and each send to a daemon that does not read.
constexpr int kConnectSecondsMax = 5;

std::string ErrorText(int error) {
  char buffer[128] = "";
  return strerror_r(error, buffer, sizeof(buffer));  // GNU's strerror_r returns the text, not a status
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

// Returns 0 or errno.
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

// Returns the user id of the process that listens at the other end; -1, which no user has, if the kernel does not
// report it.
uid_t ServerOf(int socket_fd) {
  ucred server{};
  socklen_t length = sizeof(server);
  const bool told = getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &server, &length) == 0;
  return told ? server.uid : static_cast<uid_t>(-1);
}

// In a user namespace that does not have all users of the machine, this is the number of all others.
constexpr uid_t kOverflowUid = 65534;

// Returns whether the user may be one that has no number here, as the machine's root has none in a container with users
// of its own.
bool MayBeOutside(uid_t user) {
  if (user != kOverflowUid) return false;
  FILE* const map = fopen("/proc/self/uid_map", "re");
  if (map == nullptr) return false;
  unsigned long inside = 0, outside = 0, count = 0;
  const bool has_all = fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && count >= UINT32_MAX;
  fclose(map);
  return !has_all;
}

// Returns whether whoever may put a socket there has no number here, either: the container's maker has mounted the
// folder.
bool IsInFolderOfOutside(const std::string& place) {
  if (place[0] != '/') return false;
  struct stat folder;
  return stat(place.substr(0, place.rfind('/') + 1).c_str(), &folder) == 0 && folder.st_uid == kOverflowUid &&
         (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

bool MayServe(uid_t server, uid_t own) {
  if (server == 0 || server == own) return true;
  // The user is looked up only if nothing else decides, since that may query a directory server.
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  return getpwnam_r(kDaemonUser, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
         entry.pw_uid == server;
}

copse_status_t ConnectDaemon(const std::string& place, FileDescriptor* socket, std::string* connected_place) {
  std::vector<std::string> places = {kAbstractSocket, kSocketPath};
  if (!place.empty()) places = {place};
  return ConnectFirst(places, MayServe, socket, connected_place);
}

copse_status_t ConnectFirst(const std::vector<std::string>& places, bool (*may_serve)(uid_t server, uid_t own),
                            FileDescriptor* socket, std::string* connected_place) {
  std::string tried;
  bool distrusted = false;
  for (const std::string& candidate : places) {
    sockaddr_un address;
    socklen_t length = 0;
    if (!FillAddress(candidate, &address, &length)) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the socket's name is too long (bytes=%zu, limit=%zu)", candidate.size(),
                  sizeof(address.sun_path) - 1);
    }
    FileDescriptor connected;
    const int error = TryConnect(address, length, &connected);
    const uid_t server = error == 0 ? ServerOf(connected.get()) : 0;
    if (error == 0 && (MayBeOutside(server) ? IsInFolderOfOutside(candidate) : may_serve(server, geteuid()))) {
      *socket = std::move(connected);
      *connected_place = candidate;
      return COPSE_OK;
    }
    distrusted |= error == 0;
    if (!tried.empty()) tried += "; ";
    tried += candidate + ": ";
    tried += error != 0 ? ErrorText(error)
                        : "a server of neither root nor user " + std::string(kDaemonUser) +
                              " nor this user, uid=" + std::to_string(server);
  }
  if (distrusted) return Fail(COPSE_ERR_PERMISSION, "no daemon that may be believed answers (tried=%s)", tried.c_str());
  return Fail(COPSE_ERR_NO_DAEMON,
              "no daemon answers: start copsed, name its socket by COPSE_SOCKET, or run the program by copse-run "
              "--daemons (tried=%s)",
              tried.c_str());
}

}  // namespace copse::client
