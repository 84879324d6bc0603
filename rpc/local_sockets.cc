// SPDX-License-Identifier: Apache-2.0
#include "rpc/local_sockets.h"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace copse::rpc {
namespace {

constexpr mode_t kAdminMode = 0660;
constexpr mode_t kViewMode = 0666;
// Local users leave so many descriptors to daemons, the store and the log.
constexpr rlim_t kReservedDescriptors = 256;
constexpr rlim_t kDescriptorsMax = 65536;

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
// came again at once could be another user's by the time that an RPC of its former owner is judged.
class LocalListener::Numbers {
 public:
  Numbers() {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t most = std::min(limit.rlim_cur, kDescriptorsMax);
    end_ = most > kReservedDescriptors ? static_cast<int>(most - kReservedDescriptors) : 0;
    next_ = begin_ = end_ / 2;
  }
  // Returns a descriptor of the same connection, whose number comes again after all others; invalid if there is none.
  UniqueFd Renumber(const UniqueFd& connection) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      UniqueFd moved(fcntl(connection.get(), F_DUPFD_CLOEXEC, next_));
      if (moved.valid() && moved.get() < end_) {
        next_ = moved.get() + 1;
        return moved;
      }
      next_ = begin_;
    }
    return UniqueFd();
  }

 private:
  int begin_ = 0, next_ = 0, end_ = 0;
};

LocalSockets LocalSocketsIn(const std::string& folder) {
  if (folder.empty()) return {};
  return {.admin = absl::StrCat(folder, "/admin.sock"), .view = absl::StrCat(folder, "/view.sock")};
}

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Open(const LocalSockets& sockets) {
  std::unique_ptr<LocalListener> opened(new LocalListener);
  opened->stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  for (const auto& [path, mode] : {std::pair{sockets.admin, kAdminMode}, {sockets.view, kViewMode}}) {
    ASSIGN_OR_RETURN(UniqueFd listener, ListenOn(path, mode));
    opened->listeners_.emplace_back(std::move(listener), path);
  }
  return opened;
}

LocalListener::~LocalListener() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  for (const auto& [listener, path] : listeners_) unlink(path.c_str());
}

void LocalListener::Serve(grpc::Server* server) {
  thread_ = std::thread([this, server] { Run(server); });
}

void LocalListener::Run(grpc::Server* server) {
  std::vector<pollfd> polled = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (const auto& [listener, path] : listeners_) polled.push_back({listener.get(), POLLIN, 0});
  Numbers numbers;
  while (polled.front().revents == 0) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      UniqueFd connection(accept4(polled[i].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection.valid()) {
        if (errno == EMFILE || errno == ENFILE) poll(nullptr, 0, 100);  // it stays readable
        continue;
      }
      UniqueFd numbered = numbers.Renumber(connection);
      if (numbered.valid()) grpc::AddInsecureChannelFromFd(server, numbered.release());
    }
  }
}

}  // namespace copse::rpc
