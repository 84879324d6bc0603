/* SPDX-License-Identifier: Apache-2.0 */
#include "integration_tests/mpi/random/operations.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/chance.h"

static void trace(const struct thread* t, const char* what, const struct operation* o, uint64_t hash) {
  if (!tracing) return;
  fprintf(stderr,
          "trace rank %d thread %d step %d: %s %s of step %d mode %d slot %d size %d count %d root %d%s: %016llx\n",
          world_rank, t->number, t->now, what, o == NULL ? "" : name_of(o->kind), o == NULL ? t->now : o->step,
          o == NULL ? 0 : (int)o->mode, o == NULL ? -1 : o->slot, o == NULL ? 0 : o->on.size, o == NULL ? 0 : o->count,
          o == NULL ? 0 : o->root, o != NULL && o->in_place ? " in place" : "", (unsigned long long)hash);
}
void count_in(struct thread* t, const char* what, const struct operation* o, uint64_t hash) {
  const int at = o != NULL && o->mode == BLOCKING ? o->step : t->now;
  trace(t, what, o, hash);
  t->hash += mix2(hash, mix2((uint64_t)at, (uint64_t)world_rank));
  ++t->calls;
}

void* new_buffer(size_t bytes) {
  char* buffer = malloc(bytes + 2 * GUARD);
  CHECK(buffer != NULL);
  memset(buffer, 0x5a, bytes + 2 * GUARD);
  return buffer;
}

/* Elements that rank `from` has for `to` in an irregular call. */
static int block_of(const struct operation* o, int from, int to) {
  switch (o->kind) {
    case GATHERV:
    case ALLGATHERV:
      to = 0;
      break;
    case SCATTERV:
    case REDUCE_SCATTER:
      from = 0;
      break;
    case ALLTOALLV:
      /* In place, two ranks have the same for each other. */
      if (o->in_place && from > to) return block_of(o, to, from);
      break;
    default:
      return o->count;
  }
  const unsigned part = (unsigned)mix2(o->seed, (uint64_t)(from * 1000 + to)) % 5;
  return part == 0 ? 0 : (int)((unsigned)o->count * part / 4);
}
/* The same as elements of the receiver's type. */
int as_received(const struct operation* o, int count) {
  return o->peer_type == o->type ? count : count * o->type->parts;
}

/* Blocks for or from all ranks, in an order of the rank's own, with gaps. Returns elements from the first to behind
 * the last. */
static size_t lay_out(struct thread* t, const struct operation* o, int sends, int** counts, int** at) {
  const int n = o->on.size, gap = (int)draw(&t->own, 3), reverse = chance(&t->own, 50);
  *counts = malloc((size_t)n * sizeof(int));
  *at = malloc((size_t)n * sizeof(int));
  int end = 0;
  for (int i = 0; i < n; ++i) {
    const int other = reverse ? n - 1 - i : i;
    const int block = sends ? block_of(o, o->on.rank, other) : as_received(o, block_of(o, other, o->on.rank));
    (*counts)[other] = block;
    (*at)[other] = end;
    end += block + gap;
  }
  return (size_t)end;
}

static int has_send_lists(const struct operation* o) {
  return o->kind == ALLTOALLV || (o->kind == SCATTERV && o->on.rank == o->root);
}
static int has_receive_lists(const struct operation* o) {
  return o->kind == ALLTOALLV || o->kind == ALLGATHERV || (o->kind == GATHERV && o->on.rank == o->root);
}

static uint64_t seed_of(const struct operation* o) { return mix2(o->seed, (uint64_t)(world_rank * 64 + o->starts)); }

void prepare(struct thread* t, struct operation* o) {
  const size_t n = (size_t)o->on.size, s = (size_t)o->count, r = (size_t)as_received(o, o->count);
  const int is_root = o->on.rank == o->root;
  size_t sends = (size_t)block_of(o, o->on.rank, 0);
  size_t receives = (size_t)as_received(o, block_of(o, 0, o->on.rank));
  switch (o->kind) {
    case BARRIER:
      sends = receives = 0;
      break;
    case BCAST:
    case SCATTERV:
      sends = 0;
      break;
    case GATHER:
      receives = is_root ? n * r : 0;
      break;
    case GATHERV:
      receives = 0;
      break;
    case SCATTER:
      sends = is_root ? n * s : 0;
      break;
    case ALLGATHER:
      receives = n * r;
      break;
    case ALLTOALL:
      sends = n * s;
      receives = n * r;
      break;
    case REDUCE_SCATTER: {
      o->receive_counts = malloc(n * sizeof(int));
      sends = 0;
      for (int i = 0; i < o->on.size; ++i) sends += (size_t)(o->receive_counts[i] = block_of(o, 0, i));
      /* In place, all that is combined lies there. */
      receives = o->in_place ? sends : (size_t)o->receive_counts[o->on.rank];
      break;
    }
    case REDUCE_SCATTER_BLOCK:
      sends = n * s;
      receives = o->in_place ? n * s : s;
      break;
    default:
      break;
  }
  if (has_send_lists(o)) sends = lay_out(t, o, 1, &o->send_counts, &o->send_at);
  if (has_receive_lists(o)) receives = lay_out(t, o, 0, &o->receive_counts, &o->receive_at);
  o->send_bytes = sends * o->type->bytes;
  o->receive_bytes = receives * o->peer_type->bytes;
  o->send = new_buffer(o->send_bytes);
  o->receive = new_buffer(o->receive_bytes);
}

