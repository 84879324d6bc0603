/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that are read from their end, or from there and from their beginning in turn. The number of calls of a kind,
 * and the orders, are what traces of it have to show. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "integration_tests/mpi/early/early.h"

enum { CALLS = 4, BYTES = 1152 << 10 };

enum way { FORWARDS, BACKWARDS };

/* A byte of each page, which first touches are told by, and then all. */
static void read_pages(const unsigned char* at, size_t bytes, struct data data, enum way way) {
  const size_t pages = bytes / PAGE;
  unsigned char* wanted = malloc(bytes);
  fill(wanted, bytes, data);
  for (size_t i = 0; i < pages; ++i) {
    const size_t where = (way == FORWARDS ? i : pages - 1 - i) * PAGE + 17;
    if (*(volatile const unsigned char*)(at + where) != wanted[where]) fail("offset %zu", where);
  }
  expect_same("what was read", at, wanted, bytes);
  free(wanted);
}

/* These are inline so that each use is a place of its own in the program. */
#define AT_ITS_OWN_PLACE static inline __attribute__((always_inline))

AT_ITS_OWN_PLACE void broadcast(unsigned char* at, int round, enum way way) {
  const struct data data = {0, 1, round, 0};
  if (rank == 0) fill(at, BYTES, data);
  MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  read_pages(at, BYTES, data, way);
}

/* The block from rank r to rank s is the same for all s. */
AT_ITS_OWN_PLACE void exchange(unsigned char* out, unsigned char* in, int round, enum way way) {
  const size_t block = BYTES / 8;
  for (int to = 0; to < size; ++to) fill(out + (size_t)to * block, block, (struct data){rank, 1, round, 0});
  MPI_Alltoall(out, (int)block, MPI_BYTE, in, (int)block, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    const int from = way == FORWARDS ? i : size - 1 - i;
    read_pages(in + (size_t)from * block, block, (struct data){from, 1, round, 0}, way);
  }
}

struct memory {
  unsigned char *out, *in;
};
static struct memory allocate(void) {
  const size_t bytes = size > 8 ? BYTES / 8 * (size_t)size : BYTES;
  return (struct memory){aligned_alloc(PAGE, bytes), aligned_alloc(PAGE, bytes)};
}
static void release_memory(struct memory memory) {
  free(memory.out);
  free(memory.in);
}

static void reverse(void) {
  const struct memory memory = allocate();
  for (int round = 0; round < CALLS; ++round) broadcast(memory.in, round, BACKWARDS);
  for (int round = 0; round < CALLS; ++round) exchange(memory.out, memory.in, round, BACKWARDS);
  release_memory(memory);
}

/* A call at a place of its own comes before those that take turns. */
static void turns(void) {
  const struct memory memory = allocate();
  broadcast(memory.in, 0, FORWARDS);
  exchange(memory.out, memory.in, 0, FORWARDS);
  for (int round = 1; round <= CALLS; ++round) {
    broadcast(memory.in, 2 * round, BACKWARDS);
    broadcast(memory.in, 2 * round + 1, FORWARDS);
    exchange(memory.out, memory.in, 2 * round, BACKWARDS);
    exchange(memory.out, memory.in, 2 * round + 1, FORWARDS);
  }
  release_memory(memory);
}

EARLY_GROUP(traces, MPI_THREAD_SINGLE, RUN(reverse), RUN(turns));
