/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of an MPI that nobody has heard of as a program of one rank needs. */
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
  const char text[] = "Example MPI 1.0\nof nobody";
  memcpy(version, text, sizeof(text));
  *length = (int)strlen(version);
  return 0;
}
int PMPI_Init(int* argc, char*** argv) { return argc == NULL || argv == NULL; }
int PMPI_Finalize(void) { return 0; }
int PMPI_Barrier(int comm) { return comm != 42; }
/* So many arguments that some are on the stack. */
int PMPI_Alltoallv(long a, long b, long c, long d, long e, long f, long g, long h, int comm) {
  return !(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && comm == 42);
}

int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Finalize(void) { return PMPI_Finalize(); }
int MPI_Barrier(int comm) { return PMPI_Barrier(comm); }
int MPI_Alltoallv(long a, long b, long c, long d, long e, long f, long g, long h, int comm) {
  return PMPI_Alltoallv(a, b, c, d, e, f, g, h, comm);
}
