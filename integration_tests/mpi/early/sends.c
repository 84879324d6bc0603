/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a send buffer right behind the call, which may have returned before it was sent: each rank is late
 * once, and finds the others' edges there, so that it returns at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { BYTES = 3 << 20, JUNK = 0x3c, ROUNDS = 3, ROUNDS_KEPT = 12 };

/* What one call sends, and has brought. */
struct sending {
  size_t block, bytes; /* of each rank, of all */
  int round;
  char *send, *receive, *wanted;
};

static void fill_for(struct sending* s, char* to, int from, int to_rank) {
  fill(to, s->block, (struct data){from, 1, s->round, (uint64_t)to_rank << 32});
}

/* All that rank `from` sends. */
static void fill_all_for(struct sending* s, char* to, int from) {
  for (int i = 0; i < size; ++i) fill_for(s, to + (size_t)i * s->block, from, i);
}

/* Not where a page begins, and with a page that has something else on it. */
static char* map_for(const struct sending* s) {
  char* const memory = map_pages(s->bytes + PAGE);
  return memory + 64;
}

/* The send buffer of all rounds; NULL: each has its own. */
static char* kept;

/* A send buffer of mmap() that has what this rank sends. */
static void begin(struct sending* s, int round) {
  s->block = BYTES / (size_t)size;
  s->bytes = s->block * (size_t)size;
  s->round = round;
  s->send = kept != NULL ? kept : map_for(s);
  s->receive = malloc(s->bytes);
  s->wanted = malloc(s->bytes);
  fill_all_for(s, s->send, rank);
  for (int i = 0; i < size; ++i) fill_for(s, s->wanted + (size_t)i * s->block, i, rank);
}

static void exchange_blocks(const struct sending* s, char* receive, MPI_Comm comm) {
  const int n = (int)s->block;
  if (s->round % size == rank) be_late();
  EXPECT(MPI_Alltoall(s->send, n, MPI_BYTE, receive, n, MPI_BYTE, comm) == MPI_SUCCESS);
}

static void end(struct sending* s) {
  expect_same("what was sent", s->receive, s->wanted, s->bytes);
  if (s->send != NULL && kept == NULL) munmap(s->send - 64, s->bytes + PAGE);
  free(s->receive);
  free(s->wanted);
}

/* `after` may do away with the buffer. */
static void one_round(int round, void (*after)(struct sending*)) {
  struct sending s;
  begin(&s, round);
  exchange_blocks(&s, s.receive, MPI_COMM_WORLD);
  after(&s);
  end(&s);
}
static void each_round(void (*after)(struct sending*)) {
  for (int round = 0; round < ROUNDS; ++round) one_round(round, after);
}

/* Whether memory that is used again is adopted. */
static int adopts(void) {
  const char* text = getenv("COPSE_TNBC_ADOPT");
  return text == NULL || strcmp(text, "off") != 0;
}

/* One buffer for some rounds, elsewhere than any before, since Copse remembers where it had to wait. */
static void keep_one(void) {
  static size_t place;
  const struct sending whole = {.bytes = BYTES};
  place += 16;
  kept = map_for(&whole) + place;
}
static void keep_none(void) {
  EXPECT(munmap((char*)((uintptr_t)kept / PAGE * PAGE), BYTES + PAGE) == 0);
  kept = NULL;
}

/* The same in one buffer, which is adopted from the second time on, and stays so. */
static void each_round_in_one(void (*after)(struct sending*)) {
  keep_one();
  for (int round = 0; round < ROUNDS_KEPT; ++round) {
    struct sending s;
    begin(&s, round);
    exchange_blocks(&s, s.receive, MPI_COMM_WORLD);
    if (repeats && round > 2) EXPECT(is_adopted(kept + s.bytes / 2) == adopts());
    after(&s);
    end(&s);
  }
  keep_none();
}

static void overwrite(struct sending* s) { memset(s->send, JUNK, s->bytes); }
static void overwrite_backwards(struct sending* s) {
  for (size_t at = s->bytes; at-- > 0;) ((volatile char*)s->send)[at] = JUNK;
}
static void written(void) { each_round(overwrite); }
static void written_backwards(void) { each_round(overwrite_backwards); }

static void look(struct sending* s) {
  SCOPED char* same = malloc(s->bytes);
  fill_all_for(s, same, rank);
  expect_same("the send buffer", s->send, same, s->bytes);
}
static void looked_at(void) { each_round(look); }

