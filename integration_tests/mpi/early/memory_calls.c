/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is given back, moved or protected by the program while data may be on its way there: the data stays
 * with the program's memory, and never comes to lie in what takes its place. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { OTHER_BYTE = 0x77 };

static void gone(struct exchange* e) { e->base = e->receive = NULL; }

/* After these, nothing of an earlier call is under way. */
static void settle(void) {
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == size * (size - 1) / 2);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_all(const char* what, const char* at, char value, size_t bytes) {
  SCOPED char* wanted = malloc(bytes);
  memset(wanted, value, bytes);
  expect_same(what, at, wanted, bytes);
}

static void expect_untouched(const char* what, char* at, char value, size_t bytes) {
  expect_all(what, at, value, bytes);
  settle();
  expect_all(what, at, value, bytes);
}

static void freed(struct exchange* e) {
  free(e->base);
  gone(e);
}

/* Memory of the same length often is the same memory. */
static void freed_and_taken_again(struct exchange* e) {
  const size_t bytes = e->receive_bytes;
  free(e->base);
  gone(e);
  char* other = malloc(bytes);
  memset(other, OTHER_BYTE, bytes);
  expect_untouched("memory that was taken again", other, OTHER_BYTE, bytes);
  free(other);
  other = calloc(bytes, 1);
  expect_untouched("memory that was taken again as zeros", other, 0, bytes);
  free(other);
}

static void resize(struct exchange* e, size_t bytes) {
  e->base = realloc(e->base, bytes);
  EXPECT(e->base != NULL);
  e->receive = e->base;
  if (bytes < e->receive_bytes) e->receive_bytes = bytes;
}
static void grown(struct exchange* e) { resize(e, 4 * e->receive_bytes); }
static void shrunk(struct exchange* e) { resize(e, e->receive_bytes / 3); }
static void grown_past_others(struct exchange* e) {
  char* between = malloc(e->receive_bytes);
  resize(e, 2 * e->receive_bytes);
  free(between);
}

