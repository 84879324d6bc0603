/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives that have buffers, one list for all programs of this folder: KIND(enumerator, name). */
#ifndef COPSE_INTEGRATION_TESTS_MPI_KINDS_H_
#define COPSE_INTEGRATION_TESTS_MPI_KINDS_H_

/* The reductions come last. */
#define COLLECTIVE_KINDS(KIND)                       \
  KIND(BCAST, "bcast")                               \
  KIND(REDUCE, "reduce")                             \
  KIND(ALLREDUCE, "allreduce")                       \
  KIND(GATHER, "gather")                             \
  KIND(GATHERV, "gatherv")                           \
  KIND(SCATTER, "scatter")                           \
  KIND(SCATTERV, "scatterv")                         \
  KIND(ALLGATHER, "allgather")                       \
  KIND(ALLGATHERV, "allgatherv")                     \
  KIND(ALLTOALL, "alltoall")                         \
  KIND(ALLTOALLV, "alltoallv")                       \
  KIND(ALLTOALLW, "alltoallw")                       \
  KIND(REDUCE_SCATTER, "reduce_scatter")             \
  KIND(REDUCE_SCATTER_BLOCK, "reduce_scatter_block") \
  KIND(SCAN, "scan")                                 \
  KIND(EXSCAN, "exscan")
#define KIND_ENUMERATOR(enumerator, name) enumerator,
#define KIND_NAME(enumerator, name) name,

#endif /* COPSE_INTEGRATION_TESTS_MPI_KINDS_H_ */
