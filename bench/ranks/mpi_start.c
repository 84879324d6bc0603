/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long MPI_Init and MPI_Finalize take if all ranks enter them at one moment.
 *
 *     mpi_start_LIBRARY BUDGET_MS CALLS_MAX MODE:PART:CALLS...
 *
 * PART is `Init`, `Finalize` or `both`; the first cell's CALLS says how many barriers there are in between. A sample:
 * milliseconds of the slowest rank; of `both` the sum of the two. Ranks meet outside MPI, in the file that
 * BENCH_MEETING names and the first of them makes; BENCH_SIZE says how many there are.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/ranks/rank_talk.h"

typedef struct {
  atomic_uint arrived;
  atomic_uint_least64_t slowest_ns[2]; /* of MPI_Init, MPI_Finalize */
} meeting;

static meeting* open_meeting(void) {
  const char* path = getenv("BENCH_MEETING");
  const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
  void* memory = fd < 0 || ftruncate(fd, sizeof(meeting)) != 0
                     ? MAP_FAILED
                     : mmap(NULL, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) return memory;
  fprintf(stderr, "mpi_start: environment: no file to meet in (BENCH_MEETING=%s)\n", path == NULL ? "" : path);
  exit(2);
}

/* Returns once `arrivals` have come, of this rank's and others'. */
static void meet(meeting* all, unsigned arrivals) {
  atomic_fetch_add(&all->arrived, 1);
  syscall(SYS_futex, &all->arrived, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
  for (unsigned now; (now = atomic_load(&all->arrived)) < arrivals;) {
    syscall(SYS_futex, &all->arrived, FUTEX_WAIT, now, NULL, NULL, 0);
  }
}

static void note(meeting* all, int part, double took_us) {
  const uint_least64_t mine = (uint_least64_t)(took_us * 1e3);
  uint_least64_t slowest = atomic_load(&all->slowest_ns[part]);
  while (slowest < mine && !atomic_compare_exchange_weak(&all->slowest_ns[part], &slowest, mine)) {
  }
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank polls for ever if its launcher is killed */
  const char* size_text = getenv("BENCH_SIZE");
  if (argc < 4 || size_text == NULL) {
    fprintf(stderr, "usage: BENCH_SIZE=N BENCH_MEETING=FILE mpi_start_LIBRARY BUDGET_MS CALLS_MAX CELL...\n");
    return 2;
  }
  const unsigned size = (unsigned)atoi(size_text);
  const int barriers = atoi(strrchr(argv[3], ':') + 1), cells = argc - 3;
  meeting* all = open_meeting();
  int rank;
  meet(all, size);
  double start = wall_us();
  MPI_Init(&argc, &argv);
  note(all, 0, wall_us() - start);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < barriers; i++) MPI_Barrier(MPI_COMM_WORLD);
  meet(all, 2 * size);
  start = wall_us();
  MPI_Finalize();
  note(all, 1, wall_us() - start);
  meet(all, 3 * size);
  if (rank != 0) return 0;
  const double init_ms = (double)all->slowest_ns[0] / 1e6, finalize_ms = (double)all->slowest_ns[1] / 1e6;
  say_ready();
  await_end_of_input();
  for (int i = 0; i < cells; i++) {
    const double both = init_ms + finalize_ms;
    const double* value = strstr(argv[i + 3], ":Init:")       ? &init_ms
                          : strstr(argv[i + 3], ":Finalize:") ? &finalize_ms
                                                              : &both;
    say_samples(i, value, 1);
  }
  return 0;
}
