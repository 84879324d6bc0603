/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI's collectives and their arguments, said once for the blocking and the non-blocking form: CALL(Barrier) and
 * CALL(Ibarrier, &request). Where a macro is used, these names mean what the call takes: team, send, receive, count,
 * counts, places, type, op.
 */
#ifndef COPSE_BENCH_RANKS_MPI_CALLS_H_
#define COPSE_BENCH_RANKS_MPI_CALLS_H_

#include <mpi.h>

#define CALL_BARRIER(name, ...) MPI_##name(team, ##__VA_ARGS__)
#define CALL_BCAST(name, ...) MPI_##name(receive, count, type, 0, team, ##__VA_ARGS__)
#define CALL_REDUCE(name, ...) MPI_##name(send, receive, count, type, op, 0, team, ##__VA_ARGS__)
#define CALL_ALLREDUCE(name, ...) MPI_##name(send, receive, count, type, op, team, ##__VA_ARGS__)
#define CALL_REDUCE_SCATTER(name, ...) MPI_##name(send, receive, counts, type, op, team, ##__VA_ARGS__)
#define CALL_GATHER(name, ...) MPI_##name(send, count, type, receive, count, type, 0, team, ##__VA_ARGS__)
#define CALL_GATHERV(name, ...) MPI_##name(send, count, type, receive, counts, places, type, 0, team, ##__VA_ARGS__)
#define CALL_SCATTERV(name, ...) MPI_##name(send, counts, places, type, receive, count, type, 0, team, ##__VA_ARGS__)
#define CALL_ALLGATHER(name, ...) MPI_##name(send, count, type, receive, count, type, team, ##__VA_ARGS__)
#define CALL_ALLGATHERV(name, ...) MPI_##name(send, count, type, receive, counts, places, type, team, ##__VA_ARGS__)
#define CALL_ALLTOALLV(name, ...) \
  MPI_##name(send, counts, places, type, receive, counts, places, type, team, ##__VA_ARGS__)

/* EACH(COPSE_COLL_name, name, non-blocking name, macro) for each collective that Copse has. */
#define MPI_COLLECTIVES(EACH)                                                       \
  EACH(BARRIER, Barrier, Ibarrier, CALL_BARRIER)                                    \
  EACH(BCAST, Bcast, Ibcast, CALL_BCAST)                                            \
  EACH(REDUCE, Reduce, Ireduce, CALL_REDUCE)                                        \
  EACH(ALLREDUCE, Allreduce, Iallreduce, CALL_ALLREDUCE)                            \
  EACH(GATHER, Gather, Igather, CALL_GATHER)                                        \
  EACH(SCATTER, Scatter, Iscatter, CALL_GATHER)                                     \
  EACH(ALLGATHER, Allgather, Iallgather, CALL_ALLGATHER)                            \
  EACH(ALLTOALL, Alltoall, Ialltoall, CALL_ALLGATHER)                               \
  EACH(REDUCE_SCATTER, Reduce_scatter_block, Ireduce_scatter_block, CALL_ALLREDUCE) \
  EACH(SCAN, Scan, Iscan, CALL_ALLREDUCE)                                           \
  EACH(EXSCAN, Exscan, Iexscan, CALL_ALLREDUCE)                                     \
  EACH(GATHERV, Gatherv, Igatherv, CALL_GATHERV)                                    \
  EACH(SCATTERV, Scatterv, Iscatterv, CALL_SCATTERV)                                \
  EACH(ALLGATHERV, Allgatherv, Iallgatherv, CALL_ALLGATHERV)                        \
  EACH(ALLTOALLV, Alltoallv, Ialltoallv, CALL_ALLTOALLV)                            \
  EACH(REDUCE_SCATTERV, Reduce_scatter, Ireduce_scatter, CALL_REDUCE_SCATTER)

#endif /* COPSE_BENCH_RANKS_MPI_CALLS_H_ */