static void unmap(struct sending* s) {
  EXPECT(munmap(s->send - 64, s->bytes + PAGE) == 0);
  /* Somebody else's now. */
  char* other = mmap(s->send - 64, s->bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(other != MAP_FAILED);
  memset(other, JUNK, s->bytes);
  munmap(other, s->bytes + PAGE);
  s->send = NULL;
}
static void unmapped(void) { each_round(unmap); }

static void protect(struct sending* s) {
  char* const at = s->send - 64;
  EXPECT(mprotect(at, s->bytes, PROT_READ) == 0);
  EXPECT(mprotect(at, s->bytes, PROT_READ | PROT_WRITE) == 0);
  overwrite(s);
}
static void protected_and_opened(void) { each_round(protect); }

static void discard(struct sending* s) { EXPECT(madvise(s->send - 64, s->bytes, MADV_DONTNEED) == 0); }
static void discarded(void) { each_round(discard); }

/* The kernel writes there, and reads. */
static void read_into(struct sending* s) {
  int pipe_ends[2];
  char junk[4 * PAGE];
  memset(junk, JUNK, sizeof(junk));
  EXPECT(pipe(pipe_ends) == 0);
  for (size_t at = 0; at + sizeof(junk) <= s->bytes; at += 64 * PAGE) {
    EXPECT(write(pipe_ends[1], s->send + at, PAGE) == PAGE);
    EXPECT(read(pipe_ends[0], s->send + at, PAGE) == PAGE);
    EXPECT(write(pipe_ends[1], junk, sizeof(junk)) == sizeof(junk));
    EXPECT(read(pipe_ends[0], s->send + at, sizeof(junk)) == sizeof(junk));
  }
  close_both(pipe_ends);
}
static void read_from_a_pipe(void) { each_round(read_into); }

static void receive_into(struct sending* s) {
  SCOPED char* junk = malloc(s->bytes);
  memset(junk, JUNK, s->bytes);
  shift(junk, s->send, s->bytes);
  expect_same("message into the send buffer", s->send, junk, s->bytes);
}
static void received_into(void) { each_round(receive_into); }

static void broadcast_into(struct sending* s) {
  MPI_Bcast(s->send, (int)s->bytes, MPI_BYTE, s->round % size, MPI_COMM_WORLD);
  overwrite(s);
}
static void broadcast_over(void) { each_round(broadcast_into); }

static void fork_and_write(struct sending* s) {
  const pid_t child = fork();
  if (child == 0) {
    memset(s->send, JUNK, s->bytes);
    _exit(s->send[s->bytes / 2] != JUNK);
  }
  overwrite(s);
  expect_ends(child, 0);
}
static void forked(void) { each_round(fork_and_write); }

static void* write_half(void* argument) {
  struct sending* const s = argument;
  memset(s->send + s->bytes / 2, JUNK, s->bytes - s->bytes / 2);
  return NULL;
}
static void write_by_two(struct sending* s) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, write_half, s) == 0);
  overwrite_backwards(s);
  pthread_join(thread, NULL);
}
static void written_by_threads(void) { each_round(write_by_two); }

static struct sending* handled;
static void on_signal(int signal) {
  (void)signal;
  overwrite(handled);
}
static void raise_one(struct sending* s) {
  struct sigaction action = {.sa_handler = on_signal}, before;
  handled = s;
  EXPECT(sigaction(SIGUSR1, &action, &before) == 0 && raise(SIGUSR1) == 0);
  EXPECT(s->send[s->bytes - 1] == JUNK && sigaction(SIGUSR1, &before, NULL) == 0);
}
static void written_by_handlers(void) { each_round(raise_one); }

/* The same buffer, sent again at once, also by another communicator, and by another collective. */
static void send_again(struct sending* s) {
  static MPI_Comm other = MPI_COMM_NULL;
  SCOPED char *again = malloc(s->bytes), *sum = malloc(s->bytes), *first = malloc(s->bytes);
  if (other == MPI_COMM_NULL) MPI_Comm_dup(MPI_COMM_WORLD, &other);
  exchange_blocks(s, again, other);
  MPI_Allreduce(s->send, sum, (int)s->bytes, MPI_BYTE, MPI_BXOR, other);
  if (rank == 0) memcpy(first, s->send, s->bytes);
  overwrite(s);
  exchange_blocks(s, first, MPI_COMM_WORLD); /* of junk */
  expect_same("what was sent again", again, s->wanted, s->bytes);
  for (int i = 0; i < size; ++i) {
    char* const block = again + (size_t)i * s->block;
    fill(block, s->block, (struct data){0, size, s->round, (uint64_t)i << 32});
  }
  expect_same("the sum", sum, again, s->bytes);
  memset(again, JUNK, s->bytes);
  expect_same("what was sent last", first, again, s->bytes);
}
static void sent_again(void) { each_round(send_again); }

