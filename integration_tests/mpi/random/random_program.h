/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the random program share: how it runs, and what a thread of it holds. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_RANDOM_PROGRAM_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_RANDOM_PROGRAM_H_

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum {
  SLOTS = 6,     /* communicators of a thread at a time */
  PENDING = 16,  /* operations of a thread at a time */
  UNTOUCHED = 8, /* results of blocking calls that a thread has not looked at */
  RANKS_MAX = 64,
};

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      printf("rank %d, %s:%d: " #condition "\n", world_rank, __FILE__, __LINE__); \
      fflush(stdout);                                                             \
      MPI_Abort(MPI_COMM_WORLD, 1);                                               \
    }                                                                             \
  } while (0)

extern int world_rank, threads, tracing, persistent, touching;

/* Faults of MPICH 4.0.2: with MPI_IN_PLACE it reads from that address in reduce at other roots than 0, aborts in
 * reduce_scatter, and finds messages too long in gather and alltoallv. With several threads, messages of types with
 * gaps may count as too long. Of Open MPI 4.1.4: with several threads, collectives that do not block may never end, nor
 * may those that make communicators, if threads do so at a time (ompi_comm_nextcid; seed 5 on 3 ranks, without Copse,
 * in the third launch); and seed 137 on 3 ranks may not, with one thread and without Copse, so the tests let it not end
 * some seeds. */
#ifdef OPEN_MPI
#define IN_PLACE_WORKS 1
#define GAPS_WORK_WITH_THREADS 1
#define STARTED_WORKS_WITH_THREADS 0
#define MAKING_WORKS_WITH_THREADS 0
#else
#define IN_PLACE_WORKS 0
#define GAPS_WORK_WITH_THREADS 0
#define STARTED_WORKS_WITH_THREADS 1
#define MAKING_WORKS_WITH_THREADS 1
#endif

struct slot {
  int used; /* by the program; a rank that is no member has MPI_COMM_NULL */
  MPI_Comm comm;
  int size, rank;
  int born; /* at which step, or -1 */
};

struct operation; /* operations.h */

struct thread {
  int number;
  uint64_t seed;
  int steps;
  int now;      /* step */
  uint64_t own; /* chance of this rank alone */
  struct slot slots[SLOTS];
  struct operation* pending[PENDING];
  int pending_count;
  struct operation* untouched[UNTOUCHED];
  int untouched_count;
  uint64_t hash;
  long calls;
};

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_RANDOM_PROGRAM_H_ */