static void fill_blocks(const struct operation* o, char* buffer, const struct type* type, const int* counts,
                        const int* at) {
  for (int i = 0; i < o->on.size; ++i) {
    fill(buffer + GUARD + (size_t)at[i] * type->bytes, (size_t)counts[i], type, mix2(seed_of(o), (uint64_t)i));
  }
}

void contribute(struct operation* o) {
  const uint64_t seed = seed_of(o);
  memset(o->receive, 0x5a, o->receive_bytes + 2 * GUARD);
  fill(o->send + GUARD, o->send_bytes / o->type->bytes, o->type, seed);
  const int everything = o->kind == BCAST ? o->on.rank == o->root : o->in_place;
  if (everything && o->kind != SCATTER && o->kind != SCATTERV) {
    /* A block of the receive buffer, or all of it; the same bytes for every rank and how its blocks lie do not matter,
     * since each is filled by what it is. */
    if (o->receive_at != NULL) {
      fill_blocks(o, o->receive, o->peer_type, o->receive_counts, o->receive_at);
    } else {
      fill(o->receive + GUARD, o->receive_bytes / o->peer_type->bytes, o->peer_type, seed);
    }
  } else if (o->send_at != NULL) {
    fill_blocks(o, o->send, o->type, o->send_counts, o->send_at);
  }
}

/* By MPI_X, MPI_IX or MPI_X_init, and the latter's start. */
void begin(struct thread* t, struct operation* o) {
  const int scatters = o->kind == SCATTER || o->kind == SCATTERV;
  const struct collective_arguments a = {.send = o->in_place && !scatters ? MPI_IN_PLACE : o->send + GUARD,
                                         .send_count = block_of(o, o->on.rank, 0),
                                         .send_counts = o->send_counts,
                                         .send_at = o->send_at,
                                         .send_type = o->type->type,
                                         .receive = o->in_place && scatters ? MPI_IN_PLACE : o->receive + GUARD,
                                         .receive_count = as_received(o, block_of(o, 0, o->on.rank)),
                                         .receive_counts = o->receive_counts,
                                         .receive_at = o->receive_at,
                                         .receive_type = o->peer_type->type,
                                         .op = o->op,
                                         .root = o->root,
                                         .comm = o->on.comm};
  trace(t, "begins", o, 0);
  int code = MPI_SUCCESS;
  if (o->mode == BLOCKING) {
    code = call_collective(o->kind, &a);
  } else if (o->mode == STARTED || !persistent) {
    code = start_collective(o->kind, &a, &o->request);
  } else {
    code = init_collective(o->kind, &a, &o->request);
    if (code == MPI_SUCCESS) code = MPI_Start(&o->request);
  }
  CHECK(code == MPI_SUCCESS);
}

void post_receive(struct operation* o) {
  (o->mode == PERSISTENT ? MPI_Recv_init : MPI_Irecv)(o->receive + GUARD, as_received(o, o->count), o->peer_type->type,
                                                      o->root, o->step, o->on.comm, &o->request);
  if (o->mode == PERSISTENT) MPI_Start(&o->request);
}

uint64_t result_of(const struct operation* o) {
  uint64_t hash = mix2((uint64_t)o->step, (uint64_t)o->kind);
  const int undefined = o->kind == EXSCAN && o->on.rank == 0;
  /* In place, the other blocks than the own one are scratch. */
  const int partly = o->in_place && (o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK);
  const size_t bytes =
      partly ? (size_t)(o->kind == REDUCE_SCATTER ? o->receive_counts[o->on.rank] : o->count) * o->peer_type->bytes
             : o->receive_bytes;
  if (o->receive != NULL && !undefined && !(o->in_place && (o->kind == SCATTER || o->kind == SCATTERV))) {
    if (o->receive_at != NULL) {
      /* How blocks lie is the rank's own affair. */
      for (int i = 0; i < o->on.size; ++i) {
        hash = hash_of(o->receive + GUARD + (size_t)o->receive_at[i] * o->peer_type->bytes,
                       (size_t)o->receive_counts[i] * o->peer_type->bytes, o->peer_type, hash);
      }
    } else {
      hash = hash_of(o->receive + GUARD, bytes, o->peer_type, hash);
    }
  }
  return hash;
}

void note(struct thread* t, struct operation* o) {
  const uint64_t hash = result_of(o);
  for (int i = 0; o->receive != NULL && i < GUARD; ++i) {
    CHECK(o->receive[i] == 0x5a && o->receive[GUARD + o->receive_bytes + (size_t)i] == 0x5a);
  }
  count_in(t, "ends", o, hash);
}

void release(struct operation* o) {
  free(o->send);
  free(o->receive);
  free(o->send_counts);
  free(o->send_at);
  free(o->receive_counts);
  free(o->receive_at);
  free(o);
}
