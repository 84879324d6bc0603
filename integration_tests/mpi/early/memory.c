/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers in all kinds of memory. What others see, too (a file, another mapping, another process), has to be there when
 * the call has returned, since they are not asked to wait. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum {
  LONG_BYTES = 3 << 20,
  SOME_BYTES = 300000,
  SHORT_BYTES = 3 * PAGE + 5,
  STATIC_BYTES = 256 << 10,
  THREAD_BYTES = 64 << 10,
  HUGE_BYTES = 2 << 20,
  ROUNDS = 2
};

static char in_bss[STATIC_BYTES + 3];
static char in_data[STATIC_BYTES + 3] = {1};
static __thread char of_thread[THREAD_BYTES];

/* A file that is gone when it is closed. */
static int new_file(size_t bytes) {
  char name[FILE_NAME_BYTES];
  const int file = make_file(name);
  EXPECT(unlink(name) == 0 && ftruncate(file, (off_t)bytes) == 0);
  return file;
}

static char* map(size_t bytes, int protection, int flags, int file) {
  char* at = mmap(NULL, bytes, protection, flags, file, 0);
  EXPECT(at != MAP_FAILED);
  return at;
}

/* Another observer of the memory, and what it has to see; at once after a call. */
typedef void (*seen_by_others)(const void* wanted, size_t bytes, void* who);

static void use_and_show(char* at, size_t bytes, seen_by_others seen, void* who) {
  static const enum kind kKinds[] = {BCAST, ALLREDUCE, ALLTOALL, BCAST};
  for (int i = 0; i < 4 * ROUNDS; ++i) {
    const enum kind kind = kKinds[i % 4];
    const size_t block = kind == ALLTOALL ? bytes / (size_t)size : bytes;
    struct exchange e = {.kind = kind, .block = block, .round = 2 * i, .root = i, .late = 1 + i % size};
    plan_at(&e, at);
    perform(&e);
    if (seen != NULL) seen(e.wanted, e.receive_bytes, who);
    finish(&e);
  }
}
static void use(char* at, size_t bytes) { use_and_show(at, bytes, NULL, NULL); }

static void use_and_free(void* at, size_t bytes) {
  use(at, bytes);
  free(at);
}
static void use_and_unmap(char* at, size_t bytes) {
  use(at, bytes);
  munmap(at, bytes);
}

static void malloc_short(void) { use_and_free(malloc(SHORT_BYTES), SHORT_BYTES); }
static void malloc_long(void) { use_and_free(malloc(LONG_BYTES), LONG_BYTES); }
static void calloc_long(void) { use_and_free(calloc(1, LONG_BYTES), LONG_BYTES); }
static void posix_memalign_huge(void) {
  void* at = NULL;
  EXPECT(posix_memalign(&at, HUGE_BYTES, HUGE_BYTES) == 0);
  use_and_free(at, HUGE_BYTES);
}
static void bss(void) { use(in_bss, sizeof(in_bss)); }
static void data(void) { use(in_data, sizeof(in_data)); }
static void thread_local_memory(void) { use(of_thread, sizeof(of_thread)); }
static void stack(void) {
  char at[1 << 20];
  use(at, sizeof(at));
}

static void map_private(void) { use_and_unmap(map_pages(LONG_BYTES), LONG_BYTES); }

/* Pages that nobody has touched before. */
static void map_fresh(void) {
  for (int round = 0; round < 3; ++round) {
    char* at = map(LONG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    SCOPED char* wanted = malloc(LONG_BYTES);
    broadcast_round(at, wanted, LONG_BYTES, round);
    expect_same("bcast to fresh pages", at, wanted, LONG_BYTES);
    munmap(at, LONG_BYTES);
  }
}

static void compare_mapping(const void* wanted, size_t bytes, void* other) {
  expect_same("as another mapping has it", other, wanted, bytes);
}

/* The same pages at two addresses. */
static void map_memfd_twice(void) {
  const int file = memfd_create("early", 0);
  EXPECT(file >= 0 && ftruncate(file, LONG_BYTES) == 0);
  char* at = map(LONG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  char* other = map(LONG_BYTES, PROT_READ, MAP_SHARED, file);
  use_and_show(at, LONG_BYTES, compare_mapping, other);
  munmap(at, LONG_BYTES);
  munmap(other, LONG_BYTES);
  close(file);
}

struct onlooker {
  int ask, answer;
};

/* A child answers with a hash of what it sees. */
static uint64_t hash_of(const void* at, size_t bytes) {
  uint64_t hash = 0;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char*)at)[i]) * 0x100000001b3;
  return hash;
}
static void ask_child(const void* wanted, size_t bytes, void* who) {
  const struct onlooker* const child = who;
  uint64_t seen = 0;
  EXPECT(write(child->ask, &bytes, sizeof(bytes)) == sizeof(bytes));
  EXPECT(read(child->answer, &seen, sizeof(seen)) == sizeof(seen));
  if (seen != hash_of(wanted, bytes)) fail("another process that has the memory, too, sees something else");
}

