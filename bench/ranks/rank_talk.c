/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ranks/rank_talk.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double wall_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

void say_ready(void) {
  printf("ready\n");
  fflush(stdout);
}

void await_end_of_input(void) {
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
}

void say_samples(int cell_index, const double* values, uint32_t count) {
  printf("%d", cell_index);
  for (uint32_t i = 0; i < count; i++) printf(" %.3f", values[i]);
  printf("\n");
  fflush(stdout);
}
