/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's application: one rank of a team that makes every collective, some at several sizes and types, checks each
 * result against its own computation, and measures. It uses libcopse as any program would.
 *
 *     demo_app RANK SIZE
 *
 * Rank 0 prints a line for each case: collective, operation, type, bytes, the median in microseconds of the slowest
 * rank (a barrier before each call), calls checked, results that were wrong on any rank; separated by tabs. Then
 * "done". The team stays until standard input ends, so that it can be looked at. Exit code 1 if anything failed or was
 * wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/copse.h"

enum { kCheckedRounds = 4, kTimedRounds = 51, kWords = 8192, kRanksMax = 512, kUntouched = 77 };

/* One case: the call, and the functions that make and check its values. `count` is the buffer's or a block's, and the
 * mean block's for irregular collectives. */
struct demo_case {
  copse_collective_t collective;
  copse_datatype_t type;
  copse_op_t op;
  uint64_t count;
};

static const struct demo_case kCases[] = {
    {COPSE_COLL_BARRIER, COPSE_DT_UINT8, COPSE_OP_SUM, 0},
    {COPSE_COLL_BCAST, COPSE_DT_DOUBLE, COPSE_OP_SUM, 1},
    {COPSE_COLL_BCAST, COPSE_DT_INT32, COPSE_OP_SUM, 1024},
    {COPSE_COLL_BCAST, COPSE_DT_UINT64, COPSE_OP_SUM, 8192},
    {COPSE_COLL_REDUCE, COPSE_DT_DOUBLE, COPSE_OP_SUM, 6},
    {COPSE_COLL_REDUCE, COPSE_DT_INT32, COPSE_OP_MIN, 1024},
    {COPSE_COLL_REDUCE, COPSE_DT_INT64, COPSE_OP_SUM, 8192},
    {COPSE_COLL_ALLREDUCE, COPSE_DT_DOUBLE, COPSE_OP_SUM, 1},
    {COPSE_COLL_ALLREDUCE, COPSE_DT_DOUBLE, COPSE_OP_SUM, 6},
    {COPSE_COLL_ALLREDUCE, COPSE_DT_FLOAT, COPSE_OP_MAX, 1024},
    {COPSE_COLL_ALLREDUCE, COPSE_DT_UINT32, COPSE_OP_BXOR, 1024},
    {COPSE_COLL_ALLREDUCE, COPSE_DT_INT64, COPSE_OP_SUM, 8192},
    {COPSE_COLL_GATHER, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_SCATTER, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_ALLGATHER, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_ALLTOALL, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_REDUCE_SCATTER, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_SCAN, COPSE_DT_DOUBLE, COPSE_OP_SUM, 8},
    {COPSE_COLL_EXSCAN, COPSE_DT_DOUBLE, COPSE_OP_SUM, 8},
    {COPSE_COLL_GATHERV, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_SCATTERV, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_ALLGATHERV, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_ALLTOALLV, COPSE_DT_INT64, COPSE_OP_SUM, 8},
    {COPSE_COLL_REDUCE_SCATTERV, COPSE_DT_INT64, COPSE_OP_MAX, 8},
};

static uint32_t rank, size;
static copse_team_t* team;
static uint64_t send[kWords], recv[kWords]; /* of any type */

static void check(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "demo_app: rank %u: %s: %s\n", rank, what, copse_last_error());
  exit(1);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int64_t get(const void* buffer, copse_datatype_t type, uint64_t i) {
  switch (type) {
    case COPSE_DT_INT32:
      return ((const int32_t*)buffer)[i];
    case COPSE_DT_UINT32:
      return ((const uint32_t*)buffer)[i];
    case COPSE_DT_INT64:
      return ((const int64_t*)buffer)[i];
    case COPSE_DT_UINT64:
      return (int64_t)((const uint64_t*)buffer)[i];
    case COPSE_DT_FLOAT:
      return (int64_t)((const float*)buffer)[i];
    case COPSE_DT_DOUBLE:
      return (int64_t)((const double*)buffer)[i];
    default:
      return ((const uint8_t*)buffer)[i];
  }
}

