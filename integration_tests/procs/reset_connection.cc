// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/procs/reset_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace copse::procs {
namespace {

namespace fs = std::filesystem;

// Descriptors of the process that are sockets, in order.
std::vector<int> SocketsOf(pid_t pid) {
  std::vector<int> sockets;
  std::error_code ended;  // the process, or the use of a descriptor
  for (const fs::directory_entry& entry : fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), ended)) {
    int number = 0;
    const bool is_socket = fs::read_symlink(entry, ended).native().starts_with("socket:");
    if (is_socket && absl::SimpleAtoi(entry.path().filename().native(), &number)) sockets.push_back(number);
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

bool IsEstablishedAt(int fd, const in_addr& address) {
  sockaddr_in own{};
  socklen_t bytes = sizeof(own);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes) != 0 || own.sin_family != AF_INET) return false;
  tcp_info info{};
  bytes = sizeof(info);
  return own.sin_addr.s_addr == address.s_addr && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

}  // namespace

absl::StatusOr<bool> ResetConnection(pid_t pid, const std::string& address, Prng* prng) {
  in_addr wanted;
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1) return absl::InvalidArgumentError(address);
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("pidfd_open (pid=", pid, ")"));
  std::vector<UniqueFd> established;
  for (const int number : SocketsOf(pid)) {
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    if (!fd.valid() && errno != EBADF) return absl::ErrnoToStatus(errno, absl::StrCat("pidfd_getfd (pid=", pid, ")"));
    if (fd.valid() && IsEstablishedAt(fd.get(), wanted)) established.push_back(std::move(fd));
  }
  if (established.empty()) return false;
  // The kernel's way to abort a connection: connecting it to nothing.
  const sockaddr nothing{.sa_family = AF_UNSPEC, .sa_data = {}};
  const UniqueFd& chosen = established[prng->Below(established.size())];
  if (connect(chosen.get(), &nothing, sizeof(nothing)) != 0) return absl::ErrnoToStatus(errno, "connect to nothing");
  return true;
}

}  // namespace copse::procs
