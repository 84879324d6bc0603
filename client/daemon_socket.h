// SPDX-License-Identifier: Apache-2.0
//
// Finds the node's daemon and makes sure that it is one to be trusted.
#ifndef COPSE_CLIENT_DAEMON_SOCKET_H_
#define COPSE_CLIENT_DAEMON_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "client/copse.h"
#include "client/file_descriptor.h"

namespace copse::client {

inline constexpr char kAbstractSocket[] = "@copse";
inline constexpr char kSocketPath[] = "/run/copse/copsed.sock";
inline constexpr char kDaemonUser[] = "copse";

// Connects to `place` (a path, or @name of an abstract socket), or if it is empty to the first of the default places
// where somebody listens.
// Errors: NO_DAEMON naming the places tried and why; PERMISSION if the server's user is not to be trusted;
// INVALID_ARGUMENT if the place is too long for a socket's name.
copse_status_t ConnectDaemon(const std::string& place, FileDescriptor* socket, std::string* connected_place);

// Whether a server with user id `server` may be this process's daemon: root, user `copse`, or the same user.
bool MayServe(uid_t server, uid_t own);

}  // namespace copse::client

#endif  // COPSE_CLIENT_DAEMON_SOCKET_H_
