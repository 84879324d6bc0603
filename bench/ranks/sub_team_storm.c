/* SPDX-License-Identifier: Apache-2.0 */
/* sub_team_storm RANK SIZE: a rank of a team that is duplicated. Prints `ready` when the team is formed. For each line
 * with a number on standard input it forms and destroys as many duplicates, one after the other, and prints the
 * nanoseconds that each took to form, a line each, and then the nanoseconds of all together. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/ranks/rank_talk.h"
#include "client/copse.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void expect(copse_status_t status, const char* what) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "sub_team_storm: %s: %s\n", what, copse_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  copse_context_t* context;
  copse_team_t* parent;
  copse_team_params_t params = {
      .mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE,
      .name = "parent",
      .rank = (uint32_t)atoi(argv[1]),
      .size = (uint32_t)atoi(argv[2])};
  expect(copse_init(NULL, &context), "init");
  expect(copse_team_create(context, &params, &parent), "team");
  say_ready();
  char line[32];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    const int count = atoi(line);
    int64_t* taken = calloc((size_t)count + 1, sizeof(*taken));
    if (taken == NULL) return 1;
    const int64_t start = now_ns();
    for (int i = 0; i < count; ++i) {
      const copse_subteam_params_t all = {.mask = COPSE_SUBTEAM_PARAM_FIELD_INCLUDED, .included = 1};
      copse_team_t* duplicate;
      const int64_t before = now_ns();
      expect(copse_team_create_from_parent(parent, &all, &duplicate), "duplicate");
      taken[i] = now_ns() - before;
      expect(copse_team_destroy(duplicate), "destroy");
    }
    taken[count] = now_ns() - start;
    for (int i = 0; i <= count; ++i) printf("%lld\n", (long long)taken[i]);
    fflush(stdout);
    free(taken);
  }
  return copse_fini(context) == COPSE_OK ? 0 : 1;
}
