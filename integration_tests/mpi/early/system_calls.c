/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls past libc's functions, and those that nothing stands before, with data that may be under way: for
 * COPSE_TNBC_SYSCALLS=strict. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { SOME_BYTES = 600000 / PAGE * PAGE };

/* As programs without a libc have it. */
static long call_kernel(long number, long a, const void* b, long c) {
#if defined(__x86_64__)
  long result = number;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, a, b, c);
#endif
}

static ssize_t write_all(int fd, const void* from, size_t bytes) {
  return call_kernel(SYS_write, fd, from, (long)bytes);
}
static ssize_t write_two(int fd, const void* from, size_t bytes) {
  const struct iovec parts[] = {{(void*)from, bytes / 3}, {(char*)from + bytes / 3, bytes - bytes / 3}};
  return call_kernel(SYS_writev, fd, parts, 2);
}
static void writes(struct exchange* e) { check_by_pipe(e, write_all); }
static void writes_lists(struct exchange* e) { check_by_pipe(e, write_two); }
static void* writes_in_thread(void* e) {
  check_by_pipe(e, write_all);
  return NULL;
}
static void thread_writes(struct exchange* e) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, writes_in_thread, e) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
}

/* What the kernel writes is there in the end, with what came around it. */
static void reads(struct exchange* e) {
  int ends[2];
  const size_t at = e->receive_bytes / 2;
  EXPECT(pipe(ends) == 0 && write(ends[1], "what is read", 12) == 12);
  EXPECT(call_kernel(SYS_read, ends[0], e->receive + at, 12) == 12);
  memcpy(e->wanted + at, "what is read", 12);
  close_both(ends);
}
static void structures(struct exchange* e) {
  struct stat wanted;
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  const size_t at = e->receive_bytes / 2 / PAGE * PAGE;
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &size) == 0);
  EXPECT(ioctl(terminal, TIOCGWINSZ, e->receive + at) == 0);
  memcpy(e->wanted + at, &size, sizeof(size));
  EXPECT(fstat(STDERR_FILENO, (struct stat*)(e->receive + 2 * PAGE)) == 0 && fstat(STDERR_FILENO, &wanted) == 0);
  /* Times may differ by now. */
  EXPECT(((struct stat*)(e->receive + 2 * PAGE))->st_ino == wanted.st_ino);
  memcpy(e->wanted + 2 * PAGE, e->receive + 2 * PAGE, sizeof(wanted));
  close(terminal);
}
/* One that nobody knows: it is not told which memory it is about. */
static void unknown(struct exchange* e) {
  const size_t at = e->receive_bytes / 2 / PAGE * PAGE;
  EXPECT(syscall(SYS_sched_getattr, 0, e->receive + at, 56, 0) == 0);
  memcpy(e->wanted + at, e->receive + at, 56);
}
static void forks(struct exchange* e) {
  const pid_t child = (pid_t)syscall(SYS_fork);
  if (child == 0) _exit(is_right(e) ? 0 : 1);
  expect_ends(child, 0);
}
/* With signals of all kinds blocked in the kernel's own way. */
static void blocks(struct exchange* e) {
  uint64_t all = ~UINT64_C(0), before;
  EXPECT(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all)) == 0);
  EXPECT(call_kernel(SYS_getppid, 0, NULL, 0) == getppid());
  EXPECT(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all)) == 0);
  check(e);
}

#define SOME(function) \
  { .name = #function, .pending = function, .bytes = SOME_BYTES }
EARLY_GROUP(system_calls, MPI_THREAD_FUNNELED, SOME(writes), SOME(writes_lists), SOME(thread_writes), SOME(reads),
            SOME(structures), SOME(unknown), SOME(forks), SOME(blocks));
