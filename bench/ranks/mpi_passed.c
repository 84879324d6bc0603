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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ranks/mpi_calls.h"
#include "bench/ranks/mpi_program.h"

const char program_name[] = "mpi_passed";

enum { kBatchesMax = 1000, kWordBytes = 32, kRanksMax = 2 };
static const double kBatchUs = 500;

/* What calls are made with; counts are of up to two ranks. */
static MPI_Comm team, alone;
static int count;
static const int kOne[] = {1, 1}, kNone[] = {0, 0}, places[] = {0, 0};
static const int* counts;
static double send[2], receive[2];
static MPI_Request request = MPI_REQUEST_NULL, pair[2], persistent;
static int flag, index_of_one, number;
static MPI_Status statuses[2];
#define type MPI_DOUBLE
#define op MPI_SUM

#define CALL_ALLTOALLW(name, ...) \
  MPI_##name(send, counts, places, types, receive, counts, places, types, team, ##__VA_ARGS__)
static MPI_Datatype types[2];

#define COLLECTIVES(EACH) MPI_COLLECTIVES(EACH) EACH(ALLTOALLW, Alltoallw, Ialltoallw, CALL_ALLTOALLW)

static int wait_for_it(void) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }

#define DEFINE(collective, name, iname, CALL)             \
  static int blocking_##name(void) { return CALL(name); } \
  static int nonblocking_##name(void) { return CALL(iname, &request) || wait_for_it(); }
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
  return MPI_Irecv(receive, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &pair[0]) ||
         MPI_Isend(send, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &pair[1]) || MPI_Waitall(2, pair, statuses);
}

/* Nothing of Copse's business. */
static int comm_rank(void) { return MPI_Comm_rank(team, &number); }

typedef struct {
  const char* name;
  int (*make)(void);
} named_call;

#define NAME_BOTH(collective, name, iname, CALL) {#name, blocking_##name}, {#iname "+Wait", nonblocking_##name},
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

static void measure(int cell, const named_call* call, double budget_us, int batches_max) {
  static double samples[kBatchesMax];
  time_batch(call, 100);
  /* As many on all ranks as rank 0 thinks fit. */
  double plan[] = {kBatchUs * 1e3 / (time_batch(call, 100) + 0.1) + 1, budget_us / kBatchUs + 1};
  MPI_Bcast(plan, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const int batches = plan[1] < batches_max ? (int)plan[1] : batches_max;
  for (int batch = 0; batch < batches; batch++) samples[batch] = time_batch(call, (int)plan[0]);
  if (mpi_rank == 0) say_samples(cell, samples, (uint32_t)batches);
}

int measure_cell(int index, const char* text, double budget_us, int calls_max) {
  char mode[kWordBytes], name[kWordBytes];
  if (sscanf(text, "%31[^:]:%31[^:]:", mode, name) != 2) return 0;
  const int together = strcmp(mode, "together") == 0;
  const named_call* call = find_call(name);
  const int is_cell = (together || strcmp(mode, "alone") == 0) && call != NULL;
  if (!is_cell || calls_max < 1 || calls_max > kBatchesMax || mpi_size > kRanksMax) return 0;
  team = together ? MPI_COMM_WORLD : alone;
  count = together ? 0 : 1;
  counts = together ? kNone : kOne;
  measure(index, call, budget_us, calls_max);
  return 1;
}

void prepare_cells(void) {
  types[0] = types[1] = MPI_DOUBLE;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Send_init(send, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &persistent);
}

void release_cells(void) {
  MPI_Request_free(&persistent);
  MPI_Comm_free(&alone);
}
