/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of the model benchmark: times calls with a barrier before each.
 *
 *     model_rank RANK SIZE
 *
 * Reads one request a line, the same on all ranks: COLLECTIVE BYTES ROOT WARM_UP CALLS. It makes WARM_UP pairs of a
 * barrier and the call, then CALLS more, and prints one line: how long each of those calls took this rank, in
 * nanoseconds, from its return from the barrier. The team stays until standard input ends. Exit code 1 if a call fails
 * or a result is wrong, 2 for a request that makes no sense.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/copse.h"

enum { kElementsMax = 8192, kCallsMax = 10000 };

static uint32_t rank, size;

static void check(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "model_rank: rank %u: %s: %s\n", rank, what, copse_last_error());
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void run(copse_request_t* request) {
  check(copse_post(request), "post");
  check(copse_wait(request, -1), "wait");
}

static double contribution[kElementsMax], result[kElementsMax];
static int64_t taken_ns[kCallsMax];

/* Whether the collective leaves `value` in this rank's result. */
static void check_result(copse_collective_t collective, uint64_t count, uint32_t root) {
  const double sum = size * (size + 1) / 2.0;
  if (collective == COPSE_COLL_BARRIER || (collective == COPSE_COLL_REDUCE && rank != root)) return;
  for (uint64_t i = 0; i < count; i++) {
    if (result[i] == (collective == COPSE_COLL_BCAST ? root + 1 : sum)) continue;
    fprintf(stderr, "model_rank: rank %u: wrong result (element=%llu, value=%g)\n", rank, (unsigned long long)i,
            result[i]);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: model_rank RANK SIZE\n");
    return 2;
  }
  rank = (uint32_t)strtoul(argv[1], NULL, 10);
  size = (uint32_t)strtoul(argv[2], NULL, 10);

  copse_context_t* context;
  copse_team_t* team;
  copse_request_t *request, *barrier;
  copse_team_params_t params;
  copse_coll_args_t args;
  check(copse_init(NULL, &context), "init");
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = "model";
  params.rank = rank;
  params.size = size;
  check(copse_team_create(context, &params, &team), "team");
  memset(&args, 0, sizeof(args));
  args.collective = COPSE_COLL_BARRIER;
  check(copse_collective_init(team, &args, &barrier), "collective_init");

  char line[256], name[16];
  unsigned long long bytes;
  unsigned root, warm_up, calls;
  while (fgets(line, sizeof(line), stdin) != NULL) {
    static const char* const kNames[] = {"barrier", "bcast", "reduce", "allreduce"};
    int collective = 0;
    if (sscanf(line, "%15s %llu %u %u %u", name, &bytes, &root, &warm_up, &calls) != 5) return 2;
    while (collective < 4 && strcmp(name, kNames[collective]) != 0) collective++;
    const uint64_t count = bytes / sizeof(double);
    if (collective == 4 || count > kElementsMax || root >= size || calls > kCallsMax) {
      fprintf(stderr, "model_rank: not a request: %s", line);
      return 2;
    }
    memset(&args, 0, sizeof(args));
    args.collective = (copse_collective_t)collective;
    args.type = COPSE_DT_DOUBLE;
    args.op = COPSE_OP_SUM;
    args.root = root;
    args.send = collective == COPSE_COLL_BCAST ? NULL : contribution;
    args.recv = result;
    args.count = count;
    check(copse_collective_init(team, &args, &request), "collective_init");
    for (uint64_t i = 0; i < count; i++) contribution[i] = result[i] = rank + 1;
    for (unsigned i = 0; i < warm_up + calls; i++) {
      run(barrier);
      /* What an earlier call left there must not pass. */
      if (args.collective != COPSE_COLL_BCAST) memset(result, 0, count * sizeof(double));
      const int64_t start = now_ns();
      run(request);
      if (i >= warm_up) taken_ns[i - warm_up] = now_ns() - start;
      check_result(args.collective, count, root);
    }
    check(copse_finalize(request), "finalize");
    for (unsigned i = 0; i < calls; i++) printf("%lld ", (long long)taken_ns[i]);
    printf("\n");
    fflush(stdout);
  }
  check(copse_finalize(barrier), "finalize");
  check(copse_team_destroy(team), "team_destroy");
  check(copse_fini(context), "fini");
  return 0;
}
