/* SPDX-License-Identifier: Apache-2.0
 *
 * The MPI functions that libcopse-mpi.so takes the place of, without their prefix: for each, MPI_X and PMPI_X. The one
 * list for the assembler (trampolines.S), the preload and the back ends. What came with MPI-4 is apart, since not every
 * MPI's header has it. */
#ifndef COPSE_CLIENT_MPI_API_ENTRIES_H_
#define COPSE_CLIENT_MPI_API_ENTRIES_H_

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

/* Functions that complete or start requests. */
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

/* Functions of MPI_File that libraries make of collectives and requests, which are not the program's: without a buffer,
 * and with a buffer, its count and its type after the file or after an offset. */
#define COPSE_MPI_FILE_CALLS(ENTRY, BUFFER, BUFFER_AT) \
  ENTRY(File_open)                                     \
  ENTRY(File_close)                                    \
  ENTRY(File_delete)                                   \
  ENTRY(File_preallocate)                              \
  ENTRY(File_seek_shared)                              \
  ENTRY(File_set_atomicity)                            \
  ENTRY(File_set_info)                                 \
  ENTRY(File_set_size)                                 \
  ENTRY(File_set_view)                                 \
  ENTRY(File_sync)                                     \
  BUFFER(File_read)                                    \
  BUFFER(File_read_all)                                \
  BUFFER(File_read_all_begin)                          \
  ENTRY(File_read_all_end)                             \
  BUFFER_AT(File_read_at)                              \
  BUFFER_AT(File_read_at_all)                          \
  BUFFER_AT(File_read_at_all_begin)                    \
  ENTRY(File_read_at_all_end)                          \
  BUFFER(File_read_ordered)                            \
  BUFFER(File_read_ordered_begin)                      \
  ENTRY(File_read_ordered_end)                         \
  BUFFER(File_read_shared)                             \
  BUFFER(File_iread)                                   \
  BUFFER(File_iread_all)                               \
  BUFFER_AT(File_iread_at)                             \
  BUFFER_AT(File_iread_at_all)                         \
  BUFFER(File_iread_shared)                            \
  BUFFER(File_write)                                   \
  BUFFER(File_write_all)                               \
  BUFFER(File_write_all_begin)                         \
  ENTRY(File_write_all_end)                            \
  BUFFER_AT(File_write_at)                             \
  BUFFER_AT(File_write_at_all)                         \
  BUFFER_AT(File_write_at_all_begin)                   \
  ENTRY(File_write_at_all_end)                         \
  BUFFER(File_write_ordered)                           \
  BUFFER(File_write_ordered_begin)                     \
  ENTRY(File_write_ordered_end)                        \
  BUFFER(File_write_shared)                            \
  BUFFER(File_iwrite)                                  \
  BUFFER(File_iwrite_all)                              \
  BUFFER_AT(File_iwrite_at)                            \
  BUFFER_AT(File_iwrite_at_all)                        \
  BUFFER(File_iwrite_shared)
#define COPSE_MPI_LARGE_FILE_CALLS(BUFFER, BUFFER_AT) \
  BUFFER(File_read_c)                                 \
  BUFFER(File_read_all_c)                             \
  BUFFER(File_read_all_begin_c)                       \
  BUFFER_AT(File_read_at_c)                           \
  BUFFER_AT(File_read_at_all_c)                       \
  BUFFER_AT(File_read_at_all_begin_c)                 \
  BUFFER(File_read_ordered_c)                         \
  BUFFER(File_read_ordered_begin_c)                   \
  BUFFER(File_read_shared_c)                          \
  BUFFER(File_iread_c)                                \
  BUFFER(File_iread_all_c)                            \
  BUFFER_AT(File_iread_at_c)                          \
  BUFFER_AT(File_iread_at_all_c)                      \
  BUFFER(File_iread_shared_c)                         \
  BUFFER(File_write_c)                                \
  BUFFER(File_write_all_c)                            \
  BUFFER(File_write_all_begin_c)                      \
  BUFFER_AT(File_write_at_c)                          \
  BUFFER_AT(File_write_at_all_c)                      \
  BUFFER_AT(File_write_at_all_begin_c)                \
  BUFFER(File_write_ordered_c)                        \
  BUFFER(File_write_ordered_begin_c)                  \
  BUFFER(File_write_shared_c)                         \
  BUFFER(File_iwrite_c)                               \
  BUFFER(File_iwrite_all_c)                           \
  BUFFER_AT(File_iwrite_at_c)                         \
  BUFFER_AT(File_iwrite_at_all_c)                     \
  BUFFER(File_iwrite_shared_c)

/* What MPI does with a program's memory, by where its buffers are among the arguments: one at the front, with its count
 * and type; a second one behind the first message's, or behind the first buffer's; elsewhere. Those of one, by where
 * their communicator or window is: behind two arguments more, of messages that are started later, too; behind four,
 * nowhere; behind four, behind five. */
