/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank's process and its daemon hold, as the kernel counts it.
 */
#ifndef COPSE_BENCH_RANKS_RANK_USAGE_H_
#define COPSE_BENCH_RANKS_RANK_USAGE_H_

#include <sys/types.h>

/* What /proc/PID/smaps_rollup says, in KiB: pages that several processes have count in shares. 0: no such process. */
double pss_kb(pid_t pid);
/* The process's established TCP connections within 10.77.0.0/16, the nodes' data network. */
int connections(pid_t pid);
/* Processor time of the whole machine since it was started, all cores together, of whatever ran, in microseconds; to
 * the kernel's tick. */
double processors_busy_us(void);

#endif /* COPSE_BENCH_RANKS_RANK_USAGE_H_ */
