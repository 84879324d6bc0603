/* SPDX-License-Identifier: Apache-2.0
 *
 * A program for third_mpi.c's MPI. Its first call of an entry is one with arguments on the stack. */
#include <stdio.h>

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);
int MPI_Barrier(int comm);
int MPI_Alltoallv(long a, long b, long c, long d, long e, long f, long g, long h, int comm);

int main(int argc, char** argv) {
  const int wrong = MPI_Alltoallv(1, 2, 3, 4, 5, 6, 7, 8, 42) || MPI_Alltoallv(1, 2, 3, 4, 5, 6, 7, 8, 42) ||
                    MPI_Init(&argc, &argv) || MPI_Barrier(42) || MPI_Finalize();
  puts(wrong ? "wrong" : "right");
  return wrong;
}
