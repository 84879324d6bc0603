/* SPDX-License-Identifier: Apache-2.0
 *
 * A random program: collectives (blocking, not blocking, persistent), messages between ranks, communicators and
 * threads, all by one seed, which all ranks draw from alike. What each rank does at its own discretion, such as how it
 * waits, does not change what it receives: a hash of that is the same with any MPI library that is right.
 *
 * Arguments: SEED [STEPS [trace] [persistent] [touch]]. Prints "seed SEED: N calls, hash H"; with `trace`, each step
 * and each hash on standard error, so that two runs can be compared. With `persistent`, persistent collectives are
 * such; else each of their starts is a non-blocking call, with the same hash, since those of MPICH 4.0.2 and Open
 * MPI 4.1.4 end with wrong data, errors or not at all when others run beside them. With `touch`, buffers are longer,
 * and each rank looks at the results of blocking calls when and how it likes (touch.h). Values are small whole
 * numbers, so that no order of operands makes a difference.
 *
 * Its steps are here; what they are made of: operations.h, completion.h, communicators.h, touch.h. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/chance.h"
#include "integration_tests/mpi/random/communicators.h"
#include "integration_tests/mpi/random/completion.h"
#include "integration_tests/mpi/random/elements.h"
#include "integration_tests/mpi/random/operations.h"
#include "integration_tests/mpi/random/random_program.h"
#include "integration_tests/mpi/random/touch.h"

enum { THREADS = 3, STEPS = 80, LONG_BYTES = 2 << 20 };

int world_rank, threads, tracing, persistent, touching;
static int world_size;

static int draw_count(uint64_t* state) {
  const unsigned how = draw(state, 100);
  if (how < 8) return 0;
  if (how < 40) return 1 + (int)draw(state, 8);
  if (how < 80) return 1 + (int)draw(state, 300);
  if (how < 96) return 1 + (int)draw(state, 4000);
  return 1 + (int)draw(state, 30000);
}

static struct operation* new_operation(struct thread* t, int slot, uint64_t* state) {
  struct operation* o = calloc(1, sizeof(*o));
  CHECK(o != NULL);
  o->on = t->slots[slot];
  o->slot = slot;
  o->step = t->now;
  o->seed = mix(*state);
  o->request = MPI_REQUEST_NULL;
  o->due = t->now + 1 + (int)draw(state, 12);
  return o;
}

/* Draws types for data that is moved and not reduced. */
static void draw_types(uint64_t* state, struct operation* o) {
  o->type = o->peer_type = draw_type(state, type_count);
  if (o->type->parts == 0 || !chance(state, 40)) return;
  for (int i = 0; i < type_count; ++i) {
    if (types[i].type == o->type->part) o->peer_type = &types[i];
  }
}

static void collective(struct thread* t, int slot, uint64_t* state, enum mode mode) {
  struct operation* o = new_operation(t, slot, state);
  if (threads > 1 && !STARTED_WORKS_WITH_THREADS) mode = BLOCKING;
  o->mode = mode;
  o->kind = (enum kind)((int)draw(state, KINDS) - 1);
  if (o->kind >= ALLTOALLW) ++o->kind; /* which is not drawn */
  o->root = (int)draw(state, (unsigned)o->on.size);
  o->count = draw_count(state);
  if (reduces(o->kind)) {
    o->type = o->peer_type = draw_type(state, reducible_count);
    o->op = draw_op(state, o->type);
  } else {
    draw_types(state, o);
    /* Everybody gives the whole buffer the same type: one that is sent and received. */
    if (o->kind == BCAST) o->peer_type = o->type;
  }
  /* Not with threads: their calls wait crosswise for room in the port's data area (tnbc_test's disabled case). */
  if (touching && threads == 1 && mode == BLOCKING && chance(state, 15)) {
    o->count = 1 + (int)draw(state, LONG_BYTES / (unsigned)o->type->bytes);
  }
  /* Blocks are many. */
  if (o->kind >= GATHER && o->kind <= REDUCE_SCATTER_BLOCK) o->count /= 4;
  o->starts = mode == PERSISTENT ? (int)draw(state, 3) : 0;
  const int rooted = o->kind == REDUCE || (o->kind >= GATHER && o->kind <= SCATTERV);
  int in_place = o->kind != BARRIER && o->kind != BCAST && o->peer_type == o->type && chance(state, 25);
  const int is_safe = o->kind == ALLREDUCE || o->kind == ALLGATHER || o->kind == ALLGATHERV;
  if (!IN_PLACE_WORKS && !is_safe) in_place = 0;
  o->in_place = in_place && (!rooted || o->on.rank == o->root);
  prepare(t, o);
  contribute(o);
  begin(t, o);
  if (mode != BLOCKING) {
    t->pending[t->pending_count++] = o;
    return;
  }
  if (touching) {
    touch_some_time(t, o);
    return;
  }
  note(t, o);
  release(o);
}

