// SPDX-License-Identifier: Apache-2.0
//
// Identifies the process behind a client's socket, and describes its end.
#ifndef COPSE_DAEMON_SHM_PROCESS_WATCH_H_
#define COPSE_DAEMON_SHM_PROCESS_WATCH_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::daemon {

// A PeerProcess is the process that connected, as the kernel describes it.
struct PeerProcess {
  uint32_t uid = 0, gid = 0;
  int64_t pid = 0;            // 0: in a PID namespace that is not visible here
  std::string name;           // command name; empty if unknown
  std::string job;            // by its control group (JobOfCgroup)
  UniqueFd pidfd;             // readable when the process is dead; invalid if the kernel gives none
  std::set<uint32_t> groups;  // gid and supplementary groups
};
// Returns uid, pid and pidfd of the process that connected `socket`. PERMISSION_DENIED: its user is not mapped in this
// process's user namespace. Other errors: getsockopt's.
absl::StatusOr<PeerProcess> PeerOf(int socket);
// Fills in the rest, which takes much longer.
void LookUp(int socket, PeerProcess* process);

// Returns whether the process is dead, so that another one may have its pid, or cannot be watched.
bool HasDied(const PeerProcess& process);

// Returns "process 4711 (mpiprog)"; without a name or pid what is known instead.
std::string DescribeProcess(const PeerProcess& process);
// Returns "process 4711 (mpiprog) was killed by signal 9 (Killed)", "... exited with status 1", or "... ended" if the
// status is unknown.
std::string DescribeDeath(const PeerProcess& process);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_PROCESS_WATCH_H_
