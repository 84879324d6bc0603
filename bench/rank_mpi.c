/* SPDX-License-Identifier: Apache-2.0 */
/* The rank of an MPI library, whichever it is compiled with. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "bench/rank.h"

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "rank_mpi: %s: failed (code=%d)\n", what, code);
  exit(1);
}

static int size;
static MPI_Comm current = MPI_COMM_WORLD; /* of calls prepared now */

/* What is made of a call once: its communicator; of irregular ones counts and displacements, as MPI wants them. */
typedef struct {
  MPI_Comm team;
  int counts_and_places[];
} prepared;

void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* ranks) {
  int mpi_rank;
  /* A rank polls for ever if its launcher is killed. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  check(MPI_Init(argc, argv), "init");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank), "rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "size");
  *rank = (uint32_t)mpi_rank;
  *ranks = (uint32_t)size;
}

void rank_prepare(rank_call* call) {
  const int lists = call->counts != NULL ? 2 * size : 0;
  prepared* made = malloc(sizeof(prepared) + (size_t)lists * sizeof(int));
  made->team = current;
  for (int i = 0; i < lists / 2; i++) {
    made->counts_and_places[i] = (int)call->counts[i];
    made->counts_and_places[size + i] = (int)call->displacements[i];
  }
  call->state = made;
}
void rank_release(rank_call* call) { free(call->state); }

static MPI_Datatype type_of(const rank_call* call) {
  switch (call->collective) {
    case kGather:
    case kScatter:
    case kAllgather:
    case kAlltoall:
    case kGatherv:
    case kScatterv:
    case kAllgatherv:
    case kAlltoallv:
      return MPI_BYTE;
    default:
      return MPI_DOUBLE;
  }
}

void rank_run(rank_call* call) {
  const void* send = call->send;
  void* receive = call->receive;
  const int count = (int)call->count;
  const prepared* made = call->state;
  const int *counts = made->counts_and_places, *places = counts + size;
  const MPI_Datatype type = type_of(call);
  const MPI_Op op = call->op == kMax ? MPI_MAX : MPI_SUM;
  const MPI_Comm team = made->team;
  int code = MPI_SUCCESS;
  switch (call->collective) {
    case kBarrier:
      code = MPI_Barrier(team);
      break;
    case kBcast:
      code = MPI_Bcast(receive, count, type, 0, team);
      break;
    case kReduce:
      code = MPI_Reduce(send, receive, count, type, op, 0, team);
      break;
    case kAllreduce:
      code = MPI_Allreduce(send, receive, count, type, op, team);
      break;
    case kGather:
      code = MPI_Gather(send, count, type, receive, count, type, 0, team);
      break;
    case kScatter:
      code = MPI_Scatter(send, count, type, receive, count, type, 0, team);
      break;
    case kAllgather:
      code = MPI_Allgather(send, count, type, receive, count, type, team);
      break;
    case kAlltoall:
      code = MPI_Alltoall(send, count, type, receive, count, type, team);
      break;
    case kReduceScatter:
      code = MPI_Reduce_scatter_block(send, receive, count, type, op, team);
      break;
    case kScan:
      code = MPI_Scan(send, receive, count, type, op, team);
      break;
    case kExscan:
      code = MPI_Exscan(send, receive, count, type, op, team);
      break;
    case kGatherv:
      code = MPI_Gatherv(send, count, type, receive, counts, places, type, 0, team);
      break;
    case kScatterv:
      code = MPI_Scatterv(send, counts, places, type, receive, count, type, 0, team);
      break;
    case kAllgatherv:
      code = MPI_Allgatherv(send, count, type, receive, counts, places, type, team);
      break;
    case kAlltoallv:
      code = MPI_Alltoallv(send, counts, places, type, receive, counts, places, type, team);
      break;
    case kReduceScatterv:
      code = MPI_Reduce_scatter(send, receive, counts, type, op, team);
      break;
    default:
      break;
  }
  check(code, "call");
}

/* One call at a time is posted. */
static MPI_Request request;

void rank_post(rank_call* call) {
  const void* send = call->send;
  void* receive = call->receive;
  const int count = (int)call->count;
  const prepared* made = call->state;
  const int *counts = made->counts_and_places, *places = counts + size;
  const MPI_Datatype type = type_of(call);
  const MPI_Op op = call->op == kMax ? MPI_MAX : MPI_SUM;
  const MPI_Comm team = made->team;
  int code = MPI_SUCCESS;
  switch (call->collective) {
    case kBarrier:
      code = MPI_Ibarrier(team, &request);
      break;
    case kBcast:
      code = MPI_Ibcast(receive, count, type, 0, team, &request);
      break;
    case kReduce:
      code = MPI_Ireduce(send, receive, count, type, op, 0, team, &request);
      break;
    case kAllreduce:
      code = MPI_Iallreduce(send, receive, count, type, op, team, &request);
      break;
    case kGather:
      code = MPI_Igather(send, count, type, receive, count, type, 0, team, &request);
      break;
    case kScatter:
      code = MPI_Iscatter(send, count, type, receive, count, type, 0, team, &request);
      break;
    case kAllgather:
      code = MPI_Iallgather(send, count, type, receive, count, type, team, &request);
      break;
    case kAlltoall:
      code = MPI_Ialltoall(send, count, type, receive, count, type, team, &request);
      break;
    case kReduceScatter:
      code = MPI_Ireduce_scatter_block(send, receive, count, type, op, team, &request);
      break;
    case kScan:
      code = MPI_Iscan(send, receive, count, type, op, team, &request);
      break;
    case kExscan:
      code = MPI_Iexscan(send, receive, count, type, op, team, &request);
      break;
    case kGatherv:
      code = MPI_Igatherv(send, count, type, receive, counts, places, type, 0, team, &request);
      break;
    case kScatterv:
      code = MPI_Iscatterv(send, counts, places, type, receive, count, type, 0, team, &request);
      break;
    case kAllgatherv:
      code = MPI_Iallgatherv(send, count, type, receive, counts, places, type, team, &request);
      break;
    case kAlltoallv:
      code = MPI_Ialltoallv(send, counts, places, type, receive, counts, places, type, team, &request);
      break;
    case kReduceScatterv:
      code = MPI_Ireduce_scatter(send, receive, counts, type, op, team, &request);
      break;
    default:
      break;
  }
  check(code, "post");
}

void rank_wait(rank_call* call) {
  (void)call;
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
}

void rank_enter_team(void) { check(MPI_Comm_dup(MPI_COMM_WORLD, &current), "comm_dup"); }
void rank_leave_team(void) {
  check(MPI_Comm_free(&current), "comm_free");
  current = MPI_COMM_WORLD;
}

void* rank_allocate(size_t bytes) {
  void* memory;
  check(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory), "alloc_mem");
  return memory;
}
void rank_deallocate(void* memory) { check(MPI_Free_mem(memory), "free_mem"); }

void rank_end(void) { check(MPI_Finalize(), "finalize"); }
