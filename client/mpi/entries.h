/* SPDX-License-Identifier: Apache-2.0
 *
 * The MPI functions that libcopse-mpi.so takes the place of, without their prefix: for each, MPI_X and PMPI_X. The one
 * list for the assembler (trampolines.S), the preload and the back ends. What came with MPI-4 is apart, since not every
 * MPI's header has it. */
#ifndef COPSE_CLIENT_MPI_ENTRIES_H_
#define COPSE_CLIENT_MPI_ENTRIES_H_

/* Each collective, and its name when it is non-blocking. */
#define COPSE_MPI_COLLECTIVES_WITH_COUNTS(COLLECTIVE, ENTRY)     \
  COLLECTIVE(ENTRY, Bcast, Ibcast)                               \
  COLLECTIVE(ENTRY, Reduce, Ireduce)                             \
  COLLECTIVE(ENTRY, Allreduce, Iallreduce)                       \
  COLLECTIVE(ENTRY, Gather, Igather)                             \
  COLLECTIVE(ENTRY, Gatherv, Igatherv)                           \
  COLLECTIVE(ENTRY, Scatter, Iscatter)                           \
  COLLECTIVE(ENTRY, Scatterv, Iscatterv)                         \
  COLLECTIVE(ENTRY, Allgather, Iallgather)                       \
  COLLECTIVE(ENTRY, Allgatherv, Iallgatherv)                     \
  COLLECTIVE(ENTRY, Alltoall, Ialltoall)                         \
  COLLECTIVE(ENTRY, Alltoallv, Ialltoallv)                       \
  COLLECTIVE(ENTRY, Alltoallw, Ialltoallw)                       \
  COLLECTIVE(ENTRY, Reduce_scatter, Ireduce_scatter)             \
  COLLECTIVE(ENTRY, Reduce_scatter_block, Ireduce_scatter_block) \
  COLLECTIVE(ENTRY, Scan, Iscan)                                 \
  COLLECTIVE(ENTRY, Exscan, Iexscan)
#define COPSE_MPI_COLLECTIVES(COLLECTIVE, ENTRY) \
  COLLECTIVE(ENTRY, Barrier, Ibarrier)           \
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(COLLECTIVE, ENTRY)

#define COPSE_MPI_MODES(ENTRY, name, iname) ENTRY(name) ENTRY(iname)
#define COPSE_MPI_PERSISTENT(ENTRY, name, iname) ENTRY(name##_init)
#define COPSE_MPI_LARGE(ENTRY, name, iname) ENTRY(name##_c) ENTRY(iname##_c) ENTRY(name##_init_c)

/* What ends or starts requests. */
#define COPSE_MPI_COMPLETIONS(ENTRY) \
  ENTRY(Wait)                        \
  ENTRY(Waitall)                     \
  ENTRY(Waitany)                     \
  ENTRY(Waitsome)                    \
  ENTRY(Test)                        \
  ENTRY(Testall)                     \
  ENTRY(Testany)                     \
  ENTRY(Testsome)                    \
  ENTRY(Request_get_status)          \
  ENTRY(Request_free)                \
  ENTRY(Cancel)                      \
  ENTRY(Start)                       \
  ENTRY(Startall)

/* Of MPI_File those that libraries make of collectives and requests, which are theirs and not the program's. */
#define COPSE_MPI_FILE_CALLS(ENTRY) \
  ENTRY(File_open)                  \
  ENTRY(File_close)                 \
  ENTRY(File_delete)                \
  ENTRY(File_preallocate)           \
  ENTRY(File_seek_shared)           \
  ENTRY(File_set_atomicity)         \
  ENTRY(File_set_info)              \
  ENTRY(File_set_size)              \
  ENTRY(File_set_view)              \
  ENTRY(File_sync)                  \
  ENTRY(File_read)                  \
  ENTRY(File_read_all)              \
  ENTRY(File_read_all_begin)        \
  ENTRY(File_read_all_end)          \
  ENTRY(File_read_at)               \
  ENTRY(File_read_at_all)           \
  ENTRY(File_read_at_all_begin)     \
  ENTRY(File_read_at_all_end)       \
  ENTRY(File_read_ordered)          \
  ENTRY(File_read_ordered_begin)    \
  ENTRY(File_read_ordered_end)      \
  ENTRY(File_read_shared)           \
  ENTRY(File_iread)                 \
  ENTRY(File_iread_all)             \
  ENTRY(File_iread_at)              \
  ENTRY(File_iread_at_all)          \
  ENTRY(File_iread_shared)          \
  ENTRY(File_write)                 \
  ENTRY(File_write_all)             \
  ENTRY(File_write_all_begin)       \
  ENTRY(File_write_all_end)         \
  ENTRY(File_write_at)              \
  ENTRY(File_write_at_all)          \
  ENTRY(File_write_at_all_begin)    \
  ENTRY(File_write_at_all_end)      \
  ENTRY(File_write_ordered)         \
  ENTRY(File_write_ordered_begin)   \
  ENTRY(File_write_ordered_end)     \
  ENTRY(File_write_shared)          \
  ENTRY(File_iwrite)                \
  ENTRY(File_iwrite_all)            \
  ENTRY(File_iwrite_at)             \
  ENTRY(File_iwrite_at_all)         \
  ENTRY(File_iwrite_shared)
