/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs for which COPSE_TNBC=auto is off: their data may be read without a fault, or they handle errors. And one
 * whose memory is not adopted even where it is on. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { BYTES = 1 << 20, ROUNDS = 5 };

static struct exchange broadcast(int round) {
  return (struct exchange){
      .kind = BCAST, .block = BYTES, .round = round, .root = round % size, .late = 1 + round % size};
}

/* --- io_uring, whose registered buffers are pinned --- */

struct ring {
  int fd;
  struct io_uring_params params;
  char *submissions, *completions;
  struct io_uring_sqe* entries;
};
/* Returns false, and rank 0 says so, if that is not allowed here. */
static int open_ring(struct ring* ring) {
  memset(ring, 0, sizeof(*ring));
  ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->params);
  if (ring->fd < 0 && rank == 0) fprintf(stderr, "io_uring is not allowed here\n");
  if (ring->fd < 0) return 0;
  const struct io_uring_params* const p = &ring->params;
  const int rights = PROT_READ | PROT_WRITE, how = MAP_SHARED | MAP_POPULATE;
  ring->submissions =
      mmap(NULL, p->sq_off.array + p->sq_entries * sizeof(unsigned), rights, how, ring->fd, IORING_OFF_SQ_RING);
  ring->completions = mmap(NULL, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), rights, how, ring->fd,
                           IORING_OFF_CQ_RING);
  ring->entries = mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), rights, how, ring->fd, IORING_OFF_SQES);
  EXPECT(ring->submissions != MAP_FAILED && ring->completions != MAP_FAILED && ring->entries != MAP_FAILED);
  return 1;
}
static void close_ring(struct ring* ring) {
  const struct io_uring_params* const p = &ring->params;
  munmap(ring->submissions, p->sq_off.array + p->sq_entries * sizeof(unsigned));
  munmap(ring->completions, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe));
  munmap(ring->entries, p->sq_entries * sizeof(struct io_uring_sqe));
  close(ring->fd);
}
static unsigned* word(char* memory, unsigned offset) { return (unsigned*)(void*)(memory + offset); }

/* Writes the registered buffer to the front of a file. */
static void write_pinned(struct ring* ring, int file, const char* from, size_t bytes) {
  const struct io_uring_params* const p = &ring->params;
  unsigned* const tail = word(ring->submissions, p->sq_off.tail);
  const unsigned index = *tail & *word(ring->submissions, p->sq_off.ring_mask);
  ring->entries[index] = (struct io_uring_sqe){
      .opcode = IORING_OP_WRITE_FIXED, .fd = file, .addr = (uintptr_t)from, .len = (unsigned)bytes};
  word(ring->submissions, p->sq_off.array)[index] = index;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  long entered = -1;
  do {
    entered = syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  } while (entered < 0 && errno == EINTR);
  unsigned* const head = word(ring->completions, p->cq_off.head);
  EXPECT(entered == 1 && *head != __atomic_load_n(word(ring->completions, p->cq_off.tail), __ATOMIC_ACQUIRE));
  const struct io_uring_cqe* const all = (const void*)(ring->completions + p->cq_off.cqes);
  EXPECT(all[*head & *word(ring->completions, p->cq_off.ring_mask)].res == (int)bytes);
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static void pinned(void) {
  struct ring ring;
  if (!open_ring(&ring)) return;
  const int file = memfd_create("written", MFD_CLOEXEC);
  char* const found = map_pages(BYTES);
  EXPECT(file >= 0);
  for (int round = 0; round < ROUNDS; ++round) {
    struct exchange e = broadcast(round);
    plan_in_pages(&e);
    const struct iovec buffer = {e.receive, BYTES};
    EXPECT(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &buffer, 1) == 0);
    perform(&e);
    write_pinned(&ring, file, e.receive, BYTES);
    EXPECT(pread(file, found, BYTES, 0) == BYTES);
    expect_same("what the kernel wrote", found, e.wanted, BYTES);
    EXPECT(syscall(SYS_io_uring_register, ring.fd, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0);
    finish(&e);
  }
  munmap(found, BYTES);
  close(file);
  close_ring(&ring);
}

static void broadcast_to(char* to, size_t bytes, int round) {
  run_at((struct exchange){.kind = BCAST, .block = bytes, .round = round}, to);
}
/* Its first half is adopted when it is pinned, and the second is not from there on: the kernel would know the pages
 * that it had. */
static void pinned_later(void) {
  struct ring ring;
  if (!open_ring(&ring)) return;
  const int file = memfd_create("written", MFD_CLOEXEC);
  char *const memory = map_pages(2 * BYTES), *const found = memory + BYTES;
  EXPECT(file >= 0);
  memset(memory, 0, 2 * BYTES);
  broadcast_to(memory, BYTES, 1);
  broadcast_to(memory, BYTES / 2, 2);
  EXPECT(rank == 0 || is_adopted(memory + BYTES / 4));
  /* What is yet to be sent cannot be registered. */
  for (size_t at = 0; at < BYTES; at += PAGE) ((volatile char*)memory)[at] = memory[at];
  const struct iovec buffer = {memory, BYTES};
  EXPECT(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &buffer, 1) == 0);
  broadcast_to(memory, BYTES, 3);
  write_pinned(&ring, file, memory, BYTES);
  EXPECT(pread(file, found, BYTES, 0) == BYTES);
  expect_same("what the kernel wrote", found, memory, BYTES);
  munmap(memory, 2 * BYTES);
  close(file);
  close_ring(&ring);
}

/* --- Errors --- */

static void errors_return(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < ROUNDS; ++round) run_in_pages(broadcast(round));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

EARLY_GROUP(default, MPI_THREAD_SINGLE, RUN(pinned), RUN(pinned_later), RUN(errors_return));
