// SPDX-License-Identifier: Apache-2.0
//
// The Unix sockets that clients connect to.
#ifndef COPSE_DAEMON_SHM_LISTEN_SOCKET_H_
#define COPSE_DAEMON_SHM_LISTEN_SOCKET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::daemon {

// "%h" becomes `node`; the client does the same with COPSE_SOCKET.
std::string ExpandSocketName(std::string_view name, std::string_view node);

// A listening SOCK_SEQPACKET socket. `name`: "@name" is abstract, anything else a path, where a
// socket that a dead daemon left is replaced. ALREADY_EXISTS if a daemon listens there, or something else is there;
// PERMISSION_DENIED if an abstract name was taken by a user whom clients would not trust, or the folder of a path is
// closed to us; INVALID_ARGUMENT if the name is too long.
absl::StatusOr<UniqueFd> ListenOn(const std::string& name);

// Sockets that systemd passed (LISTEN_FDS); INVALID_ARGUMENT if one is not a listening
// SOCK_SEQPACKET Unix socket.
absl::StatusOr<std::vector<UniqueFd>> SocketsFromSystemd();

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_LISTEN_SOCKET_H_
