/* SPDX-License-Identifier: Apache-2.0
 *
 * What somebody else preloads: a tool that looks at MPI_Init by the profiling interface. */
#include <stdio.h>

int PMPI_Init(int* argc, char*** argv);

__attribute__((visibility("default"))) int MPI_Init(int* argc, char*** argv) {
  fprintf(stderr, "the first preload is here\n");
  return PMPI_Init(argc, argv);
}
