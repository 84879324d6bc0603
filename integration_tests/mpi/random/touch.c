/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "integration_tests/mpi/random/touch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/chance.h"
#include "integration_tests/mpi/random/operations.h"

enum { STEPS_MAX = 8, PIECE = 32 << 10, READERS = 2 };

/* --- Ways to look at a result, guards and all; each leaves it as it was --- */

static size_t length_of(const struct operation* o) { return o->receive_bytes + 2 * GUARD; }

static void as_it_lies(struct thread* t, struct operation* o) { (void)t, (void)o; }

static void here_and_there(struct thread* t, struct operation* o) {
  volatile char* const at = o->receive;
  for (int i = 0; i < 20; ++i) (void)at[draw(&t->own, (unsigned)length_of(o))];
}

/* A byte is written, and written back. */
static void written(struct thread* t, struct operation* o) {
  for (int i = 0; i < 20; ++i) {
    char* const at = o->receive + draw(&t->own, (unsigned)length_of(o));
    __atomic_fetch_xor(at, 0x55, __ATOMIC_SEQ_CST);
    __atomic_fetch_xor(at, 0x55, __ATOMIC_SEQ_CST);
  }
}

/* Out and in again piece by piece, to other memory or to its own. */
static void through(int out, int in, struct thread* t, struct operation* o) {
  const int stays = chance(&t->own, 50);
  char* const to = stays ? o->receive : malloc(length_of(o));
  for (size_t done = 0; done < length_of(o);) {
    const size_t left = length_of(o) - done, piece = left < PIECE ? left : PIECE;
    CHECK(write(out, o->receive + done, piece) == (ssize_t)piece);
    if (in == out) CHECK(lseek(in, (off_t)done, SEEK_SET) == (off_t)done);
    CHECK(read(in, to + done, piece) == (ssize_t)piece);
    done += piece;
  }
  if (!stays) free(o->receive);
  o->receive = to;
}
static void through_pipe(struct thread* t, struct operation* o) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  through(ends[1], ends[0], t, o);
  close(ends[0]);
  close(ends[1]);
}
static void through_file(struct thread* t, struct operation* o) {
  const int file = memfd_create("random_touch", 0);
  CHECK(file >= 0);
  through(file, file, t, o);
  close(file);
}

static void moved(struct thread* t, struct operation* o) {
  const size_t bytes = length_of(o);
  o->receive = realloc(o->receive, bytes * (1 + draw(&t->own, 3)));
  CHECK(o->receive != NULL);
}

static void by_child(struct thread* t, struct operation* o) {
  int ends[2], status = -1;
  uint64_t hash = 0;
  (void)t;
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    hash = result_of(o);
    _exit(write(ends[1], &hash, sizeof(hash)) == sizeof(hash) ? 0 : 1);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(read(ends[0], &hash, sizeof(hash)) == sizeof(hash) && hash == result_of(o));
  close(ends[0]);
  close(ends[1]);
}

static void* read_it(void* operation) { return (void*)(uintptr_t)result_of(operation); }
static void by_threads(struct thread* t, struct operation* o) {
  pthread_t readers[READERS];
  (void)t;
  for (int i = 0; i < READERS; ++i) CHECK(pthread_create(&readers[i], NULL, read_it, o) == 0);
  const uint64_t hash = result_of(o);
  for (int i = 0; i < READERS; ++i) {
    void* seen = NULL;
    CHECK(pthread_join(readers[i], &seen) == 0 && (uintptr_t)seen == hash);
  }
}

static const struct {
  unsigned percent;
  void (*look)(struct thread*, struct operation*);
} kWays[] = {
    {30, as_it_lies},   {15, here_and_there}, {10, written}, {10, through_pipe},
    {10, through_file}, {10, moved},          {5, by_child}, {10, by_threads},
};

/* --- When --- */

static void touch(struct thread* t, struct operation* o) {
  unsigned left = draw(&t->own, 100), way = 0;
  while (left >= kWays[way].percent) left -= kWays[way++].percent;
  kWays[way].look(t, o);
  note(t, o);
  release(o);
}

void touch_some_time(struct thread* t, struct operation* o) {
  const unsigned what = draw(&t->own, 3);
  if (what == 0) {
    free(o->send);
    o->send = NULL;
  } else if (what == 1) {
    memset(o->send, 0xc3, o->send_bytes + 2 * GUARD);
  }
  o->due = t->now + (int)draw(&t->own, STEPS_MAX);
  if (o->due == t->now || t->untouched_count == UNTOUCHED) {
    touch(t, o);
  } else {
    t->untouched[t->untouched_count++] = o;
  }
}

static void touch_until(struct thread* t, int step) {
  for (int i = 0; i < t->untouched_count;) {
    struct operation* const o = t->untouched[i];
    if (o->due > step) {
      ++i;
      continue;
    }
    t->untouched[i] = t->untouched[--t->untouched_count];
    touch(t, o);
  }
}
void touch_due(struct thread* t) { touch_until(t, t->now); }
void touch_all(struct thread* t) { touch_until(t, t->steps + STEPS_MAX); }