/* A child that was there before. */
static void map_shared(void) {
  char* at = map(LONG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  int ask[2], answer[2];
  EXPECT(pipe(ask) == 0 && pipe(answer) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ask[1]);
    for (size_t bytes; read(ask[0], &bytes, sizeof(bytes)) == sizeof(bytes);) {
      const uint64_t hash = hash_of(at, bytes);
      if (write(answer[1], &hash, sizeof(hash)) != sizeof(hash)) _exit(1);
    }
    _exit(0);
  }
  use_and_show(at, LONG_BYTES, ask_child, &(struct onlooker){ask[1], answer[0]});
  close(ask[1]);
  expect_ends(child, 0);
  close(ask[0]), close_both(answer);
  munmap(at, LONG_BYTES);
}

static void compare_file(const void* wanted, size_t bytes, void* file) {
  SCOPED char* found = malloc(bytes + 1);
  EXPECT(pread(*(int*)file, found, bytes, 0) == (ssize_t)bytes);
  expect_same("as the file has it", found, wanted, bytes);
}
static void file_shared(void) {
  int file = new_file(LONG_BYTES);
  char* at = map(LONG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  use_and_show(at, LONG_BYTES, compare_file, &file);
  munmap(at, LONG_BYTES);
  close(file);
}
static void file_private(void) {
  const int file = new_file(LONG_BYTES);
  use_and_unmap(map(LONG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file), LONG_BYTES);
  close(file);
}

static void alloc_mem(void) {
  char* at = NULL;
  EXPECT(MPI_Alloc_mem(LONG_BYTES, MPI_INFO_NULL, &at) == MPI_SUCCESS);
  use(at, LONG_BYTES);
  MPI_Free_mem(at);
}

/* What is sent and received in memory of MPI_Alloc_mem; also in a part of it, in messages and by a window, and freed at
 * once. What is not freed stays. */
static unsigned char* not_freed;
static int is_there_still(void) {
  for (size_t i = 0; i < LONG_BYTES; ++i) {
    if (not_freed[i] != 77) return 1;
  }
  return 0;
}
/* What a result shares its last page with stays open: the kernel reads it, without waiting, past libc. */
static void expect_open(const char* memory, size_t bytes) {
  char found[PAGE];
  int ends[2];
  EXPECT(pipe(ends) == 0);
  EXPECT(syscall(SYS_write, ends[1], memory, bytes) == (long)bytes);
  EXPECT(read(ends[0], found, bytes) == (ssize_t)bytes && memcmp(found, memory, bytes) == 0);
  close_both(ends);
}
static void broadcast_into(char* to, size_t bytes, int round, const char* beside, size_t beside_bytes) {
  struct exchange e = {.kind = BCAST, .block = bytes, .round = round, .root = round % size, .late = 1 + round % size};
  plan_at(&e, to);
  perform(&e);
  expect_open(beside, beside_bytes);
  finish(&e);
}
/* Results that are the front of a block which malloc has mapped. */
static void front_of_block(void) {
  enum { BYTES = 1 << 20, SOME = 100 };
  mallopt(M_MMAP_THRESHOLD, 128 << 10); /* which rises else, as such memory is freed */
  for (int round = 0; round < 2 * size; ++round) {
    SCOPED char* block = malloc(2 * BYTES);
    memset(block, round, 2 * BYTES);
    broadcast_into(block, BYTES, round, block + BYTES, SOME);
  }
}
/* The same, with a message that comes to the rest of its last page. */
static void message_behind_result(void) {
  enum { BYTES = 1 << 20, SOME = 100, TAG = 9 };
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  for (int round = 0; round < 2 * size; ++round) {
    MPI_Request requests[2];
    char sent[SOME], expected[SOME];
    SCOPED char* block = malloc(BYTES + SOME);
    memset(block, round, BYTES + SOME);
    memset(sent, rank + round + 1, SOME);
    memset(expected, previous_rank() + round + 1, SOME);
    MPI_Irecv(block + BYTES, SOME, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, SOME, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &requests[1]);
    broadcast_into(block, BYTES, round, block + BYTES, SOME);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_same("message", block + BYTES, expected, SOME);
  }
}

static void alloc_mem_both(void) {
  const size_t all = 2 * LONG_BYTES / (size_t)size / 8 * (size_t)size * 8, part = all / (size_t)size;
  for (int round = 0; round < 2 * size; ++round) {
    SCOPED char* wanted = malloc(all);
    char *send = NULL, *receive = NULL;
    MPI_Win window;
    EXPECT(MPI_Alloc_mem((MPI_Aint)all + PAGE, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    EXPECT(MPI_Alloc_mem((MPI_Aint)all + PAGE, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
    char* const to = receive + round * 100;
    for (int i = 0; i < size; ++i) {
      fill(send + (size_t)i * part, part, (struct data){rank, 1, round, (uint64_t)i << 32});
      fill(wanted + (size_t)i * part, part, (struct data){i, 1, round, (uint64_t)rank << 32});
    }
    if (rank == round % size) be_late();
    EXPECT(MPI_Alltoall(send, (int)part, MPI_BYTE, to, (int)part, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    memset(send, round, all);
    expect_same("alltoall", to, wanted, all);
    MPI_Allreduce(send, to, (int)all, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    memset(send, 0, all);
    memset(wanted, size % 2 == 1 ? round : 0, all);
    shift(to, send, all);
    expect_same("message", send, wanted, all);
    MPI_Win_create(send, (MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(to, (int)part, MPI_BYTE, next_rank(), 0, (int)part, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    expect_same("window", send, wanted, all);
    MPI_Win_free(&window);
    MPI_Bcast(send, (int)all, MPI_BYTE, round % size, MPI_COMM_WORLD);
    EXPECT(MPI_Free_mem(send) == MPI_SUCCESS && MPI_Free_mem(receive) == MPI_SUCCESS);
  }
  EXPECT(MPI_Alloc_mem(LONG_BYTES, MPI_INFO_NULL, &not_freed) == MPI_SUCCESS);
  if (rank == 0) memset(not_freed, 77, LONG_BYTES);
  MPI_Bcast(not_freed, LONG_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  after_finalize = is_there_still;
}

/* Ranks of one node look at each other's memory after a barrier; those on one machine are one node to MPI. */
static void window_of_node(void) {
  MPI_Comm node;
  MPI_Win window;
  MPI_Aint bytes = LONG_BYTES;
  SCOPED char* wanted = malloc(LONG_BYTES);
  char *own = NULL, *next = NULL;
  int ranks, me, unit;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks);
  MPI_Comm_rank(node, &me);
  EXPECT(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &own, &window) == MPI_SUCCESS);
  MPI_Win_shared_query(window, (me + 1) % ranks, &bytes, &unit, &next);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  for (int round = 0; round < 4; ++round) {
    const int root = round % ranks;
    fill(wanted, LONG_BYTES, (struct data){root, 1, round, 0});
    if (me == root) be_late(), memcpy(own, wanted, LONG_BYTES);
    MPI_Bcast(own, LONG_BYTES, MPI_BYTE, root, node);
    MPI_Win_sync(window);
    MPI_Barrier(node);
    MPI_Win_sync(window);
    expect_same("as another rank has it", next, wanted, LONG_BYTES);
    MPI_Barrier(node);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

static void huge_pages(void) {
  char* at = map_pages(4 * HUGE_BYTES);
  char* aligned = (char*)(((uintptr_t)at + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES);
  madvise(aligned, 3 * HUGE_BYTES, MADV_HUGEPAGE); /* which a kernel need not have */
  use(aligned + PAGE + 9, 2 * HUGE_BYTES);
  use(aligned, 3 * HUGE_BYTES);
  munmap(at, 4 * HUGE_BYTES);
}

static void locked(void) {
  char* at = map_pages(SOME_BYTES);
  if (mlock(at, SOME_BYTES) != 0) fprintf(stderr, "case %s: may not lock memory\n", case_name);
  use(at, SOME_BYTES);
  munlock(at, SOME_BYTES);
  munmap(at, SOME_BYTES);
}

/* Next to pages that the program may only read, or not even that. */
static void between_protected(void) {
  static const int kProtections[] = {PROT_READ, PROT_NONE};
  enum { PAGES = 200 };
  for (int i = 0; i < 2; ++i) {
    char* at = map_pages((PAGES + 2) * PAGE);
    char* behind = at + (PAGES + 1) * PAGE;
    at[0] = behind[0] = 42;
    EXPECT(mprotect(at, PAGE, kProtections[i]) == 0 && mprotect(behind, PAGE, kProtections[i]) == 0);
    use(at + PAGE, PAGES * PAGE);
    EXPECT(i == 1 || (at[0] == 42 && behind[0] == 42));
    munmap(at, (PAGES + 2) * PAGE);
  }
}

/* A buffer over the seam of two mappings of different kinds. */
static void over_a_seam(void) {
  const int file = new_file(SOME_BYTES);
  char* at = map_pages(64 * PAGE);
  EXPECT(mmap(at + 32 * PAGE, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
  use(at + 5, 63 * PAGE);
  munmap(at, 64 * PAGE);
  close(file);
}

EARLY_GROUP(memory, MPI_THREAD_SINGLE, RUN(front_of_block), RUN(message_behind_result), RUN(malloc_short),
            RUN(malloc_long), RUN(calloc_long), RUN(posix_memalign_huge), RUN(bss), RUN(data),
            {.name = "thread_local", .run = thread_local_memory}, RUN(stack), RUN(map_private), RUN(map_fresh),
            RUN(map_memfd_twice), RUN(map_shared), RUN(file_shared), RUN(file_private), RUN(alloc_mem),
            RUN(alloc_mem_both), RUN(window_of_node), RUN(huge_pages), RUN(locked), RUN(between_protected),
            RUN(over_a_seam));