/* A message from one rank to another, that goes now and arrives later. */
static void message(struct thread* t, int slot, uint64_t* state) {
  struct operation* o = new_operation(t, slot, state);
  const int from = (int)draw(state, (unsigned)o->on.size), to = (int)draw(state, (unsigned)o->on.size);
  o->count = draw_count(state) * (chance(state, 10) ? 8 : 1);
  draw_types(state, o);
  o->mode = chance(state, 20) ? PERSISTENT : STARTED;
  o->starts = o->mode == PERSISTENT ? (int)draw(state, 3) : 0;
  o->late = o->mode == STARTED && chance(state, 50);
  const int synchronous = chance(state, 20);
  if (o->on.rank == to) {
    struct operation* r = malloc(sizeof(*r));
    *r = *o;
    r->kind = RECEIVE;
    r->root = from;
    r->receive_bytes = (size_t)as_received(o, o->count) * o->peer_type->bytes;
    r->receive = new_buffer(r->receive_bytes);
    if (!r->late) post_receive(r);
    t->pending[t->pending_count++] = r;
  }
  if (o->on.rank != from) {
    free(o);
    return;
  }
  o->kind = SEND;
  o->root = to;
  o->late = 0;
  o->send_bytes = (size_t)o->count * o->type->bytes;
  o->send = new_buffer(o->send_bytes);
  fill(o->send + GUARD, (size_t)o->count, o->type, o->seed);
  const int is_persistent = o->mode == PERSISTENT;
  (is_persistent ? MPI_Send_init
   : synchronous ? MPI_Issend
                 : MPI_Isend)(o->send + GUARD, o->count, o->type->type, to, o->step, o->on.comm, &o->request);
  if (is_persistent) MPI_Start(&o->request);
  t->pending[t->pending_count++] = o;
}

/* Everybody to the next one, at once. */
static void shift(struct thread* t, int slot, uint64_t* state) {
  const struct slot* on = &t->slots[slot];
  const struct type* type = draw_type(state, type_count);
  const int by = (int)draw(state, (unsigned)on->size), count = draw_count(state);
  const size_t bytes = (size_t)count * type->bytes;
  char *send = new_buffer(bytes), *receive = new_buffer(bytes);
  fill(send, (size_t)count, type, mix2(*state, (uint64_t)world_rank));
  MPI_Sendrecv(send, count, type->type, (on->rank + by) % on->size, t->now, receive, count, type->type,
               (on->rank + on->size - by) % on->size, t->now, on->comm, MPI_STATUS_IGNORE);
  count_in(t, "shifts", NULL, hash_of(receive, bytes, type, (uint64_t)by));
  free(send);
  free(receive);
}

/* Microseconds, or some milliseconds. */
static void compute(uint64_t* state) {
  volatile uint64_t done = 0;
  for (unsigned left = draw(state, chance(state, 10) ? 1000000 : 50000); left > 0; --left) done = mix(done);
}

