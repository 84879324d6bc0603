/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls after calls: many on one buffer, chains in which the one needs what the other brings, and several communicators
 * on the same memory. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { QUICK_CALLS = 1000, BYTES = 600 << 10, MANY = 48 };

/* Without a late rank, so that one call's end and the next one's beginning meet. */
static void quick(size_t bytes, size_t offset) {
  SCOPED char* memory = aligned_alloc(PAGE, bytes + 2 * PAGE);
  for (int i = 0; i < QUICK_CALLS; ++i) {
    const int root = i % size;
    unsigned char* const at = (unsigned char*)memory + offset;
    const size_t where = mix((uint64_t)i) % bytes;
    if (rank == root) memset(at, i % 251, bytes);
    EXPECT(MPI_Bcast(at, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (at[where] != i % 251) fail("call %d, offset %zu: expected %02x, found %02x", i, where, i % 251, at[where]);
  }
}
static void quick_pages(void) { quick(4 * PAGE, 0); }
static void quick_between_pages(void) { quick(3 * PAGE, PAGE - 1); }
static void quick_kinds(void) {
  SCOPED char* memory = aligned_alloc(PAGE, 64 * PAGE);
  for (int i = 0; i < QUICK_CALLS; ++i) {
    const size_t block = (size_t)(i % 5) * PAGE / 2 + 100;
    run_at((struct exchange){.kind = (enum kind)(i % KINDS), .block = block, .round = i, .root = i}, memory);
  }
}

/* What one call brings is what the next one sends; only the end is looked at. */
static void chain(void) {
  const size_t part = (size_t)(BYTES / size / PAGE * PAGE), all = part * (size_t)size;
  SCOPED char *first = aligned_alloc(PAGE, all), *second = aligned_alloc(PAGE, all), *third = aligned_alloc(PAGE, all);
  SCOPED char* wanted = malloc(all);
  const int n = (int)all, block = (int)part;
  for (int round = 0; round < 12; ++round) {
    const int root = round % size;
    if (rank == root) be_late(), fill(first, all, (struct data){0, 1, round, 0});
    MPI_Bcast(first, n, MPI_BYTE, root, MPI_COMM_WORLD);
    MPI_Allreduce(first, second, n, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD);
    MPI_Scatter(second, block, MPI_BYTE, third, block, MPI_BYTE, (root + 1) % size, MPI_COMM_WORLD);
    MPI_Allgather(third, block, MPI_BYTE, first, block, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(first, block, MPI_BYTE, second, block, MPI_BYTE, MPI_COMM_WORLD);
    /* Block `rank` of everybody. */
    for (int i = 0; i < size; ++i) {
      fill(wanted + (size_t)i * part, part, (struct data){0, 1, round, (uint64_t)rank * part});
    }
    expect_same("end of the chain", second, wanted, all);
  }
}

/* A sum that grows in place, as iterations have it. */
static void iterations(void) {
  enum { COUNT = BYTES / 8 };
  SCOPED uint64_t* values = aligned_alloc(PAGE, BYTES);
  for (size_t i = 0; i < COUNT; ++i) values[i] = i % 7;
  uint64_t factor = 1;
  for (int round = 0; round < 12; ++round) {
    if (rank == round % size) be_late();
    MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    factor *= (uint64_t)size;
    if (round % 3 != 2) continue;
    for (size_t i = 0; i < COUNT; ++i) {
      if (values[i] != factor * (i % 7)) fail("round %d, element %zu: %llu", round, i, (unsigned long long)values[i]);
    }
  }
}

/* Rows and columns of a grid, on one buffer; then all of it again on a communicator of its own. */
static void rows_and_columns(void) {
  int dims[2] = {0, 0};
  MPI_Comm grid, row, column;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (int[]){0, 0}, 0, &grid);
  MPI_Cart_sub(grid, (int[]){0, 1}, &row);
  MPI_Cart_sub(grid, (int[]){1, 0}, &column);
  int in_row, in_column;
  MPI_Comm_rank(row, &in_row);
  MPI_Comm_rank(column, &in_column);
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES);
  for (int round = 0; round < 12; ++round) {
    /* From a corner along the first row, then down all columns. */
    fill(wanted, BYTES, (struct data){0, 1, round, 0});
    if (in_row == 0 && in_column == 0) be_late(), memcpy(at, wanted, BYTES);
    if (in_column == 0) MPI_Bcast(at, BYTES, MPI_BYTE, 0, row);
    MPI_Bcast(at, BYTES, MPI_BYTE, 0, column);
    if (round % 2 == 0) expect_same("grid", at, wanted, BYTES);
    MPI_Allreduce(MPI_IN_PLACE, at, BYTES, MPI_BYTE, MPI_BOR, grid);
    expect_same("grid together", at, wanted, BYTES);
  }
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
  MPI_Comm_free(&grid);
}

/* Many that may be under way at once, looked at from the last to the first. */
static void many(void) {
  struct exchange e[MANY];
  for (int i = 0; i < MANY; ++i) {
    e[i] = (struct exchange){.kind = (enum kind)(i % KINDS),
                             .block = (size_t)(1 + i % 7) * 9 * PAGE,
                             .round = i,
                             .root = i,
                             .late = i % 8 == 0 ? 1 + i % size : 0};
    plan_in_pages(&e[i]);
    contribute(&e[i]);
  }
  for (int i = 0; i < MANY; ++i) call(&e[i]);
  for (int i = MANY; i-- > 0;) {
    finish(&e[i]);
  }
}

/* What a call was made of may be freed at once. */
static void bitwise_or(void* in, void* inout, int* count, MPI_Datatype* type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *count * bytes; ++i) ((char*)inout)[i] = (char)(((char*)inout)[i] | ((char*)in)[i]);
}
static void made_of_what_is_freed(void) {
  enum { COUNT = 20 * PAGE / 4 };
  SCOPED char *at = aligned_alloc(PAGE, 4 * COUNT), *sum = aligned_alloc(PAGE, 4 * COUNT);
  SCOPED char* wanted = malloc(4 * COUNT);
  for (int round = 0; round < 6; ++round) {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(4, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(bitwise_or, 1, &op);
    fill(wanted, 4 * COUNT, (struct data){0, 1, round, 0});
    if (rank == 0) be_late(), memcpy(at, wanted, 4 * COUNT);
    MPI_Bcast(at, COUNT, type, 0, comm);
    MPI_Allreduce(at, sum, COUNT, type, op, comm);
    MPI_Bcast(at, COUNT, type, 0, comm);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    expect_same("sum by an operation that is gone", sum, wanted, 4 * COUNT);
    expect_same("what came by a communicator that is gone", at, wanted, 4 * COUNT);
  }
}

/* Data that is under way when there is nothing more of MPI but MPI_Finalize. */
static struct exchange left[4];
static int look_at_left(void) {
  for (int i = 0; i < 4; ++i) {
    if (!is_right(&left[i])) return 1;
  }
  return 0;
}
static void left_for_finalize(void) {
  for (int i = 0; i < 4; ++i) {
    left[i] = (struct exchange){.kind = i == 3 ? ALLTOALL : BCAST, .block = BYTES, .round = 2 * i, .late = 1};
    plan_in_pages(&left[i]);
    contribute(&left[i]);
  }
  for (int i = 0; i < 4; ++i) call(&left[i]);
  after_finalize = look_at_left;
}

/* The pages of a stack cannot be protected, so that no call completes asynchronously. */
static void on_stacks(void) {
  char memory[256 << 10];
  for (int round = 1; round <= 60; ++round) {
    run_at((struct exchange){.kind = ALLREDUCE, .block = sizeof(memory), .round = round}, memory);
  }
}

EARLY_GROUP(order, MPI_THREAD_SINGLE, RUN(quick_pages), RUN(quick_between_pages), RUN(quick_kinds), RUN(chain),
            RUN(iterations), RUN(rows_and_columns), RUN(many), RUN(made_of_what_is_freed), RUN(on_stacks),
            RUN(left_for_finalize));
