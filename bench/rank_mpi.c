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

void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* size) {
  int mpi_rank, mpi_size;
  /* A rank polls for ever if its launcher is killed. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  check(MPI_Init(argc, argv), "init");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank), "rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &mpi_size), "size");
  *rank = (uint32_t)mpi_rank;
  *size = (uint32_t)mpi_size;
}

void rank_prepare(rank_call* call) { call->state = NULL; }
void rank_release(rank_call* call) { call->state = NULL; }

static MPI_Op op_of(const rank_call* call) { return call->op == kMax ? MPI_MAX : MPI_SUM; }

void rank_run(rank_call* call) {
  const int count = (int)call->count;
  switch (call->collective) {
    case kBarrier:
      check(MPI_Barrier(MPI_COMM_WORLD), "barrier");
      break;
    case kBcast:
      check(MPI_Bcast(call->receive, count, MPI_DOUBLE, 0, MPI_COMM_WORLD), "bcast");
      break;
    case kReduce:
      check(MPI_Reduce(call->send, call->receive, count, MPI_DOUBLE, op_of(call), 0, MPI_COMM_WORLD), "reduce");
      break;
    case kAllreduce:
      check(MPI_Allreduce(call->send, call->receive, count, MPI_DOUBLE, op_of(call), MPI_COMM_WORLD), "allreduce");
      break;
  }
}

/* One call at a time is posted. */
static MPI_Request request;

void rank_post(rank_call* call) {
  const int count = (int)call->count;
  switch (call->collective) {
    case kBarrier:
      check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "ibarrier");
      break;
    case kBcast:
      check(MPI_Ibcast(call->receive, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request), "ibcast");
      break;
    case kReduce:
      check(MPI_Ireduce(call->send, call->receive, count, MPI_DOUBLE, op_of(call), 0, MPI_COMM_WORLD, &request),
            "ireduce");
      break;
    case kAllreduce:
      check(MPI_Iallreduce(call->send, call->receive, count, MPI_DOUBLE, op_of(call), MPI_COMM_WORLD, &request),
            "iallreduce");
      break;
  }
}

void rank_wait(rank_call* call) {
  (void)call;
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
}

void rank_end(void) { check(MPI_Finalize(), "finalize"); }
