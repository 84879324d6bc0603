/* SPDX-License-Identifier: Apache-2.0
 *
 * In which ways a program reads and writes data that may still be under way. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { SHORT_BYTES = 64 * PAGE };

static void expect_byte(const struct exchange* e, size_t at) {
  const char found = *(volatile char*)(e->receive + at);
  if (found != e->wanted[at]) expect_same(name_of(e->kind), e->receive, e->wanted, e->receive_bytes);
  EXPECT(found == e->wanted[at]); /* and not only later */
}

/* --- Reading --- */

static void first(struct exchange* e) { expect_byte(e, 0); }
static void last(struct exchange* e) { expect_byte(e, e->receive_bytes - 1); }
static void middle(struct exchange* e) { expect_byte(e, e->receive_bytes / 2); }
static void in_order(struct exchange* e) {
  for (size_t at = 0; at < e->receive_bytes; at += PAGE) expect_byte(e, at);
}
static void reverse(struct exchange* e) {
  for (size_t at = e->receive_bytes; at > 0; at -= PAGE) expect_byte(e, at - 1);
}
static void random_order(struct exchange* e) {
  uint64_t own = mix2(luck, (uint64_t)(rank + 100 * e->round));
  for (int i = 0; i < 2000; ++i) expect_byte(e, mix2(own, (uint64_t)i) % e->receive_bytes);
}
static void one_of_many(struct exchange* e) {
  uint64_t own = mix2(luck, (uint64_t)(rank + 100 * e->round));
  expect_byte(e, draw(&own, (unsigned)e->receive_bytes));
}
static void only_one_rank(struct exchange* e) {
  if (rank == size - 1) expect_byte(e, e->receive_bytes / 3);
}

/* Words and vectors that lie over the edge of a page. */
typedef char vector __attribute__((vector_size(32), aligned(1)));
static void over_edges(struct exchange* e) {
  for (size_t at = PAGE; at + PAGE < e->receive_bytes; at += PAGE) {
    uint64_t word;
    const vector wide = *(volatile vector*)(e->receive + at - 15);
    __builtin_memcpy(&word, e->receive + at - 3, sizeof(word));
    expect_same("vector", &wide, e->wanted + at - 15, sizeof(wide));
    expect_same("word", &word, e->wanted + at - 3, sizeof(word));
  }
}

static void copied(struct exchange* e) {
  SCOPED char* copy = malloc(e->receive_bytes);
  memcpy(copy, e->receive, e->receive_bytes);
  expect_same("copy", copy, e->wanted, e->receive_bytes);
}
/* The middle, over its own beginning. */
static void moved(struct exchange* e) {
  memmove(e->receive + 1, e->receive + PAGE - 5, e->receive_bytes / 2);
  memmove(e->wanted + 1, e->wanted + PAGE - 5, e->receive_bytes / 2);
}
static void searched(struct exchange* e) {
  for (int byte = 0; byte < 256; ++byte) {
    const char* found = memrchr(e->receive, byte, e->receive_bytes);
    const char* wanted = memrchr(e->wanted, byte, e->receive_bytes);
    EXPECT((found == NULL) == (wanted == NULL) && (found == NULL || found - e->receive == wanted - e->wanted));
  }
}

/* --- Writing: what the program writes is there in the end, and what it does not is what came --- */

static void set(struct exchange* e, size_t at, char byte, size_t bytes) {
  memset(e->receive + at, byte, bytes);
  memset(e->wanted + at, byte, bytes);
}
static void set_all(struct exchange* e) { set(e, 0, 0x11, e->receive_bytes); }
static void set_some(struct exchange* e) {
  for (size_t at = 100; at + 3 * PAGE < e->receive_bytes; at += 7 * PAGE) set(e, at, 0x22, 2 * PAGE);
}
static void one_byte_of_each_page(struct exchange* e) {
  for (size_t at = e->receive_bytes; at >= PAGE; at -= PAGE) e->receive[at - 9] = e->wanted[at - 9] = 0x33;
}
static void added(struct exchange* e) {
  for (size_t at = 0; at + sizeof(uint64_t) <= e->receive_bytes; at += 64) {
    uint64_t word;
    __atomic_fetch_add((uint64_t*)(e->receive + at), at, __ATOMIC_SEQ_CST);
    memcpy(&word, e->wanted + at, sizeof(word));
    word += at;
    memcpy(e->wanted + at, &word, sizeof(word));
  }
}
static void exchanged(struct exchange* e) {
  for (size_t at = 0; at + sizeof(uint32_t) <= e->receive_bytes; at += PAGE) {
    uint32_t was;
    memcpy(&was, e->wanted + at, sizeof(was));
    EXPECT(__atomic_compare_exchange_n((uint32_t*)(e->receive + at), &was, (uint32_t)at, 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST));
    *(uint32_t*)(e->wanted + at) = (uint32_t)at;
  }
}
static int by_value(const void* a, const void* b) { return memcmp(a, b, 8); }
static void sorted(struct exchange* e) {
  qsort(e->receive, e->receive_bytes / 8, 8, by_value);
  qsort(e->wanted, e->receive_bytes / 8, 8, by_value);
}

