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

  init_params.mask = COPSE_INIT_PARAM_FIELD_SOCKET;
  init_params.socket = "/nonexistent/copsed.sock";
  expect(copse_init(&init_params, &context) == COPSE_ERR_NO_DAEMON && context == NULL, "init without a daemon");
  expect(strstr(copse_last_error(), "tried=/nonexistent/copsed.sock: ") != NULL, "the text names the place");
  expect(copse_init(&init_params, NULL) == COPSE_ERR_INVALID_ARGUMENT, "init into nothing");

  expect(copse_fini(NULL) == COPSE_ERR_INVALID_ARGUMENT, "fini");
  expect(copse_context_get_attr(NULL, &attr) == COPSE_ERR_INVALID_ARGUMENT, "get_attr");
  expect(copse_ping(NULL, 0) == COPSE_ERR_INVALID_ARGUMENT, "ping");
  expect(copse_team_create(NULL, &team_params, &team) == COPSE_ERR_INVALID_ARGUMENT, "team_create");
  expect(copse_team_create_from_parent(NULL, &subteam_params, &team) == COPSE_ERR_INVALID_ARGUMENT, "from_parent");
  expect(copse_team_destroy(NULL) == COPSE_ERR_INVALID_ARGUMENT, "team_destroy");
  expect(copse_team_rank(NULL, &value) == COPSE_ERR_INVALID_ARGUMENT, "team_rank");
  expect(copse_team_size(NULL, &value) == COPSE_ERR_INVALID_ARGUMENT, "team_size");
  expect(copse_collective_init(NULL, &args, &request) == COPSE_ERR_INVALID_ARGUMENT, "collective_init");
  expect(copse_post(NULL) == COPSE_ERR_INVALID_ARGUMENT, "post");
  expect(copse_test(NULL) == COPSE_ERR_INVALID_ARGUMENT, "test");
  expect(copse_wait(NULL, -1) == COPSE_ERR_INVALID_ARGUMENT, "wait");
  expect(copse_cancel(NULL) == COPSE_ERR_INVALID_ARGUMENT, "cancel");
  expect(copse_finalize(NULL) == COPSE_ERR_INVALID_ARGUMENT, "finalize");
  expect(copse_barrier(NULL) == COPSE_ERR_INVALID_ARGUMENT, "barrier");
  expect(copse_bcast(NULL, &number, 1, COPSE_DT_DOUBLE, 0) == COPSE_ERR_INVALID_ARGUMENT, "bcast");
  expect(copse_reduce(NULL, &number, NULL, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM, 0) == COPSE_ERR_INVALID_ARGUMENT,
         "reduce");
  expect(copse_allreduce(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM) == COPSE_ERR_INVALID_ARGUMENT,
         "allreduce");
  expect(strstr(copse_last_error(), "copse: allreduce: ") == copse_last_error(), "the text names the call");
  expect(copse_scan(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM) == COPSE_ERR_INVALID_ARGUMENT,
         "scan");
  expect(copse_exscan(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM) == COPSE_ERR_INVALID_ARGUMENT,
         "exscan");
  expect(copse_reduce_scatter(NULL, COPSE_IN_PLACE, &number, &count, COPSE_DT_DOUBLE, COPSE_OP_SUM) ==
             COPSE_ERR_INVALID_ARGUMENT,
         "reduce_scatter");
  expect(copse_reduce_scatter_block(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM) ==
             COPSE_ERR_INVALID_ARGUMENT,
         "reduce_scatter_block");
  expect(copse_gather(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE, 0) == COPSE_ERR_INVALID_ARGUMENT, "gather");
  expect(copse_scatter(NULL, &number, COPSE_IN_PLACE, 1, COPSE_DT_DOUBLE, 0) == COPSE_ERR_INVALID_ARGUMENT, "scatter");
  expect(copse_allgather(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE) == COPSE_ERR_INVALID_ARGUMENT, "allgather");
  expect(copse_alltoall(NULL, COPSE_IN_PLACE, &number, 1, COPSE_DT_DOUBLE) == COPSE_ERR_INVALID_ARGUMENT, "alltoall");
  expect(copse_gatherv(NULL, &number, 1, NULL, NULL, NULL, COPSE_DT_DOUBLE, 0) == COPSE_ERR_INVALID_ARGUMENT,
         "gatherv");
  expect(copse_scatterv(NULL, NULL, NULL, NULL, &number, 1, COPSE_DT_DOUBLE, 0) == COPSE_ERR_INVALID_ARGUMENT,
         "scatterv");
  expect(
      copse_allgatherv(NULL, COPSE_IN_PLACE, 0, &number, &count, NULL, COPSE_DT_DOUBLE) == COPSE_ERR_INVALID_ARGUMENT,
      "allgatherv");
  expect(copse_alltoallv(NULL, COPSE_IN_PLACE, NULL, NULL, &number, &count, &count, COPSE_DT_DOUBLE) ==
             COPSE_ERR_INVALID_ARGUMENT,
         "alltoallv");
  expect(copse_op_create(NULL, NULL, 1, &op) == COPSE_ERR_INVALID_ARGUMENT, "op_create");
  expect(copse_op_free(COPSE_OP_SUM) == COPSE_ERR_INVALID_ARGUMENT, "op_free");
  expect(copse_alloc(NULL, 64, &memory) == COPSE_ERR_INVALID_ARGUMENT, "alloc");
  expect(copse_free(NULL, memory) == COPSE_ERR_INVALID_ARGUMENT, "free");
  expect(copse_register(NULL, &number, sizeof(number)) == COPSE_ERR_INVALID_ARGUMENT, "register");
  expect(copse_deregister(NULL, &number) == COPSE_ERR_INVALID_ARGUMENT, "deregister");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
