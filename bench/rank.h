/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank's calls, behind which Copse, an MPI library and bare sockets stand: rank_main.c measures all of them alike.
 * Whatever fails prints a line and ends the process with exit code 1.
 */
#ifndef COPSE_BENCH_RANK_H_
#define COPSE_BENCH_RANK_H_

#include <stdint.h>

typedef enum { kBarrier, kBcast, kReduce, kAllreduce } rank_collective;
typedef enum { kSum, kMax } rank_op;

/* The root is rank 0, elements are doubles. bcast: the buffer is `receive`. */
typedef struct {
  rank_collective collective;
  rank_op op;
  const double* send;
  double* receive;
  uint64_t count; /* elements */
  void* state;    /* of the system */
} rank_call;

void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* size);
/* Whatever the system does once for a call that is made often. */
void rank_prepare(rank_call* call);
void rank_run(rank_call* call);
/* Without blocking; `rank_wait` ends it. */
void rank_post(rank_call* call);
void rank_wait(rank_call* call);
void rank_release(rank_call* call);
void rank_end(void);

#endif /* COPSE_BENCH_RANK_H_ */