/* --- Not touching: the next call has the buffer --- */

/* In the middle of the buffer, or in all of it. */
static void again(struct exchange* e, struct exchange next, size_t at) {
  next.round = e->round + 1000;
  plan_at(&next, e->receive + at);
  perform(&next);
  memcpy(e->wanted + at, next.wanted, next.receive_bytes);
  release(&next);
}
static void received_again(struct exchange* e) {
  const int root = (e->root + 1) % size;
  /* Its root writes it first. */
  again(e, (struct exchange){.kind = BCAST, .block = e->receive_bytes, .root = root, .late = 1 + root}, 0);
}
static void sum_received_again(struct exchange* e) {
  again(e, (struct exchange){.kind = ALLREDUCE, .block = e->receive_bytes, .late = 1}, 0);
}

/* The sum of what all have, or of what each has. */
static void combined_in_place(struct exchange* e) {
  SCOPED char* sum = malloc(e->receive_bytes);
  EXPECT(MPI_Allreduce(e->wanted, sum, (int)e->receive_bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD) == MPI_SUCCESS);
  EXPECT(MPI_Allreduce(MPI_IN_PLACE, e->receive, (int)e->receive_bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD) ==
         MPI_SUCCESS);
  memcpy(e->wanted, sum, e->receive_bytes);
}
static void sent_on(struct exchange* e) {
  const size_t bytes = e->receive_bytes;
  const int root = (e->root + 1) % size;
  SCOPED char *found = malloc((size_t)size * bytes), *expected = malloc((size_t)size * bytes);
  MPI_Gather(e->wanted, (int)bytes, MPI_BYTE, expected, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  MPI_Gather(e->receive, (int)bytes, MPI_BYTE, found, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  set(e, 0, 0x44, bytes); /* at once: it has been sent */
  if (rank == root) expect_same("what was sent on", found, expected, (size_t)size * bytes);
}
static void never(struct exchange* e) { e->receive = NULL; }

/* Two broadcasts to one buffer, of which the second one is shorter. */
static void partly_received_again(struct exchange* e) {
  again(e, (struct exchange){.kind = BCAST, .block = e->receive_bytes / 3, .late = 1}, e->receive_bytes / 4);
}

/* The root needs the rank that accesses the data meanwhile: it receives a message there, without which the root does
 * not go on. */
static void needed_by_root(void) {
  enum { BYTES = 128 * PAGE };
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES), *message = malloc(BYTES);
  const int root = size - 1;
  for (int round = 0; round < 6; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    fill(wanted, BYTES, (struct data){0, 1, round, 0});
    if (rank == root) memcpy(at, wanted, BYTES);
    if (rank != root) MPI_Irecv(message, BYTES, MPI_BYTE, root, round, MPI_COMM_WORLD, &request);
    /* In the first calls orders are agreed upon, for which all are needed. */
    for (int i = 0; i < root && rank == root && round > 2; ++i) {
      MPI_Ssend(wanted, BYTES, MPI_BYTE, i, round, MPI_COMM_WORLD);
    }
    MPI_Bcast(at, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
    EXPECT(((volatile char*)at)[BYTES / 2] == wanted[BYTES / 2]);
    for (int i = 0; i < root && rank == root && round <= 2; ++i) {
      MPI_Ssend(wanted, BYTES, MPI_BYTE, i, round, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_same("what the root had", at, wanted, BYTES);
    if (rank != root) expect_same("what it sent", message, wanted, BYTES);
  }
}

EARLY_GROUP(touching, MPI_THREAD_SINGLE, PENDING(first), PENDING(last), PENDING(middle), PENDING(in_order),
            PENDING(reverse), PENDING(random_order), PENDING(one_of_many), PENDING(only_one_rank), PENDING(over_edges),
            PENDING(copied), PENDING(moved), PENDING(searched), PENDING(set_all), PENDING(set_some),
            PENDING(one_byte_of_each_page), PENDING(added), PENDING(exchanged),
            {.name = "sorted", .pending = sorted, .bytes = SHORT_BYTES}, PENDING(received_again),
            PENDING(sum_received_again), PENDING(partly_received_again), PENDING(combined_in_place), PENDING(sent_on),
            RUN(needed_by_root), PENDING(never));