/* UCX, which MPICH 4.0.2 of Debian 12 loads, has a mremap() of its own that knows of no address to move to. */
#ifdef OPEN_MPI
static void moved(struct exchange* e) {
  const size_t place = (size_t)(e->receive - e->base);
  char* other = mmap(NULL, 2 * e->base_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(other != MAP_FAILED);
  e->base = mremap(e->base, e->base_bytes, e->base_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, other);
  EXPECT(e->base == other);
  e->receive = e->base + place;
  EXPECT(munmap(other + e->base_bytes, e->base_bytes) == 0);
}
#endif
static void resized_by_map(struct exchange* e) {
  const size_t place = (size_t)(e->receive - e->base), bytes = e->base_bytes;
  e->base = mremap(e->base, bytes, 3 * bytes, MREMAP_MAYMOVE);
  EXPECT(e->base != MAP_FAILED);
  e->receive = e->base + place;
  e->base = mremap(e->base, 3 * bytes, bytes, 0);
  EXPECT(e->base == e->receive - place);
}

static void unmapped(struct exchange* e) {
  EXPECT(munmap(e->base, e->base_bytes) == 0);
  gone(e);
}
static void mapped_over(struct exchange* e) {
  char* const at = e->base;
  EXPECT(mmap(at, e->base_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
  expect_untouched("what was mapped there", at, 0, e->base_bytes);
  unmapped(e);
}
static void unmapped_and_mapped_again(struct exchange* e) {
  EXPECT(munmap(e->base, e->base_bytes) == 0);
  mapped_over(e);
}
/* A hole in the middle; the rest has its data. */
static void partly_unmapped(struct exchange* e) {
  const size_t hole = e->receive_bytes / 3 / PAGE * PAGE, length = 9 * PAGE;
  EXPECT(munmap(e->receive + hole, length) == 0);
  expect_same("before the hole", e->receive, e->wanted, hole);
  expect_same("behind the hole", e->receive + hole + length, e->wanted + hole + length,
              e->receive_bytes - hole - length);
  unmapped(e);
}

static void not_needed(struct exchange* e) {
  EXPECT(madvise(e->receive, e->receive_bytes, MADV_DONTNEED) == 0);
  expect_untouched("what is not needed", e->receive, 0, e->receive_bytes);
  memset(e->wanted, 0, e->receive_bytes);
}
static void partly_not_needed(struct exchange* e) {
  const size_t from = e->receive_bytes / 2 / PAGE * PAGE, length = 5 * PAGE;
  EXPECT(madvise(e->receive + from, length, MADV_DONTNEED) == 0);
  memset(e->wanted + from, 0, length);
}
static void advised(struct exchange* e) {
  EXPECT(madvise(e->receive, e->receive_bytes, MADV_SEQUENTIAL) == 0);
  EXPECT(madvise(e->receive, e->receive_bytes, MADV_WILLNEED) == 0);
}
static void locked(struct exchange* e) {
  EXPECT(mlock(e->receive, 20 * PAGE) == 0 && munlock(e->receive, 20 * PAGE) == 0);
}

/* --- The program's own protection --- */

static sigjmp_buf back;
static void* volatile faulted_at;
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  faulted_at = info->si_addr;
  siglongjmp(back, 1);
}

/* Whether a read, or a write, of a byte is a fault of the program's own. */
static int faults(char* at, int writes) {
  struct sigaction before, own = {.sa_flags = SA_SIGINFO};
  own.sa_sigaction = on_fault;
  EXPECT(sigaction(SIGSEGV, &own, &before) == 0);
  volatile int has_faulted = 0;
  faulted_at = NULL;
  if (sigsetjmp(back, 1) != 0) {
    has_faulted = 1;
  } else if (writes) {
    *(volatile char*)at = OTHER_BYTE;
  } else {
    (void)*(volatile char*)at;
  }
  EXPECT(sigaction(SIGSEGV, &before, NULL) == 0);
  EXPECT(!has_faulted || faulted_at == at);
  return has_faulted;
}

static void protect(struct exchange* e, int protection) {
  EXPECT(mprotect(e->receive, e->receive_bytes / PAGE * PAGE, protection) == 0);
}
static void read_only(struct exchange* e) {
  protect(e, PROT_READ);
  EXPECT(faults(e->receive + 3 * PAGE, 1));
  EXPECT(!faults(e->receive + 3 * PAGE, 0));
  check(e);
  EXPECT(faults(e->receive + e->receive_bytes / 2, 1));
  protect(e, PROT_READ | PROT_WRITE);
  EXPECT(!faults(e->receive + PAGE, 1));
  e->wanted[PAGE] = OTHER_BYTE;
}
static void inaccessible(struct exchange* e) {
  protect(e, PROT_NONE);
  for (size_t i = 0; i < 4; ++i) EXPECT(faults(e->receive + i * (e->receive_bytes / 4), i % 2 == 0));
  settle();
  EXPECT(faults(e->receive, 0));
  protect(e, PROT_READ | PROT_WRITE);
}
static void partly_inaccessible(struct exchange* e) {
  char* const page = e->receive + e->receive_bytes / 2 / PAGE * PAGE;
  EXPECT(mprotect(page, PAGE, PROT_NONE) == 0);
  EXPECT(!faults(page - 1, 0) && !faults(page + PAGE, 0) && faults(page, 0) && faults(page + PAGE - 1, 1));
  EXPECT(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
}
static void executable(struct exchange* e) { protect(e, PROT_READ | PROT_WRITE | PROT_EXEC); }

#ifdef OPEN_MPI
#define SOME_MPIS_CASES PENDING(moved),
#else
#define SOME_MPIS_CASES
#endif
EARLY_GROUP(memory_calls, MPI_THREAD_SINGLE, PENDING_HEAP(freed), PENDING_HEAP(freed_and_taken_again),
            {.name = "short_freed_and_taken_again", .pending_heap = freed_and_taken_again, .bytes = 25 * PAGE},
            PENDING_HEAP(grown), {.name = "short_grown", .pending_heap = grown_past_others, .bytes = 25 * PAGE},
            PENDING_HEAP(shrunk), {.name = "short_shrunk", .pending_heap = shrunk, .bytes = 25 * PAGE},
            PENDING_HEAP(grown_past_others), SOME_MPIS_CASES PENDING(resized_by_map), PENDING(unmapped),
            PENDING(unmapped_and_mapped_again), PENDING(mapped_over), PENDING(partly_unmapped), PENDING(not_needed),
            PENDING(partly_not_needed), PENDING(advised), PENDING(locked), PENDING(read_only), PENDING(inaccessible),
            PENDING(partly_inaccessible), PENDING(executable));