#define COPSE_MPI_ONE_BUFFER(MESSAGE, STARTED, REPLACED, MATCHED, PUT, COMBINED) \
  MESSAGE(Send)                                                                  \
  MESSAGE(Bsend)                                                                 \
  MESSAGE(Ssend)                                                                 \
  MESSAGE(Rsend)                                                                 \
  MESSAGE(Isend)                                                                 \
  MESSAGE(Ibsend)                                                                \
  MESSAGE(Issend)                                                                \
  MESSAGE(Irsend)                                                                \
  STARTED(Send_init)                                                             \
  STARTED(Bsend_init)                                                            \
  STARTED(Ssend_init)                                                            \
  STARTED(Rsend_init)                                                            \
  MESSAGE(Recv)                                                                  \
  MESSAGE(Irecv)                                                                 \
  STARTED(Recv_init)                                                             \
  MATCHED(Mrecv)                                                                 \
  MATCHED(Imrecv)                                                                \
  REPLACED(Sendrecv_replace)                                                     \
  PUT(Put)                                                                       \
  PUT(Get)                                                                       \
  COMBINED(Accumulate)                                                           \
  PUT(Rput)                                                                      \
  PUT(Rget)                                                                      \
  COMBINED(Raccumulate)
#define COPSE_MPI_MESSAGE_BUFFERS(ENTRY) ENTRY(Sendrecv)
#define COPSE_MPI_RESULT_BUFFERS(ENTRY) \
  ENTRY(Get_accumulate)                 \
  ENTRY(Rget_accumulate)
#define COPSE_MPI_OTHER_BUFFERS(ENTRY) \
  ENTRY(Buffer_attach)                 \
  ENTRY(Fetch_and_op)                  \
  ENTRY(Compare_and_swap)              \
  ENTRY(Pack)                          \
  ENTRY(Unpack)                        \
  ENTRY(Pack_external)                 \
  ENTRY(Unpack_external)               \
  ENTRY(Reduce_local)
/* Neighborhood collectives, by the number of arguments before the communicator. */
#define COPSE_MPI_NEIGHBORHOODS(SIX, SEVEN, EIGHT) \
  SIX(Neighbor_allgather)                          \
  SEVEN(Neighbor_allgatherv)                       \
  SIX(Neighbor_alltoall)                           \
  EIGHT(Neighbor_alltoallv)                        \
  EIGHT(Neighbor_alltoallw)                        \
  SIX(Ineighbor_allgather)                         \
  SEVEN(Ineighbor_allgatherv)                      \
  SIX(Ineighbor_alltoall)                          \
  EIGHT(Ineighbor_alltoallv)                       \
  EIGHT(Ineighbor_alltoallw)
#define COPSE_MPI_LARGE_ONE_BUFFER(MESSAGE, STARTED, REPLACED, MATCHED, PUT, COMBINED) \
  MESSAGE(Send_c)                                                                      \
  MESSAGE(Bsend_c)                                                                     \
  MESSAGE(Ssend_c)                                                                     \
  MESSAGE(Rsend_c)                                                                     \
  MESSAGE(Isend_c)                                                                     \
  MESSAGE(Ibsend_c)                                                                    \
  MESSAGE(Issend_c)                                                                    \
  MESSAGE(Irsend_c)                                                                    \
  STARTED(Send_init_c)                                                                 \
  STARTED(Bsend_init_c)                                                                \
  STARTED(Ssend_init_c)                                                                \
  STARTED(Rsend_init_c)                                                                \
  MESSAGE(Recv_c)                                                                      \
  MESSAGE(Irecv_c)                                                                     \
  STARTED(Recv_init_c)                                                                 \
  MATCHED(Mrecv_c)                                                                     \
  MATCHED(Imrecv_c)                                                                    \
  REPLACED(Sendrecv_replace_c)                                                         \
  REPLACED(Isendrecv_replace)                                                          \
  REPLACED(Isendrecv_replace_c)                                                        \
  PUT(Put_c)                                                                           \
  PUT(Get_c)                                                                           \
  COMBINED(Accumulate_c)                                                               \
  PUT(Rput_c)                                                                          \
  PUT(Rget_c)                                                                          \
  COMBINED(Raccumulate_c)
#define COPSE_MPI_LARGE_MESSAGE_BUFFERS(ENTRY) \
  ENTRY(Sendrecv_c)                            \
  ENTRY(Isendrecv)                             \
  ENTRY(Isendrecv_c)
#define COPSE_MPI_LARGE_RESULT_BUFFERS(ENTRY) \
  ENTRY(Get_accumulate_c)                     \
  ENTRY(Rget_accumulate_c)
#define COPSE_MPI_LARGE_OTHER_BUFFERS(ENTRY) \
  ENTRY(Buffer_attach_c)                     \
  ENTRY(Pready)                              \
  ENTRY(Pready_range)                        \
  ENTRY(Pready_list)                         \
  ENTRY(Pack_c)                              \
  ENTRY(Unpack_c)                            \
  ENTRY(Pack_external_c)                     \
  ENTRY(Unpack_external_c)                   \
  ENTRY(Reduce_local_c)
