/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives, one list for all programs of this folder: their kinds, their arguments, and MPI's calls. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_COLLECTIVES_H_
#define COPSE_INTEGRATION_TESTS_MPI_COLLECTIVES_H_

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* The arguments of any collective; each takes those that it has. */
struct collective_arguments {
  const void* send;
  int send_count;
  const int *send_counts, *send_at;
  MPI_Datatype send_type;
  const MPI_Datatype* send_types;
  void* receive;
  int receive_count;
  const int *receive_counts, *receive_at;
  MPI_Datatype receive_type;
  const MPI_Datatype* receive_types;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};

/* COLLECTIVE(kind, name, MPI's function, that which does not block, arguments before the communicator, of `a`), for
 * those that have buffers. The reductions come last. COUNTS and PLACES are arrays, one number a rank. */
#define COLLECTIVES(COLLECTIVE)                                                                                      \
  COLLECTIVE(BCAST, "bcast", Bcast, Ibcast, a->receive, a->receive_count, a->receive_type, a->root)                  \
  COLLECTIVE(REDUCE, "reduce", Reduce, Ireduce, a->send, a->receive, a->send_count, a->send_type, a->op, a->root)    \
  COLLECTIVE(ALLREDUCE, "allreduce", Allreduce, Iallreduce, a->send, a->receive, a->send_count, a->send_type, a->op) \
  COLLECTIVE(GATHER, "gather", Gather, Igather, a->send, a->send_count, a->send_type, a->receive, a->receive_count,  \
             a->receive_type, a->root)                                                                               \
  COLLECTIVE(GATHERV, "gatherv", Gatherv, Igatherv, a->send, a->send_count, a->send_type, a->receive,                \
             COUNTS(a->receive_counts), PLACES(a->receive_at), a->receive_type, a->root)                             \
  COLLECTIVE(SCATTER, "scatter", Scatter, Iscatter, a->send, a->send_count, a->send_type, a->receive,                \
             a->receive_count, a->receive_type, a->root)                                                             \
  COLLECTIVE(SCATTERV, "scatterv", Scatterv, Iscatterv, a->send, COUNTS(a->send_counts), PLACES(a->send_at),         \
             a->send_type, a->receive, a->receive_count, a->receive_type, a->root)                                   \
  COLLECTIVE(ALLGATHER, "allgather", Allgather, Iallgather, a->send, a->send_count, a->send_type, a->receive,        \
             a->receive_count, a->receive_type)                                                                      \
  COLLECTIVE(ALLGATHERV, "allgatherv", Allgatherv, Iallgatherv, a->send, a->send_count, a->send_type, a->receive,    \
             COUNTS(a->receive_counts), PLACES(a->receive_at), a->receive_type)                                      \
  COLLECTIVE(ALLTOALL, "alltoall", Alltoall, Ialltoall, a->send, a->send_count, a->send_type, a->receive,            \
             a->receive_count, a->receive_type)                                                                      \
  COLLECTIVE(ALLTOALLV, "alltoallv", Alltoallv, Ialltoallv, a->send, COUNTS(a->send_counts), PLACES(a->send_at),     \
             a->send_type, a->receive, COUNTS(a->receive_counts), PLACES(a->receive_at), a->receive_type)            \
  COLLECTIVE(ALLTOALLW, "alltoallw", Alltoallw, Ialltoallw, a->send, COUNTS(a->send_counts), PLACES(a->send_at),     \
             a->send_types, a->receive, COUNTS(a->receive_counts), PLACES(a->receive_at), a->receive_types)          \
  COLLECTIVE(REDUCE_SCATTER, "reduce_scatter", Reduce_scatter, Ireduce_scatter, a->send, a->receive,                 \
             COUNTS(a->receive_counts), a->send_type, a->op)                                                         \
  COLLECTIVE(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", Reduce_scatter_block, Ireduce_scatter_block, a->send,     \
             a->receive, a->send_count, a->send_type, a->op)                                                         \
  COLLECTIVE(SCAN, "scan", Scan, Iscan, a->send, a->receive, a->send_count, a->send_type, a->op)                     \
  COLLECTIVE(EXSCAN, "exscan", Exscan, Iexscan, a->send, a->receive, a->send_count, a->send_type, a->op)
#define COUNTS(array) array
#define PLACES(array) array

#define KIND_ENUMERATOR(kind, ...) kind,
/* Behind the collectives: messages. */
enum kind { BARRIER = -1, COLLECTIVES(KIND_ENUMERATOR) KINDS, SEND = KINDS, RECEIVE };

static inline const char* name_of(enum kind kind) {
#define KIND_NAME(kind, name, ...) name,
  static const char* const kNames[] = {COLLECTIVES(KIND_NAME) "send", "receive"};
  return kind == BARRIER ? "barrier" : kNames[kind];
}

static inline int reduces(enum kind kind) { return kind == REDUCE || kind == ALLREDUCE || kind >= REDUCE_SCATTER; }

/* By MPI_X. */
static inline int call_collective(enum kind kind, const struct collective_arguments* a) {
#define CALL_CASE(kind, name, function, ifunction, ...) \
  case kind:                                            \
    return MPI_##function(__VA_ARGS__, a->comm);
  switch (kind) {
    COLLECTIVES(CALL_CASE)
    default:
      return MPI_Barrier(a->comm);
  }
}

/* By MPI_IX. */
static inline int start_collective(enum kind kind, const struct collective_arguments* a, MPI_Request* request) {
#define START_CASE(kind, name, function, ifunction, ...) \
  case kind:                                             \
    return MPI_##ifunction(__VA_ARGS__, a->comm, request);
  switch (kind) {
    COLLECTIVES(START_CASE)
    default:
      return MPI_Ibarrier(a->comm, request);
  }
}

/* By MPI_X_init, or what Open MPI has in its place. */
#if MPI_VERSION >= 4
#define INIT_FUNCTION(function) MPI_##function##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT_FUNCTION(function) MPIX_##function##_init
#endif
static inline int init_collective(enum kind kind, const struct collective_arguments* a, MPI_Request* request) {
#define INIT_CASE(kind, name, function, ifunction, ...) \
  case kind:                                            \
    return INIT_FUNCTION(function)(__VA_ARGS__, a->comm, MPI_INFO_NULL, request);
  switch (kind) {
    COLLECTIVES(INIT_CASE)
    default:
      return INIT_FUNCTION(Barrier)(a->comm, MPI_INFO_NULL, request);
  }
}

#endif /* COPSE_INTEGRATION_TESTS_MPI_COLLECTIVES_H_ */
