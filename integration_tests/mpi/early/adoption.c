/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that results come to again and again, whose pages are exchanged for some that the daemon reaches
 * (COPSE_TNBC_ADOPT): it stays what it was to the program. With "repeats" it is looked whether they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { BYTES = (1 << 20) + 5 * PAGE, CHILDS_BYTE = 0x3c, STATIC_BYTES = BYTES + 100 };

static int middle_is_adopted(const struct exchange* e) { return is_adopted(e->receive + e->receive_bytes / 2); }
static void expect_adopted(const struct exchange* e, int adopted) {
  if (repeats) EXPECT(middle_is_adopted(e) == adopted);
}

/* What everybody receives: all of a reduction. */
static struct exchange reduction(int round) {
  return (struct exchange){.kind = ALLREDUCE, .block = BYTES, .round = round, .late = 1};
}

static void begin(struct exchange* e) {
  perform(e);
  check(e);
}

/* All of a reduction comes to `memory`, which is adopted then. */
static struct exchange adopted_at(char* memory, int round) {
  struct exchange e = reduction(round);
  plan_at(&e, memory);
  begin(&e);
  expect_adopted(&e, 1);
  return e;
}

static void expect_bytes(const char* from, const char* to, char value) {
  for (; from < to; ++from) EXPECT(*from == value);
}

/* Every kind of call receives in one memory, whether its parts come there by themselves or not. */
static void many_kinds(void) {
  SCOPED char* memory = aligned_alloc(PAGE, 4 * BYTES);
  for (int round = 0; round < 3; ++round) {
    for (enum kind kind = 0; kind < KINDS; ++kind) {
      struct exchange e = {.kind = kind, .block = BYTES / (size_t)size, .round = round + 1, .late = 1 + round % size};
      plan(&e, 0);
      EXPECT(e.receive_bytes <= 4 * BYTES);
      receive_at(&e, memory);
      perform(&e);
      finish(&e);
    }
  }
}

/* Parts of it, and more than it. */
static void other_lengths(void) {
  SCOPED char* memory = aligned_alloc(PAGE, 4 * BYTES);
  const size_t lengths[] = {BYTES, BYTES / 2, 2 * BYTES, 3 * PAGE, 4 * BYTES - 100, BYTES};
  for (int i = 0; i < 12; ++i) {
    const size_t at = i % 4 * 1000;
    struct exchange e = reduction(i + 1);
    e.block = lengths[i % 6] - at;
    run_at(e, memory + at);
  }
}

/* What is received is sent, and lies beside what is the program's. */
static void sent_on(void) {
  SCOPED char* memory = aligned_alloc(PAGE, 2 * BYTES);
  for (int i = 0; i < 6; ++i) {
    memset(memory, i, 2 * BYTES);
    struct exchange e = adopted_at(memory + 100, i + 1);
    expect_bytes(memory, memory + 100, (char)i);
    expect_bytes(memory + 100 + BYTES, memory + 2 * BYTES, (char)i);
    SCOPED char* other = malloc(BYTES);
    EXPECT(MPI_Allreduce(memory + 100, other, BYTES, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD) == MPI_SUCCESS);
    memset(memory + 100, 0, BYTES);
    expect_same("the same of all", other, e.wanted, BYTES);
    release(&e);
  }
}

static char static_memory[STATIC_BYTES];
static void of_the_program(void) {
  struct exchange e = adopted_at(static_memory + 50, 1);
  for (int at = 0; at < 50; ++at) EXPECT(static_memory[at] == 0 && static_memory[STATIC_BYTES - 1 - at] == 0);
  release(&e);
}

/* As malloc maps it: all of its pages, with malloc's own words. */
static void of_malloc(void) {
  EXPECT(mallopt(M_MMAP_THRESHOLD, 256 << 10) == 1);
  for (int i = 0; i < 4; ++i) {
    struct exchange e = reduction(i + 1);
    plan(&e, 0);
    receive_in_heap(&e);
    begin(&e);
    expect_adopted(&e, 1);
    EXPECT(malloc_usable_size(e.base) >= BYTES);
    if (i % 2 == 0) {
      e.receive = e.base = realloc(e.base, (size_t)(i + 2) * BYTES);
      expect_adopted(&e, 0);
      check(&e);
      memset(e.base + BYTES, 1, BYTES);
    }
    free(e.base);
    SCOPED char* other = calloc(1, BYTES);
    expect_bytes(other, other + BYTES, 0);
    e.base = e.receive = NULL;
    release(&e);
  }
}

