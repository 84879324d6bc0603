/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "integration_tests/mpi/early/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "integration_tests/mpi/early/early.h"

enum { GUARD_BYTE = 0x5a, SENT_BYTE = 0xc3 };

int works_in_place(enum kind kind) {
  if (kind == BCAST) return 0;
#ifdef OPEN_MPI
  return 1;
#else
  return kind == ALLREDUCE || kind == ALLGATHER || kind == ALLGATHERV;
#endif
}

static int is_root(const struct exchange* e) { return e->comm_rank == e->root; }
static int has_lists(const struct exchange* e) {
  return e->kind == GATHERV || e->kind == SCATTERV || e->kind == ALLGATHERV || e->kind == ALLTOALLV ||
         e->kind == ALLTOALLW;
}
static int reduces_and_scatters(const struct exchange* e) {
  return e->kind == REDUCE_SCATTER || e->kind == REDUCE_SCATTER_BLOCK;
}
static int is_from_all_to_all(const struct exchange* e) {
  return e->kind == ALLTOALL || e->kind == ALLTOALLV || e->kind == ALLTOALLW;
}
static int is_scatter(const struct exchange* e) { return e->kind == SCATTER || e->kind == SCATTERV; }
static int is_gather(const struct exchange* e) { return e->kind == GATHER || e->kind == GATHERV; }
static int is_allgather(const struct exchange* e) { return e->kind == ALLGATHER || e->kind == ALLGATHERV; }
/* What this rank gives lies in its receive buffer. */
static int gives_in_place(const struct exchange* e) {
  if (is_scatter(e)) return 0;
  return e->in_place && ((e->kind != REDUCE && !is_gather(e)) || is_root(e));
}

/* Bytes that `from` has for `to`. */
static size_t bytes_of(const struct exchange* e, int from, int to) {
  if (!has_lists(e) && e->kind != REDUCE_SCATTER) return e->block;
  if (is_gather(e) || is_allgather(e)) to = 0;
  if (is_scatter(e) || e->kind == REDUCE_SCATTER) from = 0;
  if (e->in_place && is_from_all_to_all(e) && from > to) return bytes_of(e, to, from);
  switch ((3 * from + to + e->round) % 5) {
    case 0:
      return 0;
    case 1:
      return e->block / 3;
    case 2:
      return e->block - e->block / 100;
    default:
      return e->block;
  }
}

/* What `from` has for `to`. */
static struct data data_of(const struct exchange* e, int from, int to) {
  const int by_receiver = is_scatter(e) || is_from_all_to_all(e) || reduces_and_scatters(e);
  return (struct data){from, 1, e->round, by_receiver ? (uint64_t)to << 32 : 0};
}

static size_t lay_out(const struct exchange* e, int sends, int** counts, int** at) {
  const int n = e->comm_size;
  size_t end = 0;
  *counts = calloc((size_t)n, sizeof(int));
  *at = calloc((size_t)n, sizeof(int));
  for (int i = 0; i < n; ++i) {
    const int other = e->reversed ? n - 1 - i : i;
    const size_t bytes = sends ? bytes_of(e, e->comm_rank, other) : bytes_of(e, other, e->comm_rank);
    (*counts)[other] = (int)bytes;
    (*at)[other] = (int)end;
    end += bytes + e->gap;
  }
  return end;
}

