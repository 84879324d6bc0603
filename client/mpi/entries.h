/* SPDX-License-Identifier: Apache-2.0
 *
 * The MPI functions that libcopse-mpi.so takes the place of, without their prefix: for each, MPI_X and PMPI_X. The one
 * list for the assembler (trampolines.S), the preload and the back ends. */
#ifndef COPSE_CLIENT_MPI_ENTRIES_H_
#define COPSE_CLIENT_MPI_ENTRIES_H_

#define COPSE_MPI_ENTRIES(ENTRY) \
  ENTRY(Init)                    \
  ENTRY(Init_thread)             \
  ENTRY(Finalize)                \
  ENTRY(Barrier)                 \
  ENTRY(Bcast)                   \
  ENTRY(Reduce)                  \
  ENTRY(Allreduce)               \
  ENTRY(Gather)                  \
  ENTRY(Gatherv)                 \
  ENTRY(Scatter)                 \
  ENTRY(Scatterv)                \
  ENTRY(Allgather)               \
  ENTRY(Allgatherv)              \
  ENTRY(Alltoall)                \
  ENTRY(Alltoallv)               \
  ENTRY(Reduce_scatter)          \
  ENTRY(Reduce_scatter_block)    \
  ENTRY(Scan)                    \
  ENTRY(Exscan)

#endif /* COPSE_CLIENT_MPI_ENTRIES_H_ */
