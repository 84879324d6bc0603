// SPDX-License-Identifier: Apache-2.0
//
// Tells which job a process belongs to, by its control group: what the process itself says is only a claim.
#ifndef COPSE_DAEMON_ACCOUNTS_JOB_OF_CGROUP_H_
#define COPSE_DAEMON_ACCOUNTS_JOB_OF_CGROUP_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace copse::daemon {

// Returns the job of a process of user `uid` whose /proc/PID/cgroup has the content `text`, of cgroup v1, v2 or both:
//   "slurm-17"           below Slurm's job_17, whatever the step
//   "pod-UID"            in a pod of Kubernetes, whose UID is written with dashes
//   "user-1000.slice"    in the slice that systemd has for a user
//   "uid-1000"           elsewhere: all processes of the user are one job
// Only the ancestor that an administrator's program has made counts, never the leaf: a user may create and choose
// groups below that one, and name them like others. So the outermost group that has such a name counts, and of Slurm's
// jobs only those below its own groups. Lines that are no cgroup's are ignored.
std::string JobOfCgroup(std::string_view text, uint32_t uid);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_JOB_OF_CGROUP_H_
