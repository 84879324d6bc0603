/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI's functions take where there is hardly anything to do, so that what stands in front of them shows.
 *
 *     mpi_passed_LIBRARY BUDGET_MS BATCHES_MAX MODE:CALL:0...
 *
 * Modes: `alone` on a communicator of one rank, of one element; `together` on MPI_COMM_WORLD, of none: in both MPIs
 * some reductions then return at once. CALL is a name of kCalls below: of a function, or of several one after the
 * other. Samples: nanoseconds of a CALL at rank 0, one for each of a few batches. All ranks call at the same time.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/rank_talk.h"

enum { kBatchesMax = 1000, kWordBytes = 32 };
static const double kBatchUs = 500;

static MPI_Comm comm;
static int elements;
static const int kOne[] = {1, 1}, kNone[] = {0, 0}, kPlaces[] = {0, 0};
static const int* counts; /* of up to two ranks */
static const MPI_Datatype* types;
static double sent[2], received[2];
static MPI_Request request = MPI_REQUEST_NULL, pair[2], persistent;
static int flag, index_of_one, number;
static MPI_Status statuses[2];

#define ONE_LIST_TO_ANOTHER sent, counts, kPlaces, MPI_DOUBLE, received, counts, kPlaces, MPI_DOUBLE
#define ONE_BLOCK_TO_ANOTHER sent, elements, MPI_DOUBLE, received, elements, MPI_DOUBLE
#define BARRIER(name, ...) MPI_##name(comm, ##__VA_ARGS__)
#define BCAST(name, ...) MPI_##name(sent, elements, MPI_DOUBLE, 0, comm, ##__VA_ARGS__)
#define REDUCE(name, ...) MPI_##name(sent, received, elements, MPI_DOUBLE, MPI_SUM, 0, comm, ##__VA_ARGS__)
#define ALLREDUCE(name, ...) MPI_##name(sent, received, elements, MPI_DOUBLE, MPI_SUM, comm, ##__VA_ARGS__)
#define REDUCE_SCATTER(name, ...) MPI_##name(sent, received, counts, MPI_DOUBLE, MPI_SUM, comm, ##__VA_ARGS__)
#define GATHER(name, ...) MPI_##name(ONE_BLOCK_TO_ANOTHER, 0, comm, ##__VA_ARGS__)
#define GATHERV(name, ...) \
  MPI_##name(sent, elements, MPI_DOUBLE, received, counts, kPlaces, MPI_DOUBLE, 0, comm, ##__VA_ARGS__)
#define SCATTERV(name, ...) \
  MPI_##name(sent, counts, kPlaces, MPI_DOUBLE, received, elements, MPI_DOUBLE, 0, comm, ##__VA_ARGS__)
#define ALLGATHER(name, ...) MPI_##name(ONE_BLOCK_TO_ANOTHER, comm, ##__VA_ARGS__)
#define ALLGATHERV(name, ...) \
  MPI_##name(sent, elements, MPI_DOUBLE, received, counts, kPlaces, MPI_DOUBLE, comm, ##__VA_ARGS__)
#define ALLTOALLV(name, ...) MPI_##name(ONE_LIST_TO_ANOTHER, comm, ##__VA_ARGS__)
#define ALLTOALLW(name, ...) \
  MPI_##name(sent, counts, kPlaces, types, received, counts, kPlaces, types, comm, ##__VA_ARGS__)

/* Each collective, and its non-blocking form, with the arguments of both. */
#define COLLECTIVES(EACH)                                      \
  EACH(Barrier, Ibarrier, BARRIER)                             \
  EACH(Bcast, Ibcast, BCAST)                                   \
  EACH(Reduce, Ireduce, REDUCE)                                \
  EACH(Allreduce, Iallreduce, ALLREDUCE)                       \
  EACH(Gather, Igather, GATHER)                                \
  EACH(Gatherv, Igatherv, GATHERV)                             \
  EACH(Scatter, Iscatter, GATHER)                              \
  EACH(Scatterv, Iscatterv, SCATTERV)                          \
  EACH(Allgather, Iallgather, ALLGATHER)                       \
  EACH(Allgatherv, Iallgatherv, ALLGATHERV)                    \
  EACH(Alltoall, Ialltoall, ALLGATHER)                         \
  EACH(Alltoallv, Ialltoallv, ALLTOALLV)                       \
  EACH(Alltoallw, Ialltoallw, ALLTOALLW)                       \
  EACH(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER)        \
  EACH(Reduce_scatter_block, Ireduce_scatter_block, ALLREDUCE) \
  EACH(Scan, Iscan, ALLREDUCE)                                 \
  EACH(Exscan, Iexscan, ALLREDUCE)

static int wait_for_it(void) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }

#define DEFINE(name, iname, ARGUMENTS)                         \
  static int blocking_##name(void) { return ARGUMENTS(name); } \
  static int nonblocking_##name(void) { return ARGUMENTS(iname, &request) || wait_for_it(); }
COLLECTIVES(DEFINE)

