// SPDX-License-Identifier: Apache-2.0
#include "rpc/local_sockets.h"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace copse::rpc {
namespace {

constexpr mode_t kAdminMode = 0660;
constexpr mode_t kViewMode = 0666;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket: the path is too long (path=", path, ", limit=", sizeof(address.sun_path) - 1, ")"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::Status Failed(const std::string& path, const char* what) {
  return absl::ErrnoToStatus(errno, absl::StrCat("socket: ", what, " (path=", path, ")"));
}

void GiveToGroup(const std::string& path) {
  group entry = {};
  group* found = nullptr;
  char buffer[4096];
  if (getgrnam_r(kAdminGroup, &entry, buffer, sizeof(buffer), &found) != 0 || found == nullptr) return;
  if (chown(path.c_str(), static_cast<uid_t>(-1), entry.gr_gid) == 0) return;
  COPSE_LOG(kWarning, "socket: its group is not ", kAdminGroup,
            ", since this user is no member: ", std::strerror(errno), " (path=", path, ")");
}

absl::StatusOr<UniqueFd> ListenOn(const std::string& path, mode_t mode) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  const auto* const pointer = reinterpret_cast<const sockaddr*>(&address);
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), pointer, sizeof(address)) == 0 || errno == EAGAIN) {
    return absl::UnavailableError(absl::StrCat("socket: another program listens there (path=", path, ")"));
  }
  if (errno == ECONNREFUSED) unlink(path.c_str());
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(listener.get(), pointer, sizeof(address)) != 0) return Failed(path, "cannot be made");
  // Nobody can connect before listen.
  if (chmod(path.c_str(), mode) != 0) return Failed(path, "its mode cannot be set");
  if (mode == kAdminMode) GiveToGroup(path);
  if (listen(listener.get(), SOMAXCONN) != 0) return Failed(path, "cannot be listened on");
  return listener;
}

}  // namespace

// The number of a connection's descriptor is all that tells an RPC's caller from others (Authorizer). A number that
// came again at once could be another user's by the time that an RPC of its former owner is judged. A user has an
// eighth of the numbers at most: what says nothing stays connected for minutes. And it has kUserConnectionsMax: gRPC
// takes some MiB from each before it ends a call for its length (bounded_requests.h).
class LocalListener::Numbers {
 public:
  Numbers() : end_(ConnectionDescriptors().local) { next_ = begin_ = end_ / 2; }
  // Returns a descriptor of the same connection, whose number comes again after all others; invalid if there is none,
  // or none for its user.
  UniqueFd Renumber(const UniqueFd& connection) {
    const std::optional<Holder> holder = HolderOf(connection.get());
    if (!holder.has_value() || !HasLeft(holder->uid)) return UniqueFd();
    for (int attempt = 0; attempt < 2; ++attempt) {
      UniqueFd moved(fcntl(connection.get(), F_DUPFD_CLOEXEC, next_));
      if (moved.valid() && moved.get() < end_) {
        next_ = moved.get() + 1;
        Note(moved.get(), *holder);
        return moved;
      }
      next_ = begin_;
    }
    return UniqueFd();
  }

 private:
  static constexpr int kShares = 8;
  static constexpr int kUsersMin = 8;

  struct Holder {
    uid_t uid;
    ino_t socket;
  };

  static std::optional<Holder> HolderOf(int fd) {
    ucred credentials = {};
    socklen_t bytes = sizeof(credentials);
    struct stat status = {};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0 || fstat(fd, &status) != 0) {
      return std::nullopt;
    }
    return Holder{credentials.uid, status.st_ino};
  }
  // gRPC does not say when it closes a connection, so this is found out when it matters.
  bool HasLeft(uid_t uid) {
    const int limit = std::clamp((end_ - begin_) / kShares, kUsersMin, kUserConnectionsMax);
    if (count_[uid] < limit) return true;
    for (auto it = holders_.begin(); it != holders_.end();) {
      const auto each = it++;
      struct stat status = {};
      const bool is_open = fstat(each->first, &status) == 0 && status.st_ino == each->second.socket;
      if (each->second.uid == uid && !is_open) Forget(each->first);
    }
    return count_[uid] < limit;
  }
  void Note(int number, const Holder& holder) {
    Forget(number);
    holders_.emplace(number, holder);
    ++count_[holder.uid];
  }
  void Forget(int number) {
    const auto known = holders_.find(number);
    if (known == holders_.end()) return;
    if (--count_[known->second.uid] == 0) count_.erase(known->second.uid);
    holders_.erase(known);
  }

  const int end_;
  int begin_ = 0, next_ = 0;
  std::map<int, Holder> holders_;  // by number; some have ended
  std::map<uid_t, int> count_;     // of these
};

LocalSockets LocalSocketsIn(const std::string& folder) {
  if (folder.empty()) return {};
  return {.admin = absl::StrCat(folder, "/admin.sock"), .view = absl::StrCat(folder, "/view.sock")};
}

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Open(const LocalSockets& sockets) {
  std::unique_ptr<LocalListener> opened(new LocalListener);
  for (const auto& [path, mode] : {std::pair{sockets.admin, kAdminMode}, {sockets.view, kViewMode}}) {
    if (path.empty()) continue;
    ASSIGN_OR_RETURN(UniqueFd listener, ListenOn(path, mode));
    opened->listeners_.push_back({std::move(listener), path, mode == kViewMode});
  }
  return opened;
}

LocalListener::~LocalListener() {
  for (const Listener& listener : listeners_) unlink(listener.path.c_str());
}

void LocalListener::Serve(grpc::Server* server, grpc::Server* view_server) {
  std::vector<int> listeners;
  std::map<int, grpc::Server*> servers;  // by listener
  for (const Listener& listener : listeners_) {
    listeners.push_back(listener.fd.get());
    servers[listener.fd.get()] = listener.is_view ? view_server : server;
  }
  loop_ = std::make_unique<AcceptLoop>(
      std::move(listeners), [servers, numbers = Numbers()](int listener, const UniqueFd& connection) mutable {
        UniqueFd numbered = numbers.Renumber(connection);
        if (numbered.valid()) grpc::AddInsecureChannelFromFd(servers.at(listener), numbered.release());
      });
}

}  // namespace copse::rpc
