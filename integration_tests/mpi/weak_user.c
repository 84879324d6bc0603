/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses MPI only if it is there. */
#include <stdio.h>

extern int MPI_Barrier(int comm) __attribute__((weak));

int main(void) {
  if (MPI_Barrier != NULL) printf("result %d\n", MPI_Barrier(0));
  return 0;
}
