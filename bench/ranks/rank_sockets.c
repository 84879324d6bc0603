/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a binomial tree of bare TCP sockets that block: what an implementation that sleeps can do at best.
 * BENCH_RANK says which rank it is, BENCH_ADDRESSES where all listen: IP:PORT,IP:PORT,...
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/ranks/rank.h"

enum { kRanksMax = 1024, kChildrenMax = 10, kElementsMax = 8192, kConnectTries = 5000 };

static uint32_t own_rank, ranks;
static struct sockaddr_in addresses[kRanksMax];
static int parent = -1, children[kChildrenMax], child_count;

static void fail(const char* what) {
  fprintf(stderr, "rank_sockets: rank %u: %s: %s\n", own_rank, what, strerror(errno));
  exit(1);
}

static void send_all(int fd, const void* data, size_t bytes) {
  for (const char* at = data; bytes > 0;) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    at += sent;
    bytes -= (size_t)sent;
  }
}

static void receive_all(int fd, void* data, size_t bytes) {
  for (char* at = data; bytes > 0;) {
    const ssize_t got = recv(fd, at, bytes, MSG_WAITALL);
    if (got <= 0) fail("receive");
    at += got;
    bytes -= (size_t)got;
  }
}

static void read_environment(void) {
  const char* number = getenv("BENCH_RANK");
  const char* list = getenv("BENCH_ADDRESSES");
  if (number == NULL || list == NULL) {
    fprintf(stderr, "rank_sockets: environment: BENCH_RANK and BENCH_ADDRESSES must be set\n");
    exit(2);
  }
  own_rank = (uint32_t)strtoul(number, NULL, 10);
  for (const char* at = list; *at != '\0' && ranks < kRanksMax; ranks++) {
    char host[16];
    unsigned port;
    int read_bytes = 0;
    if (sscanf(at, "%15[0-9.]:%u%n", host, &port, &read_bytes) != 2) {
      fprintf(stderr, "rank_sockets: BENCH_ADDRESSES: not IP:PORT (at=%s)\n", at);
      exit(2);
    }
    addresses[ranks].sin_family = AF_INET;
    addresses[ranks].sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, host, &addresses[ranks].sin_addr);
    at += read_bytes;
    if (*at == ',') at++;
  }
}

static void no_delay(int fd) {
  const int one = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) fail("TCP_NODELAY");
}

static int listen_on(const struct sockaddr_in* address) {
  const int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
      bind(fd, (const struct sockaddr*)address, sizeof(*address)) != 0 || listen(fd, kChildrenMax) != 0) {
    fail("listen");
  }
  return fd;
}

/* The parent may not listen yet. */
static int connect_to(const struct sockaddr_in* address) {
  for (int i = 0; i < kConnectTries; i++) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) fail("socket");
    if (connect(fd, (const struct sockaddr*)address, sizeof(*address)) == 0) return fd;
    if (errno != ECONNREFUSED) fail("connect");
    close(fd);
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
  errno = ETIMEDOUT;
  fail("connect");
  return -1;
}

/* Children of r are r + 1, r + 2, r + 4, ... below r's lowest bit. */
void rank_start(int* argc, char*** argv, uint32_t* rank, uint32_t* size) {
  (void)argc;
  (void)argv;
  read_environment();
  for (uint32_t bit = 1; own_rank + bit < ranks && (own_rank & bit) == 0; bit *= 2) child_count++;
  const int listener = child_count > 0 ? listen_on(&addresses[own_rank]) : -1;
  if (own_rank != 0) {
    parent = connect_to(&addresses[own_rank & (own_rank - 1)]);
    no_delay(parent);
    const uint32_t child = (uint32_t)__builtin_ctz(own_rank);
    send_all(parent, &child, sizeof(child));
  }
  for (int i = 0; i < child_count; i++) {
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
    no_delay(fd);
    uint32_t child = 0;
    receive_all(fd, &child, sizeof(child));
    if (child >= kChildrenMax) fail("accept: not a child");
    children[child] = fd;
  }
  if (listener >= 0) close(listener);
  *rank = own_rank;
  *size = ranks;
}

static void go_up(rank_call* call, double* sum) {
  static double part[kElementsMax];
  const size_t bytes = call->count * sizeof(double);
  if (sum != call->send && bytes > 0) memcpy(sum, call->send, bytes);
  for (int child = 0; child < child_count; child++) {
    receive_all(children[child], part, bytes);
    for (uint64_t i = 0; i < call->count; i++) {
      sum[i] = call->op == kSum ? sum[i] + part[i] : part[i] > sum[i] ? part[i] : sum[i];
    }
  }
  if (own_rank != 0) send_all(parent, sum, bytes);
}

static void go_down(void* data, size_t bytes) {
  if (own_rank != 0) receive_all(parent, data, bytes);
  for (int child = child_count - 1; child >= 0; child--) send_all(children[child], data, bytes);
}

void rank_prepare(rank_call* call) {
  call->state = NULL;
  if (call->collective <= COPSE_COLL_ALLREDUCE && call->count <= kElementsMax) return;
  fprintf(stderr, "rank_sockets: call: not offered (collective=%d, count=%llu)\n", call->collective,
          (unsigned long long)call->count);
  exit(1);
}
void rank_enter_team(void) {}
void rank_leave_team(void) {}
void* rank_allocate(size_t bytes) { return malloc(bytes); }
void rank_deallocate(void* memory) { free(memory); }
void rank_release(rank_call* call) { call->state = NULL; }

void rank_run(rank_call* call) {
  static double partial[kElementsMax];
  const size_t bytes = call->count * sizeof(double);
  double token = 0;
  rank_call barrier = {.collective = COPSE_COLL_BARRIER, .op = kSum, .send = &token, .receive = &token, .count = 1};
  switch (call->collective) {
    case COPSE_COLL_BARRIER:
      go_up(&barrier, &token);
      go_down(&token, sizeof(token));
      break;
    case COPSE_COLL_BCAST:
      go_down(call->receive, bytes);
      break;
    case COPSE_COLL_REDUCE:
      go_up(call, own_rank == 0 ? call->receive : partial);
      break;
    case COPSE_COLL_ALLREDUCE:
      go_up(call, call->receive);
      go_down(call->receive, bytes);
      break;
    default:
      break; /* rank_prepare has refused it */
  }
}

void rank_post(rank_call* call) { rank_run(call); }
void rank_wait(rank_call* call) { (void)call; }

void rank_end(void) {
  if (own_rank != 0) close(parent);
  for (int i = 0; i < child_count; i++) close(children[i]);
}
