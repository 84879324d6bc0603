/* SPDX-License-Identifier: Apache-2.0 */
/* The rank of an MPI library, whichever it is compiled with. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "bench/ranks/mpi_calls.h"
#include "bench/ranks/rank.h"

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

/* Makes the call, or posts it. One call at a time is posted. */
static MPI_Request request;

static int make_call(const rank_call* call, int blocking) {
  const void* send = call->send;
  void* receive = call->receive;
  const int count = (int)call->count;
  const prepared* made = call->state;
  const int *counts = made->counts_and_places, *places = counts + size;
  const MPI_Datatype type = call->of_bytes ? MPI_BYTE : MPI_DOUBLE;
  const MPI_Op op = call->op == kMax ? MPI_MAX : MPI_SUM;
  const MPI_Comm team = made->team;
  switch (call->collective) {
#define CASE(collective, name, posting_name, CALL) \
  case COPSE_COLL_##collective:                    \
    return blocking ? CALL(name) : CALL(posting_name, &request);
    MPI_COLLECTIVES(CASE)
  }
  return MPI_ERR_OTHER;
}

void rank_run(rank_call* call) { check(make_call(call, 1), "call"); }
void rank_post(rank_call* call) { check(make_call(call, 0), "post"); }
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