static void kept_and_written(void) { each_round_in_one(overwrite); }
static void kept_and_looked_at(void) { each_round_in_one(look); }
static void kept_and_read_into(void) { each_round_in_one(read_into); }
static void kept_and_received_into(void) { each_round_in_one(receive_into); }
static void kept_and_written_by_threads(void) { each_round_in_one(write_by_two); }
static void kept_and_sent_again(void) { each_round_in_one(send_again); }

/* A child shares nothing, and what is adopted again later neither. */
static void kept_and_forked(void) {
  keep_one();
  for (int round = 0; round < ROUNDS_KEPT; ++round) {
    struct sending s;
    begin(&s, round);
    exchange_blocks(&s, s.receive, MPI_COMM_WORLD);
    if (round == 3 && repeats) EXPECT(is_adopted(kept + s.bytes / 2) == adopts());
    if (round % 4 == 3) fork_and_write(&s);
    if (round % 4 == 3) EXPECT(!is_adopted(kept + s.bytes / 2));
    end(&s);
  }
  keep_none();
}

/* The daemon reaches it as it is, but the first and last page have something else on them. */
static void kept_in_memory_of_mpi(void) {
  char* memory = NULL;
  EXPECT(MPI_Alloc_mem(BYTES + 2 * PAGE, MPI_INFO_NULL, &memory) == MPI_SUCCESS);
  for (int round = 0; round < ROUNDS_KEPT; ++round) {
    kept = memory + (round % 3 == 0 ? 0 : 64 * round);
    one_round(round, overwrite);
  }
  kept = NULL;
  EXPECT(MPI_Free_mem(memory) == MPI_SUCCESS);
}

/* A part of what is adopted since results come there, not from where a page begins, and another one that is. */
static void of_a_result(void) {
  const size_t bytes = BYTES + 4 * PAGE, block = bytes / (size_t)size;
  SCOPED char *memory = aligned_alloc(PAGE, bytes), *other = malloc(bytes);
  for (int round = 0; round < ROUNDS_KEPT; ++round) {
    memset(other, round, bytes);
    EXPECT(MPI_Alltoall(other, (int)block, MPI_BYTE, memory, (int)block, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (size_t at = 0; at < block * (size_t)size; at += PAGE) EXPECT(memory[at] == round);
    kept = memory + PAGE + (round % 2 == 0 ? 0 : 64 * round);
    one_round(round, overwrite);
  }
  kept = NULL;
}

/* A message of the same memory is under way while its pages are exchanged. */
static void sent_by_messages_too(void) {
  keep_one();
  for (int round = 0; round < ROUNDS_KEPT; ++round) {
    struct sending s;
    MPI_Request request;
    begin(&s, round);
    SCOPED char *message = malloc(s.bytes), *wanted = malloc(s.bytes);
    EXPECT(MPI_Isend(s.send, (int)s.bytes, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    exchange_blocks(&s, s.receive, MPI_COMM_WORLD);
    MPI_Recv(message, (int)s.bytes, MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    overwrite(&s);
    fill_all_for(&s, wanted, previous_rank());
    expect_same("the message", message, wanted, s.bytes);
    end(&s);
  }
  keep_none();
}

EARLY_GROUP(sends, MPI_THREAD_FUNNELED, RUN(written), RUN(written_backwards), RUN(looked_at), RUN(unmapped),
            RUN(protected_and_opened), RUN(discarded), RUN(read_from_a_pipe), RUN(received_into), RUN(broadcast_over),
            RUN(forked), RUN(written_by_threads), RUN(written_by_handlers), RUN(sent_again), RUN(kept_and_written),
            RUN(kept_and_looked_at), RUN(kept_and_read_into), RUN(kept_and_received_into),
            RUN(kept_and_written_by_threads), RUN(kept_and_sent_again), RUN(kept_and_forked),
            RUN(kept_in_memory_of_mpi), RUN(of_a_result), RUN(sent_by_messages_too));
