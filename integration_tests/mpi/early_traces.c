/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that are read from their end. The number of calls of a kind, and the order, are what traces of it have to
 * show. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "early.h"

enum { CALLS = 4, BYTES = 1152 << 10 };

/* A byte of each page, which first touches are told by, and then all. */
static void read_backwards(const unsigned char* at, size_t bytes, struct data data) {
  unsigned char* wanted = malloc(bytes);
  fill(wanted, bytes, data);
  for (size_t page = bytes / PAGE; page-- > 0;) {
    const size_t where = page * PAGE + 17;
    if (*(volatile const unsigned char*)(at + where) != wanted[where]) fail("offset %zu", where);
  }
  expect_same("what was read", at, wanted, bytes);
  free(wanted);
}

static void broadcasts(void) {
  unsigned char* at = aligned_alloc(PAGE, BYTES);
  for (int round = 0; round < CALLS; ++round) {
    const struct data data = {0, 1, round, 0};
    if (rank == 0) fill(at, BYTES, data);
    MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    read_backwards(at, BYTES, data);
  }
  free(at);
}

/* The block from rank r to rank s is the same for all s. */
static void exchanges(void) {
  const size_t block = BYTES / 8;
  unsigned char *out = aligned_alloc(PAGE, block * (size_t)size), *in = aligned_alloc(PAGE, block * (size_t)size);
  for (int round = 0; round < CALLS; ++round) {
    for (int to = 0; to < size; ++to) fill(out + (size_t)to * block, block, (struct data){rank, 1, round, 0});
    MPI_Alltoall(out, (int)block, MPI_BYTE, in, (int)block, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = size; from-- > 0;) {
      read_backwards(in + (size_t)from * block, block, (struct data){from, 1, round, 0});
    }
  }
  free(out);
  free(in);
}

static void reverse(void) {
  broadcasts();
  exchanges();
}

static const struct early_case kCases[] = {{.name = "reverse", .run = reverse}};
EARLY_GROUP(early_traces, "traces", kCases, MPI_THREAD_SINGLE);