/* What ends requests, of none. */
static int waitall(void) { return MPI_Waitall(1, &request, statuses); }
static int waitany(void) { return MPI_Waitany(1, &request, &index_of_one, MPI_STATUS_IGNORE); }
static int waitsome(void) { return MPI_Waitsome(1, &request, &number, &index_of_one, statuses); }
static int test(void) { return MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
static int testall(void) { return MPI_Testall(1, &request, &flag, statuses); }
static int testany(void) { return MPI_Testany(1, &request, &index_of_one, &flag, MPI_STATUS_IGNORE); }
static int testsome(void) { return MPI_Testsome(1, &request, &number, &index_of_one, statuses); }
static int get_status(void) { return MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); }

/* Requests of MPI's own. */
static int start_and_wait(void) { return MPI_Start(&persistent) || MPI_Wait(&persistent, MPI_STATUS_IGNORE); }
static int message_to_self(void) {
  return MPI_Irecv(received, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &pair[0]) ||
         MPI_Isend(sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &pair[1]) || MPI_Waitall(2, pair, statuses);
}

/* Nothing of Copse's business. */
static int comm_rank(void) { return MPI_Comm_rank(comm, &number); }

typedef struct {
  const char* name;
  int (*make)(void);
} named_call;

#define NAME_BOTH(name, iname, ARGUMENTS) {#name, blocking_##name}, {#iname "+Wait", nonblocking_##name},
static const named_call kCalls[] = {COLLECTIVES(NAME_BOTH) /* one more on each line */
                                    {"Wait", wait_for_it},
                                    {"Waitall", waitall},
                                    {"Waitany", waitany},
                                    {"Waitsome", waitsome},
                                    {"Test", test},
                                    {"Testall", testall},
                                    {"Testany", testany},
                                    {"Testsome", testsome},
                                    {"Request_get_status", get_status},
                                    {"Start+Wait", start_and_wait},
                                    {"Irecv+Isend+Waitall", message_to_self},
                                    {"Comm_rank", comm_rank}};

static const named_call* find_call(const char* name) {
  for (size_t i = 0; i < sizeof(kCalls) / sizeof(kCalls[0]); i++) {
    if (strcmp(kCalls[i].name, name) == 0) return &kCalls[i];
  }
  return NULL;
}

/* Nanoseconds of a call. */
static double time_batch(const named_call* call, int calls) {
  int failed = 0;
  const double start = wall_us();
  for (int i = 0; i < calls; i++) failed |= call->make();
  const double took_us = wall_us() - start;
  if (failed) {
    fprintf(stderr, "mpi_passed: a call failed (call=%s)\n", call->name);
    exit(1);
  }
  return took_us * 1e3 / calls;
}

static void measure(int cell, const named_call* call, double budget_us, int batches_max, int rank) {
  static double samples[kBatchesMax];
  time_batch(call, 100);
  /* As many on all ranks as rank 0 thinks fit. */
  double plan[] = {kBatchUs * 1e3 / (time_batch(call, 100) + 0.1) + 1, budget_us / kBatchUs + 1};
  MPI_Bcast(plan, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const int batches = plan[1] < batches_max ? (int)plan[1] : batches_max;
  for (int batch = 0; batch < batches; batch++) samples[batch] = time_batch(call, (int)plan[0]);
  if (rank == 0) say_samples(cell, samples, (uint32_t)batches);
}

/* Sets what calls are made with; null if it is no cell. */
static const named_call* enter_cell(const char* text, MPI_Comm alone) {
  char mode[kWordBytes], name[kWordBytes];
  if (sscanf(text, "%31[^:]:%31[^:]:", mode, name) != 2) return NULL;
  const int together = strcmp(mode, "together") == 0;
  if (!together && strcmp(mode, "alone") != 0) return NULL;
  comm = together ? MPI_COMM_WORLD : alone;
  elements = together ? 0 : 1;
  counts = together ? kNone : kOne;
  return find_call(name);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm alone;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank polls for ever if its launcher is killed */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int batches = argc < 4 ? 0 : atoi(argv[2]);
  if (batches < 1 || batches > kBatchesMax || size > 2) {
    fprintf(stderr, "usage: mpi_passed_LIBRARY BUDGET_MS BATCHES_MAX CELL...   (BATCHES_MAX up to %d, 1 or 2 ranks)\n",
            kBatchesMax);
    return 2;
  }
  const MPI_Datatype doubles[] = {MPI_DOUBLE, MPI_DOUBLE};
  types = doubles;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Send_init(sent, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &persistent);
  if (rank == 0) {
    say_ready();
    await_end_of_input();
  }
  for (int i = 3; i < argc; i++) {
    const named_call* call = enter_cell(argv[i], alone);
    if (call == NULL) {
      fprintf(stderr, "mpi_passed: usage: not a cell (cell=%s)\n", argv[i]);
      return 2;
    }
    measure(i - 3, call, atof(argv[1]) * 1e3, batches, rank);
  }
  MPI_Request_free(&persistent);
  MPI_Comm_free(&alone);
  MPI_Finalize();
  return 0;
}