/* A heap shrinks where its end is free, and what it has again then is zeros, as calloc takes it. */
static void in_heap(void* (*take)(size_t bytes), void* (*take_zeros)(size_t bytes)) {
  EXPECT(mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1 && mallopt(M_TRIM_THRESHOLD, 64 << 10) == 1);
  for (int i = 0; i < 4; ++i) {
    struct exchange e = adopted_at(take(BYTES), i + 1);
    char* memory = e.receive;
    if (i % 2 == 0) {
      e.receive = memory = realloc(memory, 2 * BYTES);
      check(&e);
    }
    free(memory);
    e.receive = NULL;
    release(&e);
    SCOPED char* zeros = take_zeros(2 * BYTES);
    expect_bytes(zeros, zeros + 2 * BYTES, 0);
    memset(zeros, 1, 2 * BYTES);
  }
}
static void* take(size_t bytes) { return malloc(bytes); }
static void* take_zeros(size_t bytes) { return calloc(1, bytes); }
static void of_the_heap(void) { in_heap(take, take_zeros); }

/* That of another thread. */
struct order {
  size_t bytes;
  void* (*take)(size_t bytes);
};
static void* obey(void* order) {
  const struct order* const mine = order;
  return mine->take(mine->bytes);
}
static void* take_elsewhere(struct order order) {
  pthread_t thread;
  void* memory = NULL;
  EXPECT(mallopt(M_ARENA_MAX, 8) == 1);
  EXPECT(pthread_create(&thread, NULL, obey, &order) == 0 && pthread_join(thread, &memory) == 0);
  EXPECT(memory != NULL);
  return memory;
}
static void* take_of_arena(size_t bytes) { return take_elsewhere((struct order){bytes, take}); }
static void* take_zeros_of_arena(size_t bytes) { return take_elsewhere((struct order){bytes, take_zeros}); }
static void of_an_arena(void) { in_heap(take_of_arena, take_zeros_of_arena); }

/* Memory that is the program's own again is adopted again. */
static void come_again(int round, char* memory) {
  struct exchange later = reduction(round);
  plan_at(&later, memory);
  for (int i = 0; i < 3; ++i) begin(&later);
  expect_adopted(&later, 1);
  release(&later);
}

/* Neither sees what the other writes, nor what comes later. */
static void fork_by(pid_t (*call)(void), int is_known, int place) {
  static char* memory[4];
  int turns[2];
  char turn = 0;
  memory[place] = aligned_alloc(PAGE, BYTES);
  struct exchange e = adopted_at(memory[place], place + 1);
  EXPECT(pipe(turns) == 0);
  const pid_t child = call();
  EXPECT(child >= 0);
  if (child == 0) {
    int right = is_right(&e);
    memset(e.receive, CHILDS_BYTE, BYTES / 2);
    right = right && read(turns[0], &turn, 1) == 1;
    for (size_t at = 0; at < BYTES / 2; ++at) right = right && e.receive[at] == CHILDS_BYTE;
    right = right && memcmp(e.receive + BYTES / 2, e.wanted + BYTES / 2, BYTES - BYTES / 2) == 0;
    _exit(right ? 0 : 1);
  }
  if (is_known) expect_adopted(&e, 0);
  check(&e);
  come_again(place + 10, memory[place]);
  EXPECT(write(turns[1], &turn, 1) == 1);
  expect_ends(child, 0);
  close_both(turns);
  release(&e);
}
static void forked(void) { fork_by(fork, 1, 0); }
extern pid_t _Fork(void);
static void forked_without_handlers(void) { fork_by(_Fork, 1, 1); }

/* Which gives the program its own pages again. */
static void fork_and_wait(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  expect_ends(child, 0);
}

/* Past libc, so that nobody was told. */
static void map_over_unseen(char* at, size_t bytes) {
  EXPECT(syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
         (long)at);
}
static struct exchange adopted_in_pages(void) {
  struct exchange e = reduction(1);
  plan_in_pages(&e);
  begin(&e);
  expect_adopted(&e, 1);
  return e;
}
static void mapped_over_unseen(void) {
  struct exchange e = adopted_in_pages();
  map_over_unseen(e.receive, e.receive_bytes);
  expect_bytes(e.receive, e.receive + e.receive_bytes, 0);
  come_again(2, e.receive);
  release(&e);
}
/* Half of it; the other half is still looked after. */
static void partly_mapped_over_unseen(void) {
  struct exchange e = adopted_in_pages();
  const size_t half = BYTES / 2 / PAGE * PAGE;
  map_over_unseen(e.receive, half);
  memset(e.receive, CHILDS_BYTE, half);
  fork_and_wait();
  if (repeats) EXPECT(!is_adopted(e.receive + half + PAGE));
  expect_bytes(e.receive, e.receive + half, CHILDS_BYTE);
  expect_same("the other half", e.receive + half, e.wanted + half, BYTES - half);
  release(&e);
}