static void set(void* buffer, copse_datatype_t type, uint64_t i, int64_t value) {
  switch (type) {
    case COPSE_DT_INT32:
      ((int32_t*)buffer)[i] = (int32_t)value;
      break;
    case COPSE_DT_UINT32:
      ((uint32_t*)buffer)[i] = (uint32_t)value;
      break;
    case COPSE_DT_INT64:
      ((int64_t*)buffer)[i] = value;
      break;
    case COPSE_DT_UINT64:
      ((uint64_t*)buffer)[i] = (uint64_t)value;
      break;
    case COPSE_DT_FLOAT:
      ((float*)buffer)[i] = (float)value;
      break;
    case COPSE_DT_DOUBLE:
      ((double*)buffer)[i] = (double)value;
      break;
    default:
      ((uint8_t*)buffer)[i] = (uint8_t)value;
      break;
  }
}

/* Returns a value of rank `r`'s contribution: small whole numbers, exact in every type. */
static int64_t value_of(uint32_t r, uint64_t i, int round) { return (int64_t)(r + 1) * (int64_t)(i % 7 + 1) + round; }

static int is_one_of(copse_collective_t collective, copse_collective_t a, copse_collective_t b) {
  return collective == a || collective == b;
}
static int gathers(copse_collective_t c) { return is_one_of(c, COPSE_COLL_GATHER, COPSE_COLL_GATHERV); }
static int scatters(copse_collective_t c) { return is_one_of(c, COPSE_COLL_SCATTER, COPSE_COLL_SCATTERV); }
static int exchanges(copse_collective_t c) { return is_one_of(c, COPSE_COLL_ALLTOALL, COPSE_COLL_ALLTOALLV); }
static int scans(copse_collective_t c) { return is_one_of(c, COPSE_COLL_SCAN, COPSE_COLL_EXSCAN); }
static int reduces_blocks(copse_collective_t c) {
  return is_one_of(c, COPSE_COLL_REDUCE_SCATTER, COPSE_COLL_REDUCE_SCATTERV);
}
static int sends_blocks(copse_collective_t c) { return scatters(c) || exchanges(c) || reduces_blocks(c); }
static int receives_blocks(copse_collective_t c) {
  return gathers(c) || exchanges(c) || is_one_of(c, COPSE_COLL_ALLGATHER, COPSE_COLL_ALLGATHERV);
}

/* Returns the elements of rank `r`'s block; in alltoallv, of the block between two ranks whose sum is `r`. */
static uint64_t length_of(const struct demo_case* c, uint32_t r) {
  if (c->collective < COPSE_COLL_GATHERV) return c->count;
  return r % 2 == 0 ? c->count / 2 : c->count + c->count / 2;
}

/* Returns the begin of rank `r`'s block in a buffer of rank `owner` that has all blocks; r = size: its end. */
static uint64_t offset_of(const struct demo_case* c, uint32_t owner, uint32_t r) {
  const uint32_t first = c->collective == COPSE_COLL_ALLTOALLV ? owner : 0;
  uint64_t offset = 0;
  for (uint32_t q = 0; q < r; q++) offset += length_of(c, first + q);
  return offset;
}
static uint64_t send_count(const struct demo_case* c) {
  return sends_blocks(c->collective) ? offset_of(c, rank, size) : length_of(c, rank);
}
static uint64_t receive_count(const struct demo_case* c) {
  return receives_blocks(c->collective) ? offset_of(c, rank, size) : length_of(c, rank);
}

/* Returns element i of the combined contributions of the ranks below `end`. */
static int64_t combined(const struct demo_case* c, uint32_t end, uint64_t i, int round) {
  int64_t result = value_of(0, i, round);
  for (uint32_t r = 1; r < end; r++) {
    const int64_t value = value_of(r, i, round);
    if (c->op == COPSE_OP_SUM) result += value;
    if (c->op == COPSE_OP_BXOR) result ^= value;
    if (c->op == COPSE_OP_MIN && value < result) result = value;
    if (c->op == COPSE_OP_MAX && value > result) result = value;
  }
  return result;
}

