/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares one rank's calls, which are implemented by Copse, MPI libraries and plain sockets, so that rank_main.c can
 * measure all of them alike. A function that fails prints a line and ends the process with exit code 1.
 */
#ifndef COPSE_BENCH_RANKS_RANK_H_
#define COPSE_BENCH_RANKS_RANK_H_

#include <stddef.h>
#include <stdint.h>

#include "client/copse.h"

typedef enum { kSum, kMax } rank_op;

/* The root is rank 0. Elements are doubles or bytes. bcast: the buffer is `receive`. */
typedef struct {
  copse_collective_t collective;
  int of_bytes; /* else of doubles */
  rank_op op;
  const void* send;
  void* receive;
  uint64_t count; /* elements, as copse_coll_args_t counts them; of irregular ones this rank's own */
  /* Irregular ones have these, by rank: how long blocks are, and where they begin, in elements. Rank i's block to rank
   * j of an alltoallv is as long as j's to i, so a rank has one such list for both ways. */
  const uint64_t* counts;
  const uint64_t* displacements;
  int counts_known; /* by all ranks, which the system may use */
  void* state;      /* of the system */
} rank_call;

void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* size);
/* Does the work that the system needs only once for a call that is made often, such as making a persistent request. */
void rank_prepare(rank_call* call);
void rank_run(rank_call* call);
/* Starts the call without blocking; rank_wait completes it. */
void rank_post(rank_call* call);
void rank_wait(rank_call* call);
void rank_release(rank_call* call);
/* All ranks call both functions. Calls that are prepared between the two are made on a new team of the same ranks. */
void rank_enter_team(void);
void rank_leave_team(void);
/* Allocates memory of the kind that is fastest for the system's messages, such as registered memory. */
void* rank_allocate(size_t bytes);
void rank_deallocate(void* memory);
void rank_end(void);

#endif /* COPSE_BENCH_RANKS_RANK_H_ */
