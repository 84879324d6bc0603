/* SPDX-License-Identifier: Apache-2.0
 *
 * What is put into the environment of a job's ranks, by copse-run and by Slurm's plugin. In C, as the plugin is. */
#ifndef COPSE_CLIENT_RUN_RANK_ENVIRONMENT_H_
#define COPSE_CLIENT_RUN_RANK_ENVIRONMENT_H_

#include <stdbool.h>
#include <string.h>

#define COPSE_RANKS_PRELOAD "LD_PRELOAD"
#define COPSE_RANKS_LIBRARY "libcopse-mpi.so" /* comes after the libraries that LD_PRELOAD has */
#define COPSE_RANKS_OFFLOAD "COPSE_MPI_OFFLOAD"

/* Returns whether `text` is a value of COPSE_RANKS_OFFLOAD. */
static inline bool copse_ranks_is_offload(const char* text) {
  return strcmp(text, "faster") == 0 || strcmp(text, "all") == 0;
}

/* Returns whether LD_PRELOAD can have the path: it has no way to write a colon or a space. */
static inline bool copse_ranks_can_preload(const char* path) { return strpbrk(path, ": ") == NULL; }

#endif /* COPSE_CLIENT_RUN_RANK_ENVIRONMENT_H_ */