/* Returns the expected element i of the result. Element j of rank r's contribution is value_of(r, j, round). */
static int64_t expected(const struct demo_case* c, uint32_t root, uint64_t i, int round) {
  if (receives_blocks(c->collective)) {
    const uint32_t first = c->collective == COPSE_COLL_ALLTOALLV ? rank : 0;
    uint32_t from = 0;
    for (; i >= length_of(c, first + from); from++) i -= length_of(c, first + from);
    return value_of(from, i + (exchanges(c->collective) ? offset_of(c, from, rank) : 0), round);
  }
  if (c->collective == COPSE_COLL_BCAST) return value_of(root, i, round);
  if (scatters(c->collective)) return value_of(root, offset_of(c, root, rank) + i, round);
  if (reduces_blocks(c->collective)) return combined(c, size, offset_of(c, rank, rank) + i, round);
  if (c->collective == COPSE_COLL_SCAN) return combined(c, rank + 1, i, round);
  if (c->collective == COPSE_COLL_EXSCAN) return rank == 0 ? kUntouched : combined(c, rank, i, round);
  return combined(c, size, i, round);
}

static copse_status_t call(const struct demo_case* c, uint32_t root) {
  static uint64_t lengths[kRanksMax]; /* by block; alltoallv sends and receives the same lengths */
  const uint32_t first = c->collective == COPSE_COLL_ALLTOALLV ? rank : 0;
  for (uint32_t r = 0; r < size; r++) lengths[r] = length_of(c, first + r);
  switch (c->collective) {
    case COPSE_COLL_BARRIER:
      return copse_barrier(team);
    case COPSE_COLL_BCAST:
      return copse_bcast(team, recv, c->count, c->type, root);
    case COPSE_COLL_REDUCE:
      return copse_reduce(team, send, recv, c->count, c->type, c->op, root);
    case COPSE_COLL_ALLREDUCE:
      return copse_allreduce(team, send, recv, c->count, c->type, c->op);
    case COPSE_COLL_GATHER:
      return copse_gather(team, send, recv, c->count, c->type, root);
    case COPSE_COLL_SCATTER:
      return copse_scatter(team, send, recv, c->count, c->type, root);
    case COPSE_COLL_ALLGATHER:
      return copse_allgather(team, send, recv, c->count, c->type);
    case COPSE_COLL_ALLTOALL:
      return copse_alltoall(team, send, recv, c->count, c->type);
    case COPSE_COLL_REDUCE_SCATTER:
      return copse_reduce_scatter_block(team, send, recv, c->count, c->type, c->op);
    case COPSE_COLL_SCAN:
      return copse_scan(team, send, recv, c->count, c->type, c->op);
    case COPSE_COLL_EXSCAN:
      return copse_exscan(team, send, recv, c->count, c->type, c->op);
    case COPSE_COLL_GATHERV:
      return copse_gatherv(team, send, lengths[rank], recv, lengths, NULL, c->type, root);
    case COPSE_COLL_SCATTERV:
      return copse_scatterv(team, send, lengths, NULL, recv, lengths[rank], c->type, root);
    case COPSE_COLL_ALLGATHERV:
      return copse_allgatherv(team, send, lengths[rank], recv, lengths, NULL, c->type);
    case COPSE_COLL_ALLTOALLV:
      return copse_alltoallv(team, send, lengths, NULL, recv, lengths, NULL, c->type);
    case COPSE_COLL_REDUCE_SCATTERV:
      return copse_reduce_scatter(team, send, recv, lengths, c->type, c->op);
  }
  return COPSE_ERR_INVALID_ARGUMENT;
}

