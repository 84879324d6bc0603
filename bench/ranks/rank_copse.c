/* SPDX-License-Identifier: Apache-2.0 */
/* Copse's rank: a request for each call that is made often. BENCH_RANK and BENCH_SIZE say which rank it is; BENCH_USER,
 * which user it becomes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ranks/become_user.h"
#include "bench/ranks/rank.h"
#include "client/copse.h"

static copse_context_t* context;
static copse_team_t *team, *whole; /* the team of calls prepared now, and that of all ranks */

static void check(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "rank_copse: %s: %s\n", what, copse_last_error());
  exit(1);
}

static uint32_t number(const char* name) {
  const char* value = getenv(name);
  if (value != NULL) return (uint32_t)strtoul(value, NULL, 10);
  fprintf(stderr, "rank_copse: environment: not set (name=%s)\n", name);
  exit(2);
}

void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* size) {
  (void)argc;
  (void)argv;
  copse_team_params_t params;
  *rank = number("BENCH_RANK");
  *size = number("BENCH_SIZE");
  if (getenv("BENCH_USER") != NULL) become_user(number("BENCH_USER"));
  check(copse_init(NULL, &context), "init");
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = "bench";
  params.rank = *rank;
  params.size = *size;
  check(copse_team_create(context, &params, &whole), "team");
  team = whole;
}

static void set_counts(const rank_call* call, copse_coll_args_t* args) {
  const int sends = call->collective == COPSE_COLL_SCATTERV || call->collective == COPSE_COLL_ALLTOALLV;
  const int receives = call->collective != COPSE_COLL_SCATTERV;
  if (sends) {
    args->mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
    args->send_counts = call->counts;
    args->send_displacements = call->displacements;
  }
  if (receives) {
    args->mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
    args->recv_counts = call->counts;
    args->recv_displacements = call->displacements;
  }
  if (call->counts_known) {
    args->mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
    args->flags = COPSE_COLL_FLAG_COUNTS_KNOWN;
  }
}

void rank_prepare(rank_call* call) {
  copse_coll_args_t args;
  memset(&args, 0, sizeof(args));
  args.collective = call->collective;
  args.type = call->of_bytes ? COPSE_DT_BYTE : COPSE_DT_DOUBLE;
  args.op = call->op == kMax ? COPSE_OP_MAX : COPSE_OP_SUM;
  args.send = call->collective == COPSE_COLL_BCAST ? NULL : call->send;
  args.recv = call->receive;
  args.count = call->count;
  if (call->counts != NULL) set_counts(call, &args);
  copse_request_t* request;
  check(copse_collective_init(team, &args, &request), "collective_init");
  call->state = request;
}

void rank_post(rank_call* call) { check(copse_post(call->state), "post"); }
void rank_wait(rank_call* call) { check(copse_wait(call->state, -1), "wait"); }
void rank_run(rank_call* call) {
  rank_post(call);
  rank_wait(call);
}
void rank_release(rank_call* call) { check(copse_finalize(call->state), "finalize"); }

void rank_enter_team(void) {
  copse_subteam_params_t params;
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_SUBTEAM_PARAM_FIELD_INCLUDED;
  params.included = 1;
  check(copse_team_create_from_parent(whole, &params, &team), "team");
}
void rank_leave_team(void) {
  check(copse_team_destroy(team), "team_destroy");
  team = whole;
}

void* rank_allocate(size_t bytes) {
  void* memory;
  check(copse_alloc(context, bytes, &memory), "alloc");
  return memory;
}
void rank_deallocate(void* memory) { check(copse_free(context, memory), "free"); }

void rank_end(void) {
  check(copse_team_destroy(team), "team_destroy");
  check(copse_fini(context), "fini");
}