static void step(struct thread* t) {
  uint64_t state = mix2(mix2(t->seed, (uint64_t)t->number), (uint64_t)t->now);
  t->own = mix2(state, (uint64_t)world_rank + 1);
  if (chance(&t->own, 10)) compute(&t->own);
  complete(t, -1, 0);
  if (touching) touch_due(t);
  int slot = 0;
  for (int tries = 0; tries < 4; ++tries) {
    const int other = (int)draw(&state, SLOTS);
    if (slot == 0 && t->slots[other].used) slot = other;
  }
  const unsigned what = draw(&state, 100);
  if (what >= 90) {
    if (what < 96 || slot == 0) {
      if (t->number == 0 || MAKING_WORKS_WITH_THREADS) make_communicator(t, slot, &state);
    } else {
      free_communicator(t, slot, &state);
    }
    return;
  }
  if (t->slots[slot].comm == MPI_COMM_NULL) return;
  if (what < 45) {
    collective(t, slot, &state, BLOCKING);
  } else if (what < 62) {
    collective(t, slot, &state, STARTED);
  } else if (what < 66) {
    collective(t, slot, &state, PERSISTENT);
  } else if (what < 84) {
    message(t, slot, &state);
  } else {
    shift(t, slot, &state);
  }
  look_at(t, slot);
}

static void* run(void* argument) {
  struct thread* t = argument;
  for (t->now = 0; t->now < t->steps; ++t->now) {
    /* Room for the two that a step may add, at every rank alike: it does not know how many the others have. */
    if (t->now % (PENDING / 2) == 0) complete(t, -1, 1);
    step(t);
  }
  complete(t, -1, 1);
  for (int i = 1; i < SLOTS; ++i) {
    if (t->slots[i].used && t->slots[i].comm != MPI_COMM_NULL) MPI_Comm_free(&t->slots[i].comm);
  }
  touch_all(t);
  return NULL;
}

/* Open MPI 4.1.4 crashes now and then when two threads are the first to make one. */
static void make_first_topology(void) {
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &made);
  MPI_Comm_free(&made);
}

int main(int argc, char** argv) {
  const uint64_t seed = strtoull(argc > 1 ? argv[1] : "1", NULL, 0);
  const int steps = argc > 2 ? atoi(argv[2]) : STEPS;
  for (int i = 3; i < argc; ++i) {
    tracing |= strcmp(argv[i], "trace") == 0;
    persistent |= strcmp(argv[i], "persistent") == 0;
    touching |= strcmp(argv[i], "touch") == 0;
  }
  uint64_t state = mix(seed);
  int level = MPI_THREAD_SINGLE;
  threads = chance(&state, 30) ? 2 + (int)draw(&state, THREADS - 1) : 1;
  if (threads > 1 || touching) {
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK(threads == 1 || level == MPI_THREAD_MULTIPLE);
  CHECK(world_size <= RANKS_MAX);
  make_types();
  make_attribute_key();
  struct thread thread[THREADS];
  memset(thread, 0, sizeof(thread));
  for (int i = 0; i < threads; ++i) {
    struct slot* base = &thread[i].slots[0];
    thread[i].number = i;
    thread[i].seed = seed;
    thread[i].steps = steps;
    *base = (struct slot){.used = 1, .comm = MPI_COMM_WORLD, .size = world_size, .rank = world_rank, .born = -1};
    if (i > 0) MPI_Comm_dup(MPI_COMM_WORLD, &base->comm);
  }
  if (threads > 1) make_first_topology();
  pthread_t ids[THREADS];
  for (int i = 1; i < threads; ++i) pthread_create(&ids[i], NULL, run, &thread[i]);
  run(&thread[0]);
  for (int i = 1; i < threads; ++i) pthread_join(ids[i], NULL);
  uint64_t sum[2] = {0, 0};
  for (int i = 0; i < threads; ++i) {
    sum[0] += mix2(thread[i].hash, (uint64_t)i);
    sum[1] += (uint64_t)thread[i].calls;
    if (i > 0) MPI_Comm_free(&thread[i].slots[0].comm);
  }
  /* Not by a collective: these may be what is wrong. */
  if (world_rank > 0) {
    MPI_Send(sum, 2, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
  } else {
    for (int i = 1; i < world_size; ++i) {
      uint64_t other[2];
      MPI_Recv(other, 2, MPI_UINT64_T, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sum[0] += mix2(other[0], (uint64_t)i);
      sum[1] += other[1];
    }
    printf("seed %llu: %llu calls, hash %016llx\n", (unsigned long long)seed, (unsigned long long)sum[1],
           (unsigned long long)sum[0]);
  }
  free_types();
  free_attribute_key();
  MPI_Finalize();
  return 0;
}
