/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the ranks' numbers on all ranks: first by a blocking call, then by a persistent request that overlaps with
 * computation.
 *
 *     make                                  # needs copse installed: pkg-config must find copse.pc
 *     ./allreduce 0 2 & ./allreduce 1 2     # RANK SIZE, on nodes with a running copsed
 *     srun -n 4 ./allreduce                 # or from a launcher that sets rank and size
 *
 * Ranks with the same user, job (COPSE_JOB, or the launcher's) and team name find each other.
 */
#include <copse.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000

static void check(copse_status_t status) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "%s\n", copse_last_error());
  exit(EXIT_FAILURE);
}

/* Returns argument `index` of the command line, or else the value that the launcher (Slurm, MPICH, Open MPI) has put
 * into the environment. */
static uint32_t number(int argc, char** argv, int index, const char* const names[3]) {
  int i;
  if (argc == 3) return (uint32_t)strtoul(argv[index], NULL, 10);
  for (i = 0; i < 3; ++i) {
    const char* value = getenv(names[i]);
    if (value != NULL) return (uint32_t)strtoul(value, NULL, 10);
  }
  fprintf(stderr, "usage: %s RANK SIZE (or under a launcher)\n", argv[0]);
  exit(2);
}

static double compute(void) {
  double x = 0;
  int i;
  for (i = 1; i < 1000000; ++i) x += 1.0 / i;
  return x;
}

int main(int argc, char** argv) {
  static const char* const rank_names[3] = {"SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};
  static const char* const size_names[3] = {"SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
  static double mine[COUNT], sum[COUNT];
  copse_context_t* context;
  copse_team_t* team;
  copse_request_t* request;
  copse_team_params_t team_params = {0};
  copse_coll_args_t args = {0};
  double total, harmonic = 0;
  int i, round;

  team_params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  team_params.name = "example";
  team_params.rank = number(argc, argv, 1, rank_names);
  team_params.size = number(argc, argv, 2, size_names);

  check(copse_init(NULL, &context));
  check(copse_team_create(context, &team_params, &team));

  /* This call blocks. With COPSE_IN_PLACE, `total` is the operand and becomes the result. */
  total = team_params.rank;
  check(copse_allreduce(team, COPSE_IN_PLACE, &total, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM));

  /* A persistent request is created once and posted in each round; the daemon works while this process computes. */
  args.collective = COPSE_COLL_ALLREDUCE;
  args.type = COPSE_DT_DOUBLE;
  args.op = COPSE_OP_SUM;
  args.send = mine;
  args.recv = sum;
  args.count = COUNT;
  check(copse_collective_init(team, &args, &request));
  for (round = 0; round < 3; ++round) {
    for (i = 0; i < COUNT; ++i) mine[i] = team_params.rank + round;
    check(copse_post(request));
    harmonic += compute();
    check(copse_wait(request, -1));
  }
  check(copse_finalize(request));

  printf("rank %u of %u: sum of ranks %g, last round %g (computed %.3f meanwhile)\n", (unsigned)team_params.rank,
         (unsigned)team_params.size, total, sum[COUNT - 1], harmonic);

  check(copse_team_destroy(team));
  check(copse_fini(context));
  return EXIT_SUCCESS;
}
