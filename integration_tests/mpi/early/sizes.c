/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of lengths around the edges of pages and granules, at all kinds of places in their pages. */
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

static const size_t kEdges[] = {4 << 10, 64 << 10, 2 << 20};
static const int kBeyond[] = {-PAGE, -1, 0, 1, PAGE};
/* The places of the send and the receive buffer in their pages. */
static const size_t kOffsets[][2] = {{0, 0}, {8, PAGE - 1}, {1, 64}, {0, 2049}, {PAGE - 1, 0}};
enum { EDGES = 3, BEYOND = 5, OFFSETS = 5 };

static int sum_rounds;

static void one(struct exchange e, const size_t offsets[2]) {
  e.round = ++sum_rounds;
  e.root = sum_rounds % size;
  e.reversed = sum_rounds / 2 % 2;
  e.gap = sum_rounds % 3 == 0 ? PAGE + 1 : (size_t)(sum_rounds % 3);
#ifndef OPEN_MPI
  if (e.in_place && e.kind == REDUCE) e.root = 0;
#endif
  plan(&e, offsets[0]);
  receive_in_pages(&e, offsets[1]);
  perform(&e);
  finish(&e);
}

/* Blocks that all ranks have for all others are so many that one place is enough for the long ones, of which each kind
 * of call has every other length, and its neighbors the others. */
static void all_sizes(enum kind kind, int in_place) {
  for (int i = 0; i < EDGES * BEYOND; ++i) {
    const size_t block = kEdges[i / BEYOND] + (size_t)kBeyond[i % BEYOND];
    const int is_long = block > 1 << 20, places = thorough ? OFFSETS : is_long ? (i + (int)kind) % 2 : 3;
    for (int j = 0; j < places; ++j) {
      const struct exchange e = {
          .kind = kind, .block = block, .in_place = in_place, .late = is_long ? 1 + i % size : 0};
      one(e, kOffsets[(i + j) % OFFSETS]);
    }
  }
}

static void in_place(void) {
  for (int kind = 0; kind < KINDS; ++kind) {
    if (works_in_place((enum kind)kind)) all_sizes((enum kind)kind, 1);
  }
}

/* Several calls that may be under way at once, next to each other in one piece of memory, without a gap. */
static void neighbors(void) {
  enum { COUNT = 12 };
  static const enum kind kKinds[COUNT] = {BCAST,   ALLREDUCE,  ALLTOALLV, ALLGATHER, ALLTOALL, REDUCE_SCATTER_BLOCK,
                                          SCATTER, ALLGATHERV, SCAN,      GATHERV,   SCATTERV, REDUCE_SCATTER};
  for (int round = 0; round < (thorough ? 40 : 8); ++round) {
    struct exchange e[COUNT];
    size_t bytes = 0, offset = round % 2 == 0 ? 0 : draw(&luck, PAGE);
    for (int i = 0; i < COUNT; ++i) {
      const enum kind kind = kKinds[(i + round) % COUNT];
      /* Many short blocks of different lengths would not be worth it. */
      const size_t times = kind == ALLTOALLV || kind == ALLGATHERV || kind == GATHERV ? 3 : 1;
      const size_t block = draw(&luck, 2) == 0 ? (1 + draw(&luck, 40)) * PAGE : 1 + draw(&luck, 200000);
      e[i] = (struct exchange){
          .kind = kind, .block = times * block, .round = i, .root = i, .late = draw(&luck, 2) * (1 + i % size)};
      plan(&e[i], 0);
      bytes += e[i].receive_bytes;
    }
    SCOPED char* memory = aligned_alloc(PAGE, (offset + bytes + 2 * PAGE - 1) / PAGE * PAGE);
    EXPECT(memory != NULL);
    char* at = memory + offset;
    for (int i = 0; i < COUNT; at += e[i++].receive_bytes) {
      receive_at(&e[i], at);
      contribute(&e[i]);
    }
    for (int i = 0; i < COUNT; ++i) call(&e[i]);
    uint64_t own = mix2(luck, (uint64_t)rank);
    const int first = (int)draw(&own, COUNT);
    for (int i = 0; i < COUNT; ++i) check(&e[(first + 3 * i) % COUNT]);
    for (int i = 0; i < COUNT; ++i) release(&e[i]);
  }
}

/* One call of each, so long that it returns early. */
static void kinds(void) {
  for (int kind = 0; kind < KINDS; ++kind) {
    run_in_pages(
        (struct exchange){.kind = (enum kind)kind, .block = 2 << 20, .round = 2, .root = 1, .late = 1 + kind % size});
  }
}

/* Elements with gaps between them, which are the program's to write at once. */
static void elements_with_gaps(void) {
  enum { COUNT = 60000, STRIDE = 3 };
  MPI_Datatype type;
  MPI_Type_vector(COUNT, 1, STRIDE, MPI_INT, &type);
  MPI_Type_commit(&type);
  SCOPED int* values = malloc(COUNT * STRIDE * sizeof(int));
  for (int round = 0; round < 4; ++round) {
    const int root = round % size;
    for (int i = 0; i < COUNT * STRIDE; ++i) values[i] = rank == root ? i + round : -1;
    if (rank == root) be_late();
    MPI_Bcast(values, 1, type, root, MPI_COMM_WORLD);
    for (int i = 1; i < COUNT * STRIDE; i += STRIDE) values[i] = 7;
    for (int i = 0; i + STRIDE <= COUNT * STRIDE; i += STRIDE) {
      if (values[i] != i + round || values[i + 1] != 7) fail("round %d, element %d: %d", round, i / STRIDE, values[i]);
      EXPECT(rank == root || values[i + 2] == -1);
    }
  }
  MPI_Type_free(&type);
}

/* One for each kind of call. */
#define SIZES_OF(kind, ...) \
  static void sizes_of_##kind(void) { all_sizes(kind, 0); }
#define SIZES_CASE(kind, title, ...) {.name = title, .run = sizes_of_##kind},
COLLECTIVES(SIZES_OF)

EARLY_GROUP(sizes, MPI_THREAD_SINGLE, COLLECTIVES(SIZES_CASE) RUN(in_place), RUN(kinds), RUN(neighbors),
            RUN(elements_with_gaps));
