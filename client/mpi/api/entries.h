/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the MPI functions that libcopse-mpi.so intercepts, without their prefix: for each X, MPI_X and PMPI_X. It is
 * used by the assembler (trampolines.S), the preload and the back ends. Functions of MPI-4 are in a list of their own,
 * since not every MPI's header declares them. */
#ifndef COPSE_CLIENT_MPI_API_ENTRIES_H_
#define COPSE_CLIENT_MPI_API_ENTRIES_H_

/* Lists each collective with the name of its non-blocking form. */
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

/* Lists the functions that complete or start requests. */
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

/* Lists below with a parameter S are used twice: S is empty, or _c for MPI-4's functions with counts of type
 * MPI_Count. */

/* Lists functions of MPI_File. I/O libraries implement them by collectives and requests, which are not the program's
 * calls. Those of the first list have no buffer; those of the second have a buffer, its count and its type after the
 * file (BUFFER) or after an offset (BUFFER_AT). */
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
  ENTRY(File_read_all_end)          \
  ENTRY(File_read_at_all_end)       \
  ENTRY(File_read_ordered_end)      \
  ENTRY(File_write_all_end)         \
  ENTRY(File_write_at_all_end)      \
  ENTRY(File_write_ordered_end)
#define COPSE_MPI_FILE_BUFFERS(BUFFER, BUFFER_AT, S) \
  BUFFER(File_read##S)                               \
  BUFFER(File_read_all##S)                           \
  BUFFER(File_read_all_begin##S)                     \
  BUFFER_AT(File_read_at##S)                         \
  BUFFER_AT(File_read_at_all##S)                     \
  BUFFER_AT(File_read_at_all_begin##S)               \
  BUFFER(File_read_ordered##S)                       \
  BUFFER(File_read_ordered_begin##S)                 \
  BUFFER(File_read_shared##S)                        \
  BUFFER(File_iread##S)                              \
  BUFFER(File_iread_all##S)                          \
  BUFFER_AT(File_iread_at##S)                        \
  BUFFER_AT(File_iread_at_all##S)                    \
  BUFFER(File_iread_shared##S)                       \
  BUFFER(File_write##S)                              \
  BUFFER(File_write_all##S)                          \
  BUFFER(File_write_all_begin##S)                    \
  BUFFER_AT(File_write_at##S)                        \
  BUFFER_AT(File_write_at_all##S)                    \
  BUFFER_AT(File_write_at_all_begin##S)              \
  BUFFER(File_write_ordered##S)                      \
  BUFFER(File_write_ordered_begin##S)                \
  BUFFER(File_write_shared##S)                       \
  BUFFER(File_iwrite##S)                             \
  BUFFER(File_iwrite_all##S)                         \
  BUFFER_AT(File_iwrite_at##S)                       \
  BUFFER_AT(File_iwrite_at_all##S)                   \
  BUFFER(File_iwrite_shared##S)

/* Lists the functions with which MPI accesses a program's memory, by the places of their arguments. ONE_BUFFER: buffer,
 * count and type come first; the macro says where the communicator or window is: after two more arguments (MESSAGE, and
 * STARTED for persistent requests), after four (REPLACED, PUT), after five (COMBINED), or missing (MATCHED).
 * MESSAGE_BUFFERS have a second buffer after the arguments of the first message, RESULT_BUFFERS directly after the
 * first buffer. PACKINGS have their buffers elsewhere. */
#define COPSE_MPI_ONE_BUFFER(MESSAGE, STARTED, REPLACED, MATCHED, PUT, COMBINED, S) \
  MESSAGE(Send##S)                                                                  \
  MESSAGE(Bsend##S)                                                                 \
  MESSAGE(Ssend##S)                                                                 \
  MESSAGE(Rsend##S)                                                                 \
  MESSAGE(Isend##S)                                                                 \
  MESSAGE(Ibsend##S)                                                                \
  MESSAGE(Issend##S)                                                                \
  MESSAGE(Irsend##S)                                                                \
  STARTED(Send_init##S)                                                             \
  STARTED(Bsend_init##S)                                                            \
  STARTED(Ssend_init##S)                                                            \
  STARTED(Rsend_init##S)                                                            \
  MESSAGE(Recv##S)                                                                  \
  MESSAGE(Irecv##S)                                                                 \
  STARTED(Recv_init##S)                                                             \
  MATCHED(Mrecv##S)                                                                 \
  MATCHED(Imrecv##S)                                                                \
  REPLACED(Sendrecv_replace##S)                                                     \
  PUT(Put##S)                                                                       \
  PUT(Get##S)                                                                       \
  COMBINED(Accumulate##S)                                                           \
  PUT(Rput##S)                                                                      \
  PUT(Rget##S)                                                                      \
  COMBINED(Raccumulate##S)
#define COPSE_MPI_MESSAGE_BUFFERS(ENTRY, S) ENTRY(Sendrecv##S)
#define COPSE_MPI_RESULT_BUFFERS(ENTRY, S) \
  ENTRY(Get_accumulate##S)                 \
  ENTRY(Rget_accumulate##S)
#define COPSE_MPI_PACKINGS(ATTACH, PACK, UNPACK, PACK_EXTERNAL, UNPACK_EXTERNAL, REDUCE, S) \
  ATTACH(Buffer_attach##S)                                                                  \
  PACK(Pack##S)                                                                             \
  UNPACK(Unpack##S)                                                                         \
  PACK_EXTERNAL(Pack_external##S)                                                           \
  UNPACK_EXTERNAL(Unpack_external##S)                                                       \
  REDUCE(Reduce_local##S)
/* Lists the neighborhood collectives by the number of arguments before the communicator. */
#define COPSE_MPI_NEIGHBORHOODS(SIX, SEVEN, EIGHT, S) \
  SIX(Neighbor_allgather##S)                          \
  SEVEN(Neighbor_allgatherv##S)                       \
  SIX(Neighbor_alltoall##S)                           \
  EIGHT(Neighbor_alltoallv##S)                        \
  EIGHT(Neighbor_alltoallw##S)                        \
  SIX(Ineighbor_allgather##S)                         \
  SEVEN(Ineighbor_allgatherv##S)                      \
  SIX(Ineighbor_alltoall##S)                          \
  EIGHT(Ineighbor_alltoallv##S)                       \
  EIGHT(Ineighbor_alltoallw##S)

/* Lists functions without buffers in which MPI makes progress. They are passed on, and intercepted only so that a fault
 * handler that interrupts them knows that it must not call MPI. */
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

/* Lists the functions that create windows of a given size. */
#define COPSE_MPI_WINDOW_MAKERS(ENTRY, S) \
  ENTRY(Win_create##S)                    \
  ENTRY(Win_allocate##S)                  \
  ENTRY(Win_allocate_shared##S)

/* Lists all functions above that have a parameter S. */
#define COPSE_MPI_COUNTED_ENTRIES(ENTRY, S)                         \
  COPSE_MPI_FILE_BUFFERS(ENTRY, ENTRY, S)                           \
  COPSE_MPI_ONE_BUFFER(ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, S) \
  COPSE_MPI_MESSAGE_BUFFERS(ENTRY, S)                               \
  COPSE_MPI_RESULT_BUFFERS(ENTRY, S)                                \
  COPSE_MPI_PACKINGS(ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, S)   \
  COPSE_MPI_NEIGHBORHOODS(ENTRY, ENTRY, ENTRY, S)                   \
  COPSE_MPI_WINDOW_MAKERS(ENTRY, S)

/* Lists the entries of MPI-3, and below those that MPI-4 added. */
#define COPSE_MPI_3_ENTRIES(ENTRY)              \
  ENTRY(Init)                                   \
  ENTRY(Init_thread)                            \
  ENTRY(Finalize)                               \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_MODES, ENTRY) \
  COPSE_MPI_COMPLETIONS(ENTRY)                  \
  COPSE_MPI_FILE_CALLS(ENTRY)                   \
  COPSE_MPI_COUNTED_ENTRIES(ENTRY, )            \
  ENTRY(Fetch_and_op)                           \
  ENTRY(Compare_and_swap)                       \
  COPSE_MPI_PASSED_CALLS(ENTRY)                 \
  ENTRY(Win_create_dynamic)                     \
  ENTRY(Win_free)                               \
  ENTRY(Error_string)                           \
  ENTRY(Alloc_mem)                              \
  ENTRY(Free_mem)
#define COPSE_MPI_4_ENTRIES(ENTRY)                          \
  COPSE_MPI_COLLECTIVES(COPSE_MPI_PERSISTENT, ENTRY)        \
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(COPSE_MPI_LARGE, ENTRY) \
  COPSE_MPI_COUNTED_ENTRIES(ENTRY, _c)                      \
  ENTRY(Isendrecv)                                          \
  ENTRY(Isendrecv_c)                                        \
  ENTRY(Isendrecv_replace)                                  \
  ENTRY(Isendrecv_replace_c)                                \
  ENTRY(Pready)                                             \
  ENTRY(Pready_range)                                       \
  ENTRY(Pready_list)
#define COPSE_MPI_ENTRIES(ENTRY) \
  COPSE_MPI_3_ENTRIES(ENTRY)     \
  COPSE_MPI_4_ENTRIES(ENTRY)

#endif /* COPSE_CLIENT_MPI_API_ENTRIES_H_ */