static size_t round_up(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void plan_regular(struct exchange* e) {
  const size_t n = (size_t)e->comm_size;
  const int sends_all = e->kind == ALLTOALL || e->kind == REDUCE_SCATTER_BLOCK || (e->kind == SCATTER && is_root(e));
  const int receives_all = e->kind == ALLTOALL || e->kind == ALLGATHER || (e->kind == GATHER && is_root(e));
  const int receives_none = (e->kind == GATHER || e->kind == REDUCE) && !is_root(e);
  e->send_bytes = sends_all ? n * e->block : e->block;
  e->receive_bytes = receives_all ? n * e->block : receives_none ? 0 : e->block;
  if (e->kind == BCAST || (e->kind == SCATTER && !is_root(e))) e->send_bytes = 0;
}

static void plan_lists(struct exchange* e) {
  const int all_to_all = is_from_all_to_all(e);
  e->send_bytes = is_scatter(e) ? 0 : bytes_of(e, e->comm_rank, 0);
  e->receive_bytes = is_scatter(e) ? bytes_of(e, 0, e->comm_rank) : 0;
  if (all_to_all || (e->kind == SCATTERV && is_root(e))) e->send_bytes = lay_out(e, 1, &e->send_counts, &e->send_at);
  if (all_to_all || e->kind == ALLGATHERV || (e->kind == GATHERV && is_root(e))) {
    e->receive_bytes = lay_out(e, 0, &e->receive_counts, &e->receive_at);
  }
}

static void plan_reduce_scatter(struct exchange* e) {
  e->receive_counts = calloc((size_t)e->comm_size, sizeof(int));
  e->send_bytes = 0;
  for (int i = 0; i < e->comm_size; ++i) {
    e->receive_counts[i] = (int)bytes_of(e, 0, i);
    e->send_bytes += (size_t)e->receive_counts[i];
  }
  e->receive_bytes = (size_t)e->receive_counts[e->comm_rank];
}

void plan(struct exchange* e, size_t offset) {
  if (e->comm == (MPI_Comm)0) e->comm = MPI_COMM_WORLD;
  MPI_Comm_rank(e->comm, &e->comm_rank);
  MPI_Comm_size(e->comm, &e->comm_size);
  e->root %= e->comm_size;
  if (has_lists(e)) {
    plan_lists(e);
  } else if (e->kind == REDUCE_SCATTER) {
    plan_reduce_scatter(e);
  } else {
    plan_regular(e);
  }
  e->result_bytes = e->receive_bytes;
  if (reduces_and_scatters(e) && e->in_place) e->receive_bytes = e->send_bytes;
  e->send = aligned_alloc(PAGE, round_up(offset + e->send_bytes + 1));
  EXPECT(e->send != NULL);
  e->send += offset;
}

void receive_at(struct exchange* e, char* to) {
  e->receive = to;
  e->wanted = malloc(e->receive_bytes + 1);
  EXPECT(e->wanted != NULL);
}

void receive_in_pages(struct exchange* e, size_t offset) {
  e->is_mapped = 1;
  e->base_bytes = round_up(offset + e->receive_bytes) + 2 * PAGE;
  e->base = map_pages(e->base_bytes);
  memset(e->base, GUARD_BYTE, e->base_bytes);
  receive_at(e, e->base + PAGE + offset);
}

void receive_in_heap(struct exchange* e) {
  e->base_bytes = e->receive_bytes;
  e->base = malloc(e->base_bytes + 1);
  EXPECT(e->base != NULL);
  receive_at(e, e->base);
}

void plan_in_pages(struct exchange* e) {
  plan(e, 0);
  receive_in_pages(e, 0);
}
void plan_at(struct exchange* e, char* to) {
  plan(e, 0);
  receive_at(e, to);
}

/* Part `i` of a buffer of blocks. */
static char* block_at(const struct exchange* e, char* buffer, const int* at, int i) {
  return buffer + (at != NULL ? (size_t)at[i] : (size_t)i * e->block);
}

/* What this rank gives, to `to`, where blocks lie as `at` says. */
static void fill_given(const struct exchange* e, char* to, const int* at) {
  const int n = e->comm_size, me = e->comm_rank;
  const int blocks = is_from_all_to_all(e) || (is_scatter(e) && is_root(e));
  if (blocks || e->kind == REDUCE_SCATTER_BLOCK) {
    for (int i = 0; i < n; ++i) fill(block_at(e, to, at, i), bytes_of(e, me, i), data_of(e, me, i));
  } else if (e->kind == REDUCE_SCATTER) {
    for (int i = 0; i < n; to += e->receive_counts[i++]) fill(to, (size_t)e->receive_counts[i], data_of(e, me, i));
  } else if (!is_scatter(e) && e->kind != BCAST) {
    fill(to, bytes_of(e, me, 0), data_of(e, me, 0));
  }
}

/* A result of which `wanted` has what was there before. */
static void fill_wanted(struct exchange* e) {
  const int n = e->comm_size, me = e->comm_rank;
  if (e->kind == BCAST) {
    fill(e->wanted, e->block, data_of(e, e->root, 0));
  } else if (reduces(e->kind)) {
    struct data data = data_of(e, 0, me);
    data.count = e->kind == SCAN ? me + 1 : e->kind == EXSCAN ? me : n;
    if (data.count > 0) fill(e->wanted, e->result_bytes, data);
  } else if (is_scatter(e)) {
    if (!e->in_place || !is_root(e)) fill(e->wanted, e->receive_bytes, data_of(e, e->root, me));
  } else if (e->receive_bytes > 0) {
    for (int i = 0; i < n; ++i) {
      fill(block_at(e, e->wanted, e->receive_at, i), bytes_of(e, i, me), data_of(e, i, me));
    }
  }
}

void contribute(struct exchange* e) {
  memset(e->receive, GUARD_BYTE, e->receive_bytes);
  if (e->kind == BCAST && is_root(e)) {
    fill(e->receive, e->block, data_of(e, e->root, 0));
  } else if (gives_in_place(e) && is_allgather(e)) {
    fill_given(e, block_at(e, e->receive, e->receive_at, e->comm_rank), NULL);
  } else if (gives_in_place(e) && is_gather(e)) {
    fill_given(e, block_at(e, e->receive, e->receive_at, e->root), NULL);
  } else if (gives_in_place(e)) {
    fill_given(e, e->receive, e->receive_at);
  }
  memset(e->send, GUARD_BYTE, e->send_bytes);
  fill_given(e, e->send, e->send_at);
  memcpy(e->wanted, e->receive, e->receive_bytes);
  fill_wanted(e);
}

static int call_mpi(const struct exchange* e) {
  MPI_Datatype types[64];
  EXPECT(e->comm_size <= 64);
  for (int i = 0; i < e->comm_size; ++i) types[i] = MPI_BYTE;
  const int keeps = is_scatter(e) && e->in_place && is_root(e);
  const struct collective_arguments arguments = {.send = gives_in_place(e) ? MPI_IN_PLACE : e->send,
                                                 .send_count = (int)bytes_of(e, e->comm_rank, 0),
                                                 .send_counts = e->send_counts,
                                                 .send_at = e->send_at,
                                                 .send_type = MPI_BYTE,
                                                 .send_types = types,
                                                 .receive = keeps ? MPI_IN_PLACE : e->receive,
                                                 .receive_count = (int)bytes_of(e, 0, e->comm_rank),
                                                 .receive_counts = e->receive_counts,
                                                 .receive_at = e->receive_at,
                                                 .receive_type = MPI_BYTE,
                                                 .receive_types = types,
                                                 .op = MPI_BXOR,
                                                 .root = e->root,
                                                 .comm = e->comm};
  return call_collective(e->kind, &arguments);
}

static void scramble(int* list, int n) {
  for (int i = 0; list != NULL && i < n; ++i) list[i] = -1;
}

void call(struct exchange* e) {
  if (e->late == e->comm_rank + 1) be_late();
  EXPECT(call_mpi(e) == MPI_SUCCESS);
  memset(e->send, SENT_BYTE, e->send_bytes);
  scramble(e->send_counts, e->comm_size);
  scramble(e->send_at, e->comm_size);
  scramble(e->receive_counts, e->comm_size);
  scramble(e->receive_at, e->comm_size);
  if (e->kind == BCAST && is_root(e) && e->round % 2 == 1) {
    memset(e->receive, SENT_BYTE, e->receive_bytes);
    memset(e->wanted, SENT_BYTE, e->receive_bytes);
  }
}

enum { EARLIER = 3 }; /* from the second on a buffer may be adopted */

void perform(struct exchange* e) {
  for (int i = 0; repeats && i < EARLIER; ++i) {
    contribute(e);
    EXPECT(call_mpi(e) == MPI_SUCCESS);
  }
  contribute(e);
  call(e);
}

/* Nobody says what is there. */
static int is_undefined(const struct exchange* e) {
  return e->receive == NULL || (e->kind == EXSCAN && e->comm_rank == 0);
}

/* The buffer may be shorter by now. */
static size_t defined_bytes(const struct exchange* e) {
  return e->result_bytes < e->receive_bytes ? e->result_bytes : e->receive_bytes;
}

int is_right(const struct exchange* e) {
  const size_t bytes = defined_bytes(e);
  return is_undefined(e) || first_difference(e->receive, e->wanted, bytes) == bytes;
}

static void check_guard(const char* what, const char* from, const char* to) {
  for (; from < to; ++from) {
    if ((unsigned char)*from != GUARD_BYTE) fail("%s: byte at %p is written over", what, (const void*)from);
  }
}

void check(const struct exchange* e) {
  char what[160];
  if (is_undefined(e)) return;
  snprintf(what, sizeof(what), "%s round %d block %zu root %d%s%s%s", name_of(e->kind), e->round, e->block, e->root,
           e->in_place ? " in place" : "", e->late != 0 ? " late" : "", e->is_mapped ? "" : " in memory of malloc");
  expect_same(what, e->receive, e->wanted, defined_bytes(e));
  if (!e->is_mapped) return;
  check_guard(what, e->base, e->receive);
  check_guard(what, e->receive + e->receive_bytes, e->base + e->base_bytes);
}

void release(struct exchange* e) {
  free((char*)((uintptr_t)e->send / PAGE * PAGE));
  free(e->wanted);
  free(e->send_counts);
  free(e->send_at);
  free(e->receive_counts);
  free(e->receive_at);
  if (e->base == NULL) return;
  if (!e->is_mapped) {
    free(e->base);
  } else {
    EXPECT(munmap(e->base, e->base_bytes) == 0);
  }
}

void finish(struct exchange* e) {
  check(e);
  release(e);
}

void run_in_pages(struct exchange e) {
  plan_in_pages(&e);
  perform(&e);
  finish(&e);
}
void run_at(struct exchange e, char* to) {
  plan_at(&e, to);
  perform(&e);
  finish(&e);
}

static void on_pending_in(void (*take)(struct exchange*), size_t bytes, void (*body)(struct exchange* e)) {
  static int rounds = 0;
  const struct exchange kinds[] = {{.kind = BCAST, .root = size - 1, .block = bytes, .late = size},
                                   {.kind = BCAST, .root = 0, .block = bytes, .late = 1},
                                   {.kind = ALLREDUCE, .block = bytes, .late = 2},
                                   {.kind = ALLTOALL, .block = bytes / (size_t)size / PAGE * PAGE, .late = 1}};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    struct exchange e = kinds[i];
    e.round = rounds += 2;
    plan(&e, 0);
    take(&e);
    perform(&e);
    body(&e);
    finish(&e);
  }
}

static void receive_in_whole_pages(struct exchange* e) { receive_in_pages(e, 0); }
void on_pending(size_t bytes, void (*body)(struct exchange* e)) { on_pending_in(receive_in_whole_pages, bytes, body); }
void on_pending_heap(size_t bytes, void (*body)(struct exchange* e)) { on_pending_in(receive_in_heap, bytes, body); }
