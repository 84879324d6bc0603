/* SPDX-License-Identifier: Apache-2.0 */
/* copse.h by itself, in strict C99, with every function and type used once. Runs without a daemon. */
#include "client/copse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s (last error: %s)\n", what, copse_last_error());
  ++failures;
}

static void refused(copse_status_t status, const char* what) { expect(status == COPSE_ERR_INVALID_ARGUMENT, what); }

int main(void) {
  copse_context_t* context = (copse_context_t*)&failures;
  copse_team_t* team = (copse_team_t*)&failures;
  copse_request_t* request = (copse_request_t*)&failures;
  copse_init_params_t init_params;
  copse_team_params_t team_params;
  copse_subteam_params_t subteam_params;
  copse_coll_args_t args;
  copse_context_attr_t attr;
  uint32_t value = 0;
  double number = 1;
  uint64_t count = 1;
  copse_op_t op = COPSE_OP_SUM;
  void* memory = NULL;
  unsigned major = 9, minor = 9, patch = 9;

  memset(&init_params, 0, sizeof(init_params));
  memset(&team_params, 0, sizeof(team_params));
  memset(&subteam_params, 0, sizeof(subteam_params));
  memset(&args, 0, sizeof(args));
  memset(&attr, 0, sizeof(attr));

  expect(sizeof(copse_datatype_t) == sizeof(int) && sizeof(copse_status_t) == sizeof(int), "sizes of enumerations");
  expect(strcmp(copse_last_error(), "") == 0, "no error yet");
  copse_get_version(&major, &minor, &patch);
  expect(major == COPSE_VERSION_MAJOR && minor == COPSE_VERSION_MINOR && patch == COPSE_VERSION_PATCH, "version");
  copse_get_version(NULL, NULL, NULL);
  expect(strstr(copse_status_string(COPSE_ERR_MEMBER_LOST), "MEMBER_LOST") != NULL, "status string");
  expect(copse_status_string((copse_status_t)-77) != NULL, "unknown status");
  expect(strcmp(copse_cause_string(COPSE_CAUSE_UNKNOWN), "unknown") == 0, "cause string");
  expect(strcmp(copse_cause_string((copse_cause_t)1), "unknown") != 0, "another cause string");
  for (int i = 0; i < 3; ++i) {
    const int unknown[] = {257, -1, 1 << 20};
    expect(strcmp(copse_cause_string((copse_cause_t)unknown[i]), "unknown") == 0, "unknown cause");
  }

  init_params.mask = COPSE_INIT_PARAM_FIELD_SOCKET;
  init_params.socket = "/nonexistent/copsed.sock";
  expect(copse_init(&init_params, &context) == COPSE_ERR_NO_DAEMON && context == NULL, "init without a daemon");
  expect(strstr(copse_last_error(), "tried=/nonexistent/copsed.sock: ") != NULL, "the text names the place");
  refused(copse_init(&init_params, NULL), "init into nothing");

  refused(copse_fini(NULL), "fini");
  refused(copse_context_get_attr(NULL, &attr), "get_attr");
  refused(copse_ping(NULL, 0), "ping");
  refused(copse_team_create(NULL, &team_params, &team), "team_create");
  refused(copse_team_create_from_parent(NULL, &subteam_params, &team), "from_parent");
  refused(copse_team_destroy(NULL), "team_destroy");
  refused(copse_team_rank(NULL, &value), "team_rank");
  refused(copse_team_size(NULL, &value), "team_size");
  refused(copse_collective_init(NULL, &args, &request), "collective_init");
  refused(copse_post(NULL), "post");
  refused(copse_test(NULL), "test");
  refused(copse_wait(NULL, -1), "wait");
  refused(copse_cancel(NULL), "cancel");
  refused(copse_finalize(NULL), "finalize");
  refused(copse_barrier(NULL), "barrier");
  refused(copse_bcast(NULL, &number, 1, COPSE_DT_DOUBLE, 0), "bcast");
  refused(copse_reduce(NULL, &number, NULL, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM, 0), "reduce");
  refused(copse_allreduce(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM), "allreduce");
  expect(strstr(copse_last_error(), "copse: allreduce: ") == copse_last_error(), "the text names the call");
  refused(copse_scan(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM), "scan");
  refused(copse_exscan(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM), "exscan");
  refused(copse_reduce_scatter(NULL, COPSE_IN_PLACE, &number, &count, COPSE_DT_DOUBLE, COPSE_OP_SUM), "reduce_scatter");
  refused(copse_reduce_scatter_block(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM),
          "reduce_scatter_block");
  refused(copse_gather(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, 0), "gather");
  refused(copse_scatter(NULL, &number, COPSE_IN_PLACE, 1, COPSE_DT_DOUBLE, 0), "scatter");
  refused(copse_allgather(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE), "allgather");
  refused(copse_alltoall(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE), "alltoall");
  refused(copse_gatherv(NULL, &number, 1, NULL, NULL, NULL, COPSE_DT_DOUBLE, 0), "gatherv");
  refused(copse_scatterv(NULL, NULL, NULL, NULL, &number, 1, COPSE_DT_DOUBLE, 0), "scatterv");
  refused(copse_allgatherv(NULL, COPSE_IN_PLACE, 0, &number, &count, NULL, COPSE_DT_DOUBLE), "allgatherv");
  refused(copse_alltoallv(NULL, COPSE_IN_PLACE, NULL, NULL, &number, &count, &count, COPSE_DT_DOUBLE), "alltoallv");
  refused(copse_op_create(NULL, NULL, 1, &op), "op_create");
  refused(copse_op_free(COPSE_OP_SUM), "op_free");
  refused(copse_alloc(NULL, 64, &memory), "alloc");
  refused(copse_free(NULL, memory), "free");
  refused(copse_register(NULL, &number, sizeof(number)), "register");
  refused(copse_deregister(NULL, &number), "deregister");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