/* Rights that the program changes stay. */
static void read_only_at_fork(void) {
  struct exchange e = reduction(1);
  plan_in_pages(&e);
  begin(&e);
  EXPECT(mprotect(e.receive, BYTES, PROT_READ) == 0);
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    memset(e.receive, 0, 1);
    _exit(0);
  }
  int done = 0;
  EXPECT(waitpid(child, &done, 0) == child && WIFSIGNALED(done) && WTERMSIG(done) == SIGSEGV);
  expect_adopted(&e, 0);
  check(&e);
  EXPECT(mprotect(e.receive, BYTES, PROT_READ | PROT_WRITE) == 0);
  memset(e.receive, 0, BYTES);
  memset(e.wanted, 0, BYTES);
  finish(&e);
}

static struct exchange kept;
static int check_kept(void) {
  if (middle_is_adopted(&kept)) return 1;
  const int right = is_right(&kept);
  memset(kept.receive, 1, BYTES);
  return !right;
}
static void after_the_end(void) {
  kept = adopted_at(aligned_alloc(PAGE, BYTES), 7);
  after_finalize = check_kept;
}

/* More than there may be at a time. */
static void many_buffers(void) {
  enum { COUNT = 80, LENGTH = 256 << 10 };
  SCOPED char* memory = aligned_alloc(PAGE, (size_t)COUNT * LENGTH);
  for (int i = 0; i < 2 * COUNT; ++i) {
    struct exchange e = reduction(i + 1);
    e.block = LENGTH;
    run_at(e, memory + (size_t)(i % COUNT) * LENGTH);
  }
}

/* --- UCX, which keeps what it has registered until it hears that memory is unmapped --- */

static const char* watched;
static int told;
static void on_unmapped(int type, const void* event, void* unused) {
  const struct {
    char* address;
    size_t bytes;
  }* const range = event;
  (void)type, (void)unused;
  if (range->address <= watched && watched < range->address + range->bytes) ++told;
}
static void exchanges_are_told(void) {
  enum { BYTES = 1 << 20, UNMAPPED = 1 << 17, NO_INSTALL = 1 << 24, LAST = 1000 };
  void* const ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (ucm == NULL) return; /* this MPI has no UCX */
  int (*set)(int, int, void (*)(int, const void*, void*), void*) = NULL;
  void (*unset)(int, void (*)(int, const void*, void*), void*) = NULL;
  *(void**)&set = dlsym(ucm, "ucm_set_event_handler");
  *(void**)&unset = dlsym(ucm, "ucm_unset_event_handler");
  EXPECT(set != NULL && unset != NULL);
  char* const memory = map_pages(BYTES);
  EXPECT(set(UNMAPPED | NO_INSTALL, LAST, on_unmapped, NULL) == 0);
  memset(memory, 0, BYTES);
  watched = memory + BYTES / 2;
  for (int round = 0; round < 4; ++round) {
    run_at((struct exchange){.kind = BCAST, .block = BYTES, .round = round}, memory);
  }
  if (is_adopted(watched)) {
    const int before = told;
    EXPECT(before > 0);
    fork_and_wait();
    EXPECT(!is_adopted(watched) && told > before);
  }
  unset(UNMAPPED | NO_INSTALL, on_unmapped, NULL);
  munmap(memory, BYTES);
}

EARLY_GROUP(adoption, MPI_THREAD_FUNNELED, RUN(exchanges_are_told), RUN(many_kinds), RUN(other_lengths), RUN(sent_on),
            RUN(of_the_program), RUN(of_malloc), RUN(of_the_heap), RUN(of_an_arena), RUN(forked),
            RUN(forked_without_handlers), RUN(mapped_over_unseen), RUN(partly_mapped_over_unseen),
            RUN(read_only_at_fork), RUN(many_buffers), RUN(after_the_end));
