/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that touch what the main thread's collectives are still to bring, and threads with collectives of their own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { THREADS = 8, CALLERS = 3, MESSAGE_BYTES = 300 << 10 };

/* What thread `number` does with the data. */
typedef void (*looking)(const struct exchange* e, int number);
struct looker {
  const struct exchange* e;
  int number;
  looking look;
  pthread_barrier_t* start;
};
static void* look_when_all_do(void* argument) {
  const struct looker* const l = argument;
  pthread_barrier_wait(l->start);
  l->look(l->e, l->number);
  return NULL;
}

static void at_once(struct exchange* e, looking look) {
  pthread_barrier_t start;
  pthread_t ids[THREADS];
  struct looker lookers[THREADS];
  EXPECT(pthread_barrier_init(&start, NULL, THREADS) == 0);
  for (int i = 0; i < THREADS; ++i) {
    lookers[i] = (struct looker){e, i, look, &start};
    EXPECT(pthread_create(&ids[i], NULL, look_when_all_do, &lookers[i]) == 0);
  }
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_join(ids[i], NULL) == 0);
  pthread_barrier_destroy(&start);
}

static void expect_page(const struct exchange* e, size_t at) {
  expect_same("seen by a thread", e->receive + at, e->wanted + at, PAGE);
}

static void look_at_one_page(const struct exchange* e, int number) {
  (void)number;
  expect_page(e, e->receive_bytes / 2 / PAGE * PAGE);
}
static void look_at_own_part(const struct exchange* e, int number) {
  for (size_t i = (size_t)number; i < e->receive_bytes / PAGE; i += THREADS) expect_page(e, i * PAGE);
}
static void look_at_all(const struct exchange* e, int number) {
  const size_t pages = e->receive_bytes / PAGE;
  for (size_t i = 0; i < pages; ++i) expect_page(e, (i * 13 + (size_t)number * 7) % pages * PAGE);
}
/* A byte of each page each. */
static void write_own_bytes(const struct exchange* e, int number) {
  for (size_t at = (size_t)number; at < e->receive_bytes; at += PAGE) e->receive[at] = e->wanted[at] = (char)number;
}

static void one_page(struct exchange* e) { at_once(e, look_at_one_page); }
static void own_parts(struct exchange* e) { at_once(e, look_at_own_part); }
static void everything(struct exchange* e) { at_once(e, look_at_all); }
static void written(struct exchange* e) { at_once(e, write_own_bytes); }

/* The main thread goes on with collectives while others look at what the ones before brought. */
static void* check_and_release(void* e) {
  finish(e);
  free(e);
  return NULL;
}
static void meanwhile(void) {
  enum { ROUNDS = 40, AT_A_TIME = 4 };
  static const enum kind kKinds[] = {BCAST, ALLREDUCE, ALLTOALL, ALLGATHERV, SCATTER};
  pthread_t ids[AT_A_TIME];
  for (int round = 0; round < ROUNDS; ++round) {
    struct exchange* e = malloc(sizeof(*e));
    *e = (struct exchange){
        .kind = kKinds[round % 5], .block = MESSAGE_BYTES, .round = round, .root = round, .late = 1 + round % size};
    plan_in_pages(e);
    if (round >= AT_A_TIME) EXPECT(pthread_join(ids[round % AT_A_TIME], NULL) == 0);
    perform(e);
    EXPECT(pthread_create(&ids[round % AT_A_TIME], NULL, check_and_release, e) == 0);
  }
  for (int i = 0; i < AT_A_TIME; ++i) EXPECT(pthread_join(ids[i], NULL) == 0);
}

/* --- With a message under way to the rank whose data a thread waits for --- */