#define COPSE_MPI_LARGE_FILE_CALLS(ENTRY) \
  ENTRY(File_read_c)                      \
  ENTRY(File_read_all_c)                  \
  ENTRY(File_read_all_begin_c)            \
  ENTRY(File_read_at_c)                   \
  ENTRY(File_read_at_all_c)               \
  ENTRY(File_read_at_all_begin_c)         \
  ENTRY(File_read_ordered_c)              \
  ENTRY(File_read_ordered_begin_c)        \
  ENTRY(File_read_shared_c)               \
  ENTRY(File_iread_c)                     \
  ENTRY(File_iread_all_c)                 \
  ENTRY(File_iread_at_c)                  \
  ENTRY(File_iread_at_all_c)              \
  ENTRY(File_iread_shared_c)              \
  ENTRY(File_write_c)                     \
  ENTRY(File_write_all_c)                 \
  ENTRY(File_write_all_begin_c)           \
  ENTRY(File_write_at_c)                  \
  ENTRY(File_write_at_all_c)              \
  ENTRY(File_write_at_all_begin_c)        \
  ENTRY(File_write_ordered_c)             \
  ENTRY(File_write_ordered_begin_c)       \
  ENTRY(File_write_shared_c)              \
  ENTRY(File_iwrite_c)                    \
  ENTRY(File_iwrite_all_c)                \
  ENTRY(File_iwrite_at_c)                 \
  ENTRY(File_iwrite_at_all_c)             \
  ENTRY(File_iwrite_shared_c)

/* What makes and ends windows. */
#define COPSE_MPI_WINDOW_MAKERS(ENTRY) \
  ENTRY(Win_create)                    \
  ENTRY(Win_create_dynamic)            \
  ENTRY(Win_allocate)                  \
  ENTRY(Win_allocate_shared)
#define COPSE_MPI_LARGE_WINDOW_MAKERS(ENTRY) \
  ENTRY(Win_create_c)                        \
  ENTRY(Win_allocate_c)                      \
  ENTRY(Win_allocate_shared_c)

/* Those of MPI-3, and what MPI-4 added. */
#define COPSE_MPI_3_ENTRIES(ENTRY)              \
  ENTRY(Init)                                   \
  ENTRY(Init_thread)                            \
  ENTRY(Finalize)                               \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_MODES, ENTRY) \
  COPSE_MPI_COMPLETIONS(ENTRY)                  \
  COPSE_MPI_FILE_CALLS(ENTRY)                   \
  COPSE_MPI_WINDOW_MAKERS(ENTRY)                \
  ENTRY(Win_free)
#define COPSE_MPI_4_ENTRIES(ENTRY)                          \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_PERSISTENT, ENTRY)        \
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(COPSE_MPI_LARGE, ENTRY) \
  COPSE_MPI_LARGE_FILE_CALLS(ENTRY)                         \
  COPSE_MPI_LARGE_WINDOW_MAKERS(ENTRY)
#define COPSE_MPI_ENTRIES(ENTRY) \
  COPSE_MPI_3_ENTRIES(ENTRY)     \
  COPSE_MPI_4_ENTRIES(ENTRY)

#endif /* COPSE_CLIENT_MPI_ENTRIES_H_ */