/* Returns this rank's result of one round: 0 if it is right. */
static int round_is_wrong(const struct demo_case* c, int round) {
  const uint32_t root = (uint32_t)round * 5 % size;
  for (uint64_t i = 0; i < send_count(c); i++) set(send, c->type, i, value_of(rank, i, round));
  for (uint64_t i = 0; i < receive_count(c); i++) {
    set(recv, c->type, i, c->collective == COPSE_COLL_BCAST && rank == root ? value_of(root, i, round) : kUntouched);
  }
  check(call(c, root), "call");
  if ((c->collective == COPSE_COLL_REDUCE || gathers(c->collective)) && rank != root) return 0;
  for (uint64_t i = 0; i < receive_count(c); i++) {
    if (get(recv, c->type, i) != expected(c, root, i, round)) return 1;
  }
  return 0;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* Returns the number of rounds that were wrong on some rank. */
static uint64_t run_case(const struct demo_case* c) {
  uint64_t wrong = 0, wrong_anywhere = 0;
  double times[kTimedRounds], slowest[kTimedRounds];
  for (int round = 0; round < kCheckedRounds; round++) wrong += (uint64_t)round_is_wrong(c, round);
  check(copse_allreduce(team, &wrong, &wrong_anywhere, 1, COPSE_DT_UINT64, COPSE_OP_SUM), "allreduce");
  for (int round = 0; round < kTimedRounds; round++) {
    check(copse_barrier(team), "barrier");
    const double start = now_us();
    check(call(c, 0), "call");
    times[round] = now_us() - start;
  }
  check(copse_allreduce(team, times, slowest, kTimedRounds, COPSE_DT_DOUBLE, COPSE_OP_MAX), "allreduce");
  if (rank == 0) {
    static const char* const collectives[] = {
        "barrier",        "bcast", "reduce", "allreduce", "gather",   "scatter",    "allgather", "alltoall",
        "reduce_scatter", "scan",  "exscan", "gatherv",   "scatterv", "allgatherv", "alltoallv", "reduce_scatterv"};
    static const char* const types[] = {"int8",   "int16",  "int32",  "int64", "uint8",
                                        "uint16", "uint32", "uint64", "float", "double"};
    static const char* const ops[] = {"sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor"};
    static const int bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    const int reduces = is_one_of(c->collective, COPSE_COLL_REDUCE, COPSE_COLL_ALLREDUCE) ||
                        reduces_blocks(c->collective) || scans(c->collective);
    qsort(slowest, kTimedRounds, sizeof(slowest[0]), compare);
    printf("%s\t%s\t%s\t%llu\t%.1f\t%d\t%llu\n", collectives[c->collective], reduces ? ops[c->op] : "-",
           c->count > 0 ? types[c->type] : "-", (unsigned long long)c->count * (unsigned)bytes[c->type],
           slowest[kTimedRounds / 2], kCheckedRounds, (unsigned long long)wrong_anywhere);
    fflush(stdout);
  }
  return wrong_anywhere;
}

int main(int argc, char** argv) {
  copse_context_t* context;
  copse_team_params_t params;
  uint64_t wrong = 0;
  if (argc != 3) {
    fprintf(stderr, "usage: demo_app RANK SIZE\n");
    return 2;
  }
  rank = (uint32_t)strtoul(argv[1], NULL, 10);
  size = (uint32_t)strtoul(argv[2], NULL, 10);
  if (size > kRanksMax) {
    fprintf(stderr, "demo_app: too many ranks (size=%u, limit=%d)\n", size, kRanksMax);
    return 2;
  }

  check(copse_init(NULL, &context), "init");
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = "demo";
  params.rank = rank;
  params.size = size;
  check(copse_team_create(context, &params, &team), "team");

  for (size_t i = 0; i < sizeof(kCases) / sizeof(kCases[0]); i++) wrong += run_case(&kCases[i]);

  if (rank == 0) {
    printf("done\n");
    fflush(stdout);
  }
  char ignored[64];
  while (read(0, ignored, sizeof(ignored)) > 0) {
  }
  check(copse_team_destroy(team), "team_destroy");
  check(copse_fini(context), "fini");
  return wrong == 0 ? 0 : 1;
}