struct worker {
  pthread_t id;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  const struct exchange* work; /* NULL: none, or done */
};
static void* work_once(void* argument) {
  struct worker* const w = argument;
  pthread_mutex_lock(&w->lock);
  while (w->work == NULL) pthread_cond_wait(&w->changed, &w->lock);
  pthread_mutex_unlock(&w->lock);
  check(w->work);
  pthread_mutex_lock(&w->lock);
  w->work = NULL;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  return NULL;
}
static void start_worker(struct worker* w) {
  *w = (struct worker){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  EXPECT(pthread_create(&w->id, NULL, work_once, w) == 0);
}
/* Makes no call of MPI meanwhile. */
static void await_worker(struct worker* w, const struct exchange* e) {
  pthread_mutex_lock(&w->lock);
  w->work = e;
  pthread_cond_signal(&w->changed);
  while (w->work != NULL) pthread_cond_wait(&w->changed, &w->lock);
  pthread_mutex_unlock(&w->lock);
  EXPECT(pthread_join(w->id, NULL) == 0);
}

/* Rank 1 does not come to the broadcast, whose root it is, before it has rank 0's message, which takes turns of both.
 */
static void broadcast_behind_message(int round, struct worker* w, int starts_late) {
  enum { LONG_BYTES = 8 << 20 };
  SCOPED char* message = calloc(1, LONG_BYTES);
  MPI_Request request = MPI_REQUEST_NULL;
  struct exchange e = {.kind = BCAST, .block = 128 * PAGE, .round = round, .root = 1};
  plan_in_pages(&e);
  if (rank == 0) MPI_Isend(message, LONG_BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv(message, LONG_BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  perform(&e);
  if (rank == 0 && starts_late) start_worker(w);
  if (rank == 0) await_worker(w, &e);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  finish(&e);
}
/* Comes first, while there is no other thread. At each second call the ranks wait for each other to learn an order. */
static void waits_for_new_worker(void) {
  struct worker w;
  for (int call = 1; call <= 7; ++call) {
    if (call == 3 || call == 5 || call == 7) {
      broadcast_behind_message(call, &w, 1);
      continue;
    }
    run_in_pages((struct exchange){.kind = BCAST, .block = 128 * PAGE, .round = call, .root = 1});
  }
}
static void waits_for_worker(void) {
  struct worker w;
  for (int round = 0; round < 3; ++round) {
    if (rank == 0) start_worker(&w);
    broadcast_behind_message(round, &w, 0);
  }
}

/* --- With calls by several threads --- */

/* What threads call: lengths grow from round to round. */
struct load {
  const enum kind* kinds; /* NULL: all */
  int kind_count, rounds;
  size_t first_block, step;
};

struct caller {
  const struct load* load;
  MPI_Comm comm;
  int number;
  /* What this thread received, for another to look at. */
  pthread_mutex_t lock;
  struct exchange* shown;
};
static struct caller callers[CALLERS];

static void show(struct caller* to, struct exchange* e) {
  pthread_mutex_lock(&to->lock);
  struct exchange* const before = to->shown;
  to->shown = e;
  pthread_mutex_unlock(&to->lock);
  if (before != NULL) check_and_release(before);
}
static void* call_in_thread(void* argument) {
  struct caller* const c = argument;
  const struct load* const load = c->load;
  for (int round = 0; round < load->rounds; ++round) {
    const int which = (round + c->number) % load->kind_count;
    struct exchange* e = malloc(sizeof(*e));
    *e = (struct exchange){.kind = load->kinds == NULL ? (enum kind)which : load->kinds[which],
                           .comm = c->comm,
                           .block = load->first_block + (size_t)round * load->step,
                           .round = round,
                           .root = round};
    plan(e, (size_t)round);
    receive_in_pages(e, round % 2 == 0 ? 0 : 100);
    perform(e);
    show(&callers[(c->number + 1) % CALLERS], e);
  }
  return NULL;
}
static void call_by_all(const struct load* load) {
  pthread_t ids[CALLERS];
  for (int i = 0; i < CALLERS; ++i) {
    callers[i] = (struct caller){.load = load, .number = i};
    pthread_mutex_init(&callers[i].lock, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &callers[i].comm);
  }
  for (int i = 0; i < CALLERS; ++i) EXPECT(pthread_create(&ids[i], NULL, call_in_thread, &callers[i]) == 0);
  for (int i = 0; i < CALLERS; ++i) EXPECT(pthread_join(ids[i], NULL) == 0);
  for (int i = 0; i < CALLERS; ++i) {
    show(&callers[i], NULL);
    MPI_Comm_free(&callers[i].comm);
    pthread_mutex_destroy(&callers[i].lock);
  }
}

/* All of the three that run at once fit into a port's data area of 1 MiB, or none. */
static void short_calls(void) {
  call_by_all(&(struct load){.kind_count = KINDS, .rounds = 30, .first_block = 600, .step = 600});
}
static void long_calls(void) {
  static const enum kind kKinds[] = {BCAST, ALLREDUCE, ALLTOALL, ALLGATHER, SCAN};
  call_by_all(
      &(struct load){.kinds = kKinds, .kind_count = 5, .rounds = 10, .first_block = 600 << 10, .step = 3 * PAGE + 1});
}
/* One does, and two do not. */
static void middling_calls(void) {
  call_by_all(&(struct load){.kind_count = KINDS, .rounds = 30, .first_block = 5000, .step = 5000});
}

/* The thread that looks waits under a lock that the calling thread wants, too. */
static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
static void* look_under_lock(void* e) {
  pthread_mutex_lock(&common);
  check(e);
  pthread_mutex_unlock(&common);
  return NULL;
}
static void under_a_lock(void) {
  for (int round = 0; round < 10; ++round) {
    struct exchange e = {.kind = ALLREDUCE, .block = MESSAGE_BYTES, .round = round, .late = 1 + round % size};
    pthread_t looker;
    plan_in_pages(&e);
    pthread_mutex_lock(&common);
    perform(&e);
    EXPECT(pthread_create(&looker, NULL, look_under_lock, &e) == 0);
    pthread_mutex_unlock(&common);
    pthread_mutex_lock(&common);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_mutex_unlock(&common);
    EXPECT(pthread_join(looker, NULL) == 0);
    release(&e);
  }
}

EARLY_GROUP(threads, MPI_THREAD_FUNNELED, RUN(waits_for_new_worker), RUN(waits_for_worker), PENDING(one_page),
            PENDING(own_parts), PENDING(everything), PENDING(written), RUN(meanwhile));

EARLY_GROUP(threads_multiple, MPI_THREAD_MULTIPLE, RUN(short_calls), RUN(long_calls), RUN(under_a_lock), RUN(meanwhile),
            PENDING(own_parts));

EARLY_GROUP(threads_crossing, MPI_THREAD_MULTIPLE, RUN(middling_calls));
