// SPDX-License-Identifier: Apache-2.0
//
// Asks for a daemon of the job's own on this node, in jobs of copse-run --daemons.
#ifndef COPSE_CLIENT_PORT_JOB_DAEMON_H_
#define COPSE_CLIENT_PORT_JOB_DAEMON_H_

#include <string>

#include "client/copse.h"

namespace copse::client {

// Returns whether the launcher's environment names a program that starts the daemon of this node (COPSE_RUN_STARTER).
bool HasJobDaemon();

// Runs that program, which returns once a daemon serves `socket`, whoever has started it. Takes at most 30 s.
// Errors: NO_DAEMON with what the program says.
copse_status_t StartJobDaemon(const std::string& socket);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_JOB_DAEMON_H_