#define COPSE_MPI_LARGE_NEIGHBORHOODS(SIX, SEVEN, EIGHT) \
  SIX(Neighbor_allgather_c)                              \
  SEVEN(Neighbor_allgatherv_c)                           \
  SIX(Neighbor_alltoall_c)                               \
  EIGHT(Neighbor_alltoallv_c)                            \
  EIGHT(Neighbor_alltoallw_c)                            \
  SIX(Ineighbor_allgather_c)                             \
  SEVEN(Ineighbor_allgatherv_c)                          \
  SIX(Ineighbor_alltoall_c)                              \
  EIGHT(Ineighbor_alltoallv_c)                           \
  EIGHT(Ineighbor_alltoallw_c)

/* Without buffers, and passed on: those in which MPI takes turns, so that fault handlers know where they are. */
#define COPSE_MPI_PASSED_CALLS(ENTRY) \
  ENTRY(Probe)                        \
  ENTRY(Iprobe)                       \
  ENTRY(Mprobe)                       \
  ENTRY(Improbe)                      \
  ENTRY(Comm_dup)                     \
  ENTRY(Comm_dup_with_info)           \
  ENTRY(Comm_idup)                    \
  ENTRY(Comm_split)                   \
  ENTRY(Comm_split_type)              \
  ENTRY(Comm_create)                  \
  ENTRY(Comm_create_group)            \
  ENTRY(Comm_free)                    \
  ENTRY(Comm_disconnect)              \
  ENTRY(Comm_spawn)                   \
  ENTRY(Comm_spawn_multiple)          \
  ENTRY(Comm_accept)                  \
  ENTRY(Comm_connect)                 \
  ENTRY(Intercomm_create)             \
  ENTRY(Intercomm_merge)              \
  ENTRY(Cart_create)                  \
  ENTRY(Cart_sub)                     \
  ENTRY(Graph_create)                 \
  ENTRY(Dist_graph_create)            \
  ENTRY(Dist_graph_create_adjacent)

/* Functions that make windows. */
#define COPSE_MPI_WINDOW_MAKERS(ENTRY) \
  ENTRY(Win_create)                    \
  ENTRY(Win_create_dynamic)            \
  ENTRY(Win_allocate)                  \
  ENTRY(Win_allocate_shared)
#define COPSE_MPI_LARGE_WINDOW_MAKERS(ENTRY) \
  ENTRY(Win_create_c)                        \
  ENTRY(Win_allocate_c)                      \
  ENTRY(Win_allocate_shared_c)

/* The entries of MPI-3, and those that MPI-4 added. */
#define COPSE_MPI_3_ENTRIES(ENTRY)                               \
  ENTRY(Init)                                                    \
  ENTRY(Init_thread)                                             \
  ENTRY(Finalize)                                                \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_MODES, ENTRY)                  \
  COPSE_MPI_COMPLETIONS(ENTRY)                                   \
  COPSE_MPI_FILE_CALLS(ENTRY, ENTRY, ENTRY)                      \
  COPSE_MPI_WINDOW_MAKERS(ENTRY)                                 \
  COPSE_MPI_ONE_BUFFER(ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY) \
  COPSE_MPI_MESSAGE_BUFFERS(ENTRY)                               \
  COPSE_MPI_RESULT_BUFFERS(ENTRY)                                \
  COPSE_MPI_OTHER_BUFFERS(ENTRY)                                 \
  COPSE_MPI_NEIGHBORHOODS(ENTRY, ENTRY, ENTRY)                   \
  COPSE_MPI_PASSED_CALLS(ENTRY)                                  \
  ENTRY(Win_free)                                                \
  ENTRY(Error_string)                                            \
  ENTRY(Alloc_mem)                                               \
  ENTRY(Free_mem)
#define COPSE_MPI_4_ENTRIES(ENTRY)                                     \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_PERSISTENT, ENTRY)                   \
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(COPSE_MPI_LARGE, ENTRY)            \
  COPSE_MPI_LARGE_FILE_CALLS(ENTRY, ENTRY)                             \
  COPSE_MPI_LARGE_ONE_BUFFER(ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY) \
  COPSE_MPI_LARGE_MESSAGE_BUFFERS(ENTRY)                               \
  COPSE_MPI_LARGE_RESULT_BUFFERS(ENTRY)                                \
  COPSE_MPI_LARGE_OTHER_BUFFERS(ENTRY)                                 \
  COPSE_MPI_LARGE_NEIGHBORHOODS(ENTRY, ENTRY, ENTRY)                   \
  COPSE_MPI_LARGE_WINDOW_MAKERS(ENTRY)
#define COPSE_MPI_ENTRIES(ENTRY) \
  COPSE_MPI_3_ENTRIES(ENTRY)     \
  COPSE_MPI_4_ENTRIES(ENTRY)

#endif /* COPSE_CLIENT_MPI_API_ENTRIES_H_ */
