/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application that has nothing to do.
 *
 *     idle_client TEAM RANK SIZE CALLS
 *
 * Attaches; if SIZE is not 0, forms the team and makes so many allreduces. Prints `ready`, and stays until its standard
 * input ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/copse.h"

static void check(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "idle_client: %s: %s\n", what, copse_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: idle_client TEAM RANK SIZE CALLS\n");
    return 2;
  }
  copse_context_t* context;
  check(copse_init(NULL, &context), "init");
  copse_team_params_t params;
  memset(&params, 0, sizeof(params));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = argv[1];
  params.rank = (uint32_t)strtoul(argv[2], NULL, 10);
  params.size = (uint32_t)strtoul(argv[3], NULL, 10);
  const unsigned long calls = strtoul(argv[4], NULL, 10);
  if (params.size > 0) {
    copse_team_t* team;
    check(copse_team_create(context, &params, &team), "team");
    for (unsigned long i = 0; i < calls; i++) {
      const double mine[6] = {1, 1, 1, 1, 1, 1};
      double sum[6];
      check(copse_allreduce(team, mine, sum, 6, COPSE_DT_DOUBLE, COPSE_OP_SUM), "allreduce");
      if (sum[5] != params.size) return 1;
    }
  }
  printf("ready\n");
  fflush(stdout);
  char ignored[64];
  while (read(0, ignored, sizeof(ignored)) > 0) {
  }
  check(copse_fini(context), "fini");
  return 0;
}
