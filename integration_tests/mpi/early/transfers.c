/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls and streams with data that may be under way: the kernel reads what came, and what it writes is there in
 * the end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

/* What fits into a pipe or a socket at once. */
enum { PIECE = 48 << 10, TRANSFER_BYTES = 600000 / PAGE * PAGE };

enum channel { PIPE, SOCKET, REGULAR_FILE };
struct way {
  enum channel channel;
  /* Whole pieces, or less; out of `from`, or into `to`. */
  ssize_t (*out)(int fd, const void* from, size_t bytes);
  ssize_t (*in)(int fd, void* to, size_t bytes);
};

static FILE* stream_of(int fd, const char* mode) {
  FILE* stream = fdopen(dup(fd), mode);
  EXPECT(stream != NULL);
  return stream;
}

static ssize_t write_two(int fd, const void* from, size_t bytes) {
  const struct iovec parts[] = {{(void*)from, bytes / 3}, {(char*)from + bytes / 3, bytes - bytes / 3}};
  return writev(fd, parts, 2);
}
static ssize_t read_two(int fd, void* to, size_t bytes) {
  const struct iovec parts[] = {{to, bytes / 3}, {(char*)to + bytes / 3, bytes - bytes / 3}};
  return readv(fd, parts, 2);
}
static ssize_t send_some(int fd, const void* from, size_t bytes) { return send(fd, from, bytes, 0); }
static ssize_t recv_some(int fd, void* to, size_t bytes) { return recv(fd, to, bytes, 0); }
static ssize_t send_to(int fd, const void* from, size_t bytes) { return sendto(fd, from, bytes, 0, NULL, 0); }
static ssize_t recv_from(int fd, void* to, size_t bytes) { return recvfrom(fd, to, bytes, 0, NULL, NULL); }
static ssize_t send_message(int fd, const void* from, size_t bytes) {
  struct iovec part = {(void*)from, bytes};
  const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return sendmsg(fd, &message, 0);
}
static ssize_t recv_message(int fd, void* to, size_t bytes) {
  struct iovec part = {to, bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return recvmsg(fd, &message, 0);
}
static ssize_t write_at(int fd, const void* from, size_t bytes) { return pwrite(fd, from, bytes, 0); }
static ssize_t read_at(int fd, void* to, size_t bytes) { return pread(fd, to, bytes, 0); }
static ssize_t splice_pages(int fd, const void* from, size_t bytes) {
  const struct iovec part = {(void*)from, bytes};
  return vmsplice(fd, &part, 1, 0);
}
static ssize_t write_stream(int fd, const void* from, size_t bytes) {
  FILE* stream = stream_of(fd, "w");
  const size_t done = fwrite(from, 1, bytes, stream);
  EXPECT(fclose(stream) == 0);
  return (ssize_t)done;
}
/* Through a buffer of the library's, and past it. */
static ssize_t read_stream(int fd, void* to, size_t bytes) {
  FILE* stream = stream_of(fd, "r");
  size_t done = fread(to, 1, 10, stream);
  done += fread((char*)to + done, 1, bytes - done, stream);
  EXPECT(fclose(stream) == 0);
  return (ssize_t)done;
}

static const struct way kWays[] = {
    {PIPE, write, read},
    {PIPE, write_two, read_two},
    {PIPE, splice_pages, read},
    {PIPE, write_stream, read},
    {SOCKET, send_some, recv_some},
    {SOCKET, send_to, recv_from},
    {SOCKET, send_message, recv_message},
    {REGULAR_FILE, write, read},
    {REGULAR_FILE, write_at, read_at},
    {REGULAR_FILE, write_stream, read_stream},
};
enum { WAYS = sizeof(kWays) / sizeof(kWays[0]) };

/* Where it goes out and where it comes in. */
static void open_channel(enum channel channel, int ends[2]) {
  if (channel == PIPE) {
    EXPECT(pipe(ends) == 0);
    const int in = ends[0];
    ends[0] = ends[1];
    ends[1] = in;
  } else if (channel == SOCKET) {
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  } else {
    ends[0] = memfd_create("early", 0);
    ends[1] = dup(ends[0]);
    EXPECT(ends[0] >= 0 && ends[1] >= 0);
  }
}

/* Each piece lies at the beginning of a file. */
static void rewind_file(const struct way* way, int fd) {
  if (way->channel == REGULAR_FILE) EXPECT(lseek(fd, 0, SEEK_SET) == 0);
}

/* Moves it all, piece by piece; all of it is there at the end of each. */
static void move(const struct way* way, const char* from, char* to, size_t bytes) {
  int ends[2];
  open_channel(way->channel, ends);
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes - done < PIECE ? bytes - done : PIECE;
    rewind_file(way, ends[0]);
    const ssize_t out = way->out(ends[0], from + done, piece);
    EXPECT(out > 0);
    for (ssize_t in = 0, some; in < out; in += some) {
      rewind_file(way, ends[1]);
      some = way->in(ends[1], to + done + in, (size_t)(out - in));
      EXPECT(some > 0);
    }
    done += (size_t)out;
  }
  close_both(ends);
}

