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

/* What MPI does with a program's memory, by where its buffers are among the arguments: one at the front, with its count
 * and type; a second one behind the first message's, or behind the first buffer's; elsewhere. */
#define COPSE_MPI_ONE_BUFFER(ENTRY) \
  ENTRY(Send)                       \
  ENTRY(Bsend)                      \
  ENTRY(Ssend)                      \
  ENTRY(Rsend)                      \
  ENTRY(Isend)                      \
  ENTRY(Ibsend)                     \
  ENTRY(Issend)                     \
  ENTRY(Irsend)                     \
  ENTRY(Send_init)                  \
  ENTRY(Bsend_init)                 \
  ENTRY(Ssend_init)                 \
  ENTRY(Rsend_init)                 \
  ENTRY(Recv)                       \
  ENTRY(Irecv)                      \
  ENTRY(Recv_init)                  \
  ENTRY(Mrecv)                      \
  ENTRY(Imrecv)                     \
  ENTRY(Sendrecv_replace)           \
  ENTRY(Put)                        \
  ENTRY(Get)                        \
  ENTRY(Accumulate)                 \
  ENTRY(Rput)                       \
  ENTRY(Rget)                       \
  ENTRY(Raccumulate)
#define COPSE_MPI_MESSAGE_BUFFERS(ENTRY) ENTRY(Sendrecv)
#define COPSE_MPI_RESULT_BUFFERS(ENTRY) \
  ENTRY(Get_accumulate)                 \
  ENTRY(Rget_accumulate)
#define COPSE_MPI_OTHER_BUFFERS(ENTRY) \
  ENTRY(Fetch_and_op)                  \
  ENTRY(Compare_and_swap)              \
  ENTRY(Pack)                          \
  ENTRY(Unpack)                        \
  ENTRY(Pack_external)                 \
  ENTRY(Unpack_external)               \
  ENTRY(Reduce_local)                  \
  ENTRY(Neighbor_allgather)            \
  ENTRY(Neighbor_allgatherv)           \
  ENTRY(Neighbor_alltoall)             \
  ENTRY(Neighbor_alltoallv)            \
  ENTRY(Neighbor_alltoallw)            \
  ENTRY(Ineighbor_allgather)           \
  ENTRY(Ineighbor_allgatherv)          \
  ENTRY(Ineighbor_alltoall)            \
  ENTRY(Ineighbor_alltoallv)           \
  ENTRY(Ineighbor_alltoallw)
#define COPSE_MPI_LARGE_ONE_BUFFER(ENTRY) \
  ENTRY(Send_c)                           \
  ENTRY(Bsend_c)                          \
  ENTRY(Ssend_c)                          \
  ENTRY(Rsend_c)                          \
  ENTRY(Isend_c)                          \
  ENTRY(Ibsend_c)                         \
  ENTRY(Issend_c)                         \
  ENTRY(Irsend_c)                         \
  ENTRY(Send_init_c)                      \
  ENTRY(Bsend_init_c)                     \
  ENTRY(Ssend_init_c)                     \
  ENTRY(Rsend_init_c)                     \
  ENTRY(Recv_c)                           \
  ENTRY(Irecv_c)                          \
  ENTRY(Recv_init_c)                      \
  ENTRY(Mrecv_c)                          \
  ENTRY(Imrecv_c)                         \
  ENTRY(Sendrecv_replace_c)               \
  ENTRY(Put_c)                            \
  ENTRY(Get_c)                            \
  ENTRY(Accumulate_c)                     \
  ENTRY(Rput_c)                           \
  ENTRY(Rget_c)                           \
  ENTRY(Raccumulate_c)
#define COPSE_MPI_LARGE_MESSAGE_BUFFERS(ENTRY) ENTRY(Sendrecv_c)
#define COPSE_MPI_LARGE_RESULT_BUFFERS(ENTRY) \
  ENTRY(Get_accumulate_c)                     \
  ENTRY(Rget_accumulate_c)
#define COPSE_MPI_LARGE_OTHER_BUFFERS(ENTRY) \
  ENTRY(Pack_c)                              \
  ENTRY(Unpack_c)                            \
  ENTRY(Pack_external_c)                     \
  ENTRY(Unpack_external_c)                   \
  ENTRY(Reduce_local_c)                      \
  ENTRY(Neighbor_allgather_c)                \
  ENTRY(Neighbor_allgatherv_c)               \
  ENTRY(Neighbor_alltoall_c)                 \
  ENTRY(Neighbor_alltoallv_c)                \
  ENTRY(Neighbor_alltoallw_c)                \
  ENTRY(Ineighbor_allgather_c)               \
  ENTRY(Ineighbor_allgatherv_c)              \
  ENTRY(Ineighbor_alltoall_c)                \
  ENTRY(Ineighbor_alltoallv_c)               \
  ENTRY(Ineighbor_alltoallw_c)

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
  COPSE_MPI_ONE_BUFFER(ENTRY)                   \
  COPSE_MPI_MESSAGE_BUFFERS(ENTRY)              \
  COPSE_MPI_RESULT_BUFFERS(ENTRY)               \
  COPSE_MPI_OTHER_BUFFERS(ENTRY)                \
  ENTRY(Win_free)
#define COPSE_MPI_4_ENTRIES(ENTRY)                          \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_PERSISTENT, ENTRY)        \
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(COPSE_MPI_LARGE, ENTRY) \
  COPSE_MPI_LARGE_FILE_CALLS(ENTRY)                         \
  COPSE_MPI_LARGE_ONE_BUFFER(ENTRY)                         \
  COPSE_MPI_LARGE_MESSAGE_BUFFERS(ENTRY)                    \
  COPSE_MPI_LARGE_RESULT_BUFFERS(ENTRY)                     \
  COPSE_MPI_LARGE_OTHER_BUFFERS(ENTRY)                      \
  COPSE_MPI_LARGE_WINDOW_MAKERS(ENTRY)
#define COPSE_MPI_ENTRIES(ENTRY) \
  COPSE_MPI_3_ENTRIES(ENTRY)     \
  COPSE_MPI_4_ENTRIES(ENTRY)

#endif /* COPSE_CLIENT_MPI_ENTRIES_H_ */
