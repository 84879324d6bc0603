/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of the latency benchmark: makes calls back-to-back.
 *
 *     latency_rank RANK SIZE COLLECTIVE BYTES RUNS CALLS
 *
 * Rank 0 prints, for each run, the microseconds of one call: those of the run by its calls. The team stays until
 * standard input ends. Exit code 1 if a call fails or the last result is wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/copse.h"

enum { kElementsMax = 8192, kWarmUpCalls = 50 };

static uint32_t rank, size;

static void check(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "latency_rank: rank %u: %s: %s\n", rank, what, copse_last_error());
  exit(1);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
  static double contribution[kElementsMax], result[kElementsMax];
  if (argc != 7) {
    fprintf(stderr, "usage: latency_rank RANK SIZE COLLECTIVE BYTES RUNS CALLS\n");
    return 2;
  }
  rank = (uint32_t)strtoul(argv[1], NULL, 10);
  size = (uint32_t)strtoul(argv[2], NULL, 10);
  const int barrier = strcmp(argv[3], "barrier") == 0;
  const uint64_t count = strtoul(argv[4], NULL, 10) / sizeof(double);
  const int runs = atoi(argv[5]), calls = atoi(argv[6]);
  if ((!barrier && strcmp(argv[3], "allreduce") != 0) || count > kElementsMax) {
    fprintf(stderr, "latency_rank: usage: not a case (collective=%s, bytes=%s)\n", argv[3], argv[4]);
    return 2;
  }

  copse_context_t* context;
  copse_team_t* team;
  copse_request_t* request;
  copse_team_params_t params;
  copse_coll_args_t args;
  check(copse_init(NULL, &context), "init");
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = "latency";
  params.rank = rank;
  params.size = size;
  check(copse_team_create(context, &params, &team), "team");

  for (uint64_t i = 0; i < count; i++) contribution[i] = rank + 1;
  memset(&args, 0, sizeof(args));
  args.collective = barrier ? COPSE_COLL_BARRIER : COPSE_COLL_ALLREDUCE;
  args.type = COPSE_DT_DOUBLE;
  args.op = COPSE_OP_SUM;
  args.send = contribution;
  args.recv = result;
  args.count = count;
  check(copse_collective_init(team, &args, &request), "collective_init");

  for (int run = -1; run < runs; run++) {
    const int n = run < 0 ? kWarmUpCalls : calls;
    const double start = now_us();
    for (int i = 0; i < n; i++) {
      check(copse_post(request), "post");
      check(copse_wait(request, -1), "wait");
    }
    if (rank == 0 && run >= 0) {
      printf("%.3f\n", (now_us() - start) / n);
      fflush(stdout);
    }
  }
  for (uint64_t i = 0; i < count; i++) {
    if (result[i] == size * (size + 1) / 2.0) continue;
    fprintf(stderr, "latency_rank: rank %u: wrong result (value=%g)\n", rank, result[i]);
    return 1;
  }
  char ignored[64];
  while (read(0, ignored, sizeof(ignored)) > 0) {
  }
  check(copse_finalize(request), "finalize");
  check(copse_team_destroy(team), "team_destroy");
  check(copse_fini(context), "fini");
  return 0;
}
