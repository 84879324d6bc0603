// SPDX-License-Identifier: Apache-2.0
//
// Opens the Unix sockets that clients connect to.
#ifndef COPSE_DAEMON_SHM_LISTEN_SOCKET_H_
#define COPSE_DAEMON_SHM_LISTEN_SOCKET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::daemon {

// Returns `name` with `node` in place of every "%h". The client expands COPSE_SOCKET in the same way.
std::string ExpandSocketName(std::string_view name, std::string_view node);

// Returns a listening, non-blocking SOCK_SEQPACKET socket, to which any user may connect. `name`: "@name" is abstract,
// anything else is a path, where the socket of a dead daemon is replaced. ALREADY_EXISTS: a daemon listens there, or
// the path is no socket. PERMISSION_DENIED: the abstract name is taken, and connecting to it reaches no process of root
// or of this user; or the path's folder is not writable. INVALID_ARGUMENT: the name is empty or too long. Other errors:
// those of the system calls.
absl::StatusOr<UniqueFd> ListenOn(const std::string& name);

// Returns the sockets that systemd passed (LISTEN_FDS), made non-blocking; none without systemd, or at a second call.
// INVALID_ARGUMENT: one is not a listening SOCK_SEQPACKET socket.
absl::StatusOr<std::vector<UniqueFd>> SocketsFromSystemd();

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_LISTEN_SOCKET_H_