static void check_by(const struct way* way, const char* what, const struct exchange* e) {
  SCOPED char* copy = malloc(e->receive_bytes);
  move(way, e->receive, copy, e->receive_bytes);
  expect_same(what, copy, e->wanted, e->receive_bytes);
}
void check_by_pipe(const struct exchange* e, ssize_t (*out)(int fd, const void* from, size_t bytes)) {
  check_by(&(struct way){PIPE, out, read}, "what the kernel read", e);
}

static int now_way;

static void move_out(struct exchange* e) {
  char what[64];
  snprintf(what, sizeof(what), "by way %d", now_way);
  check_by(&kWays[now_way], what, e);
}
static void move_in(struct exchange* e) {
  const struct data other = {rank, 1, 10000 + e->round, 0};
  SCOPED char* from = malloc(e->receive_bytes);
  fill(from, e->receive_bytes, other);
  move(&kWays[now_way], from, e->receive, e->receive_bytes);
  memcpy(e->wanted, from, e->receive_bytes);
}

static void out(void) {
  for (now_way = 0; now_way < WAYS; ++now_way) on_pending(TRANSFER_BYTES, move_out);
}
static void in(void) {
  for (now_way = 0; now_way < WAYS; ++now_way) on_pending(TRANSFER_BYTES, move_in);
}

/* Text that streams format, and lines that they read. */
static void write_text(struct exchange* e) {
  SCOPED char *text = NULL, *copy = malloc(e->receive_bytes);
  size_t length = 0;
  FILE* stream = open_memstream(&text, &length);
  EXPECT(stream != NULL && fprintf(stream, "%.*s", 100, e->receive) >= 0 && fclose(stream) == 0);
  EXPECT(length == strnlen(e->wanted, 100) && memcmp(text, e->wanted, length) == 0);
  stream = fmemopen(e->receive, e->receive_bytes, "r");
  EXPECT(stream != NULL && fread(copy, 1, e->receive_bytes, stream) == e->receive_bytes && fclose(stream) == 0);
  expect_same("stream on memory", copy, e->wanted, e->receive_bytes);
}
static void read_lines(struct exchange* e) {
  static const char kLine[] = "the first line\n";
  FILE* stream = tmpfile();
  EXPECT(stream != NULL && fprintf(stream, "%s%s", kLine, kLine) > 0);
  rewind(stream);
  EXPECT(fgets(e->receive, (int)e->receive_bytes, stream) == e->receive);
  memcpy(e->wanted, kLine, sizeof(kLine));
  fclose(stream);
  snprintf(e->receive + 3 * PAGE, 20, "%s", kLine);
  memcpy(e->wanted + 3 * PAGE, kLine, sizeof(kLine));
}

/* Arguments that lie in such memory: a collective brings them to all ranks, as programs do at their start. */
static void broadcast_block(void* at, const void* value, size_t bytes) {
  if (rank == 0) be_late(), memcpy(at, value, bytes);
  EXPECT(MPI_Bcast(at, PAGE, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}
static void arguments(void) {
  SCOPED char* at = aligned_alloc(PAGE, PAGE);
  struct stat expected, *const found = (struct stat*)at;
  memset(at, 0, PAGE);
  EXPECT(stat("/", &expected) == 0);

  broadcast_block(at, "/dev/null", 10);
  const int opened = open(at, O_RDWR | O_CLOEXEC), file = 100; /* the same number everywhere */
  EXPECT(opened >= 0 && dup2(opened, file) == file);
  broadcast_block(at, "/dev/null", 10);
  EXPECT(access(at, R_OK) == 0);
  broadcast_block(at, "/dev/null", 10);
  FILE* const stream = fopen(at, "r");
  EXPECT(stream != NULL && fclose(stream) == 0);
  broadcast_block(at, "PATH", 5);
  EXPECT(getenv(at) == getenv("PATH"));

  broadcast_block(at, "x", 2);
  EXPECT(stat("/", found) == 0 && found->st_ino == expected.st_ino);
  broadcast_block(at, "x", 2);
  EXPECT(getcwd(at, PAGE) == at && at[0] == '/');
  const struct pollfd asked = {.fd = file, .events = POLLIN};
  broadcast_block(at, &asked, sizeof(asked));
  EXPECT(poll((struct pollfd*)at, 1, -1) == 1 && ((struct pollfd*)at)->revents == POLLIN);
  close(file);
  close(opened);
}

EARLY_GROUP(transfers, MPI_THREAD_SINGLE, RUN(out), RUN(in),
            {.name = "write_text", .pending = write_text, .bytes = TRANSFER_BYTES},
            {.name = "read_lines", .pending = read_lines, .bytes = TRANSFER_BYTES}, RUN(arguments));
