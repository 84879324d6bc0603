// SPDX-License-Identifier: Apache-2.0
//
// The process behind a client's socket: its identity, and its end.
#ifndef COPSE_DAEMON_SHM_PROCESS_WATCH_H_
#define COPSE_DAEMON_SHM_PROCESS_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::daemon {

// The process that connected, as the kernel describes it.
struct PeerProcess {
  uint32_t uid = 0;
  int64_t pid = 0;   // 0: in a PID namespace that is not visible here
  std::string name;  // its command, or empty
  UniqueFd pidfd;    // readable once it is dead; invalid if the kernel gives none
};
absl::StatusOr<PeerProcess> PeerOf(int socket);

// "process 4711 (mpiprog)".
std::string DescribeProcess(const PeerProcess& process);
// "process 4711 (mpiprog) was killed by signal 9 (Killed)", "... exited with status 1", or only
// "... ended".
std::string DescribeDeath(const PeerProcess& process);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_PROCESS_WATCH_H_
