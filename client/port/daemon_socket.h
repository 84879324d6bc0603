// SPDX-License-Identifier: Apache-2.0
//
// Connects to the node's daemon and checks that it may be trusted.
#ifndef COPSE_CLIENT_PORT_DAEMON_SOCKET_H_
#define COPSE_CLIENT_PORT_DAEMON_SOCKET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/copse.h"
#include "client/port/file_descriptor.h"

namespace copse::client {

inline constexpr char kAbstractSocket[] = "@copse";
inline constexpr char kSocketPath[] = "/run/copse/copsed.sock";
inline constexpr char kDaemonUser[] = "copse";

// Returns whether a server with user id `server` may be this process's daemon: it is root, user `copse`, or the same
// user.
bool MayServe(uid_t server, uid_t own);

// ConnectDaemon connects to `place` (a path, or @name of an abstract socket), or if that is empty to kAbstractSocket or
// kSocketPath. ConnectFirst tries `places` in order and takes the first one whose server `may_serve`: any user can
// listen at an abstract name. A server whose user has no number in this process's user namespace is believed at a path
// in a folder that only such users may write to. Connecting takes at most 5 s for each place.
// Errors: NO_DAEMON, which lists the places and reasons; PERMISSION if a server was not trusted; INVALID_ARGUMENT if a
// place is too long for a socket's name.
copse_status_t ConnectDaemon(const std::string& place, FileDescriptor* socket, std::string* connected_place);
copse_status_t ConnectFirst(const std::vector<std::string>& places, bool (*may_serve)(uid_t server, uid_t own),
                            FileDescriptor* socket, std::string* connected_place);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_DAEMON_SOCKET_H_
