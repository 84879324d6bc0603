/* SPDX-License-Identifier: Apache-2.0
 *
 * What somebody else preloads: a tool that looks at MPI_Init_thread by the profiling interface. */
#include <stdio.h>

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);

__attribute__((visibility("default"))) int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  fprintf(stderr, "the first preload is here\n");
  return PMPI_Init_thread(argc, argv, required, provided);
}
