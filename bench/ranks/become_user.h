/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COPSE_BENCH_RANKS_BECOME_USER_H_
#define COPSE_BENCH_RANKS_BECOME_USER_H_

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

/* Makes the process, which must be root's, another user's. Its parent's end is still its own: a change of users takes
 * that back. */
static inline void become_user(uid_t user) {
  const pid_t parent = getppid();
  if (setgid(user) != 0 || setuid(user) != 0) {
    fprintf(stderr, "needs root, to be another user (user=%u)\n", user);
    exit(1);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) exit(1);
}

#endif /* COPSE_BENCH_RANKS_BECOME_USER_H_ */
