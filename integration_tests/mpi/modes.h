/* SPDX-License-Identifier: Apache-2.0
 *
 * Every collective in every mode that the MPI has, each behind the signature of the blocking one. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_MODES_H_
#define COPSE_INTEGRATION_TESTS_MPI_MODES_H_

#include <mpi.h>

#define COLLECTIVES_WITH_COUNTS(F) \
  F(Bcast)                         \
  F(Reduce)                        \
  F(Allreduce)                     \
  F(Gather)                        \
  F(Gatherv)                       \
  F(Scatter)                       \
  F(Scatterv)                      \
  F(Allgather)                     \
  F(Allgatherv)                    \
  F(Alltoall)                      \
  F(Alltoallv)                     \
  F(Alltoallw)                     \
  F(Reduce_scatter)                \
  F(Reduce_scatter_block)          \
  F(Scan)                          \
  F(Exscan)
#define COLLECTIVES(F) F(Barrier) COLLECTIVES_WITH_COUNTS(F)

struct api {
#define POINTER(name) __typeof__(&MPI_##name) name;
  COLLECTIVES(POINTER)
#undef POINTER
};

struct mode {
  const char* name;
  struct api api;
  int persistent;
};

/* Blocking, non-blocking, and with MPI-4 persistent, and all of these with large counts. Non-blocking calls end in turn
 * by each function that completes requests, among sends and receives. */
extern const struct mode kModes[];
extern const int kModeCount;

/* Whether a persistent call's second start would give something else. */
extern int start_once;

#endif /* COPSE_INTEGRATION_TESTS_MPI_MODES_H_ */
