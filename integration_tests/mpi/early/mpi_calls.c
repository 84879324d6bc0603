/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI's other functions on data that may be under way: what they send is what came, and what they receive, afterwards,
 * is there in the end. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { TAG = 7, SHORT_BYTES = 5 * PAGE };

/* --- Messages --- */

/* Sends to the next rank. All but the last may wait for the receive, which is posted before. */
typedef void (*sender)(const void* from, int bytes);
static void by_send(const void* from, int bytes) { MPI_Send(from, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD); }
static void by_ssend(const void* from, int bytes) {
  MPI_Ssend(from, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD);
}
static void by_bsend(const void* from, int bytes) {
  int room = bytes + MPI_BSEND_OVERHEAD;
  void* buffer = malloc((size_t)room);
  MPI_Buffer_attach(buffer, room);
  MPI_Bsend(from, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD);
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
}
#define REQUEST_SENDER(name, call)                                           \
  static void name(const void* from, int bytes) {                            \
    MPI_Request request;                                                     \
    call(from, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &request); \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                   \
  }
REQUEST_SENDER(by_isend, MPI_Isend)
REQUEST_SENDER(by_issend, MPI_Issend)
static void by_start(const void* from, int bytes) {
  MPI_Request request;
  MPI_Send_init(from, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}
/* Each other integer of the first half, by a type with gaps. */
static void by_gaps(const void* from, int bytes) {
  MPI_Datatype type;
  MPI_Type_vector(bytes / 16, 4, 8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Send(from, 1, type, next_rank(), TAG, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}
static const sender kSenders[] = {by_send, by_ssend, by_bsend, by_isend, by_issend, by_start};

/* Sends to the next rank and receives the previous one's. */
static void shift_by(sender by, const void* from, void* to, size_t bytes) {
  MPI_Request request;
  MPI_Irecv(to, (int)bytes, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, &request);
  by(from, (int)bytes);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* What the previous rank has is what this one has, if that is a broadcast's; else it tells. */
static void messages(struct exchange* e) {
  SCOPED char *found = malloc(e->receive_bytes), *expected = malloc(e->receive_bytes);
  shift(e->wanted, expected, e->receive_bytes);
  shift_by(kSenders[e->round / 2 % (int)(sizeof(kSenders) / sizeof(kSenders[0]))], e->receive, found, e->receive_bytes);
  expect_same("message", found, expected, e->receive_bytes);
}
static void sent(void) {
  for (int i = 0; i < 3; ++i) on_pending(3 * PAGE << (4 * i), messages); /* the ways take turns with the lengths */
}

static void sent_with_gaps(struct exchange* e) {
  SCOPED char *found = malloc(e->receive_bytes), *expected = malloc(e->receive_bytes);
  shift_by(by_gaps, e->receive, found, e->receive_bytes);
  shift_by(by_gaps, e->wanted, expected, e->receive_bytes);
  expect_same("message with gaps", found, expected, e->receive_bytes / 16 * 4);
}

/* In place. */
static void replace(void* data, size_t bytes) {
  MPI_Sendrecv_replace(data, (int)bytes, MPI_BYTE, next_rank(), TAG, previous_rank(), TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
}
static void sent_and_received(struct exchange* e) {
  SCOPED char* found = malloc(e->receive_bytes);
  shift(e->receive, found, e->receive_bytes);
  replace(e->wanted, e->receive_bytes);
  expect_same("message", found, e->wanted, e->receive_bytes);
  memcpy(e->receive, found, e->receive_bytes);
}
static void replaced(struct exchange* e) {
  replace(e->receive, e->receive_bytes);
  replace(e->wanted, e->receive_bytes);
}

/* Data of that rank, other than the exchange's. */
static struct data other_data(const struct exchange* e, int from) {
  return (struct data){from, 1, 20000 + e->round, 0};
}
/* As many bytes of it as `e` has received. */
static char* new_data(const struct exchange* e) {
  char* const data = malloc(e->receive_bytes);
  fill(data, e->receive_bytes, other_data(e, rank));
  return data;
}
static void want_data_of(struct exchange* e, int from) { fill(e->wanted, e->receive_bytes, other_data(e, from)); }

/* What was received is where MPI keeps messages from now on. */
static void attached(struct exchange* e) {
  const int bytes = (int)e->receive_bytes, message_bytes = bytes / 2;
  void* buffer = NULL;
  int room = 0;
  SCOPED char *message = malloc((size_t)message_bytes), *wanted = malloc((size_t)message_bytes),
              *found = malloc((size_t)message_bytes);
  fill(message, (size_t)message_bytes, other_data(e, rank));
  fill(wanted, (size_t)message_bytes, other_data(e, previous_rank()));
  MPI_Buffer_attach(e->receive, bytes);
  MPI_Bsend(message, message_bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD);
  MPI_Recv(found, message_bytes, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&buffer, &room);
  EXPECT(buffer == e->receive && room == bytes);
  expect_same("message", found, wanted, (size_t)message_bytes);
  memcpy(e->receive, e->wanted, e->receive_bytes);
}

#if MPI_VERSION >= 4
static void exchanged_by_request(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* found = malloc(e->receive_bytes);
  MPI_Request requests[2];
  MPI_Isendrecv(e->receive, bytes, MPI_BYTE, next_rank(), TAG, found, bytes, MPI_BYTE, previous_rank(), TAG,
                MPI_COMM_WORLD, &requests[0]);
  MPI_Isendrecv_replace(e->wanted, bytes, MPI_BYTE, next_rank(), TAG, previous_rank(), TAG, MPI_COMM_WORLD,
                        &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect_same("message", found, e->wanted, e->receive_bytes);
  memcpy(e->receive, found, e->receive_bytes);
}
static void replaced_by_request(struct exchange* e) {
  char* const data[] = {e->receive, e->wanted};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Isendrecv_replace(data[i], (int)e->receive_bytes, MPI_BYTE, next_rank(), TAG, previous_rank(), TAG,
                          MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* A message is started, then its partitions come, and then they may go. */
static void sent_in_partitions(void) {
  enum { PARTITIONS = 4, PARTITION = 256 << 10, BYTES = PARTITIONS * PARTITION };
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES), *found = malloc(BYTES);
  MPI_Request requests[2];
  MPI_Psend_init(at, PARTITIONS, PARTITION, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(found, PARTITIONS, PARTITION, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  for (int round = 0; round < 6; ++round) {
    MPI_Startall(2, requests);
    broadcast_round(at, wanted, BYTES, round);
    if (round % 3 == 0) MPI_Pready_range(0, PARTITIONS - 1, requests[0]);
    if (round % 3 == 1) MPI_Pready_list(PARTITIONS, (int[]){3, 1, 0, 2}, requests[0]);
    for (int i = 0; round % 3 == 2 && i < PARTITIONS; ++i) MPI_Pready(i, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_same("message in partitions", found, wanted, BYTES);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}
#endif

/* What comes later lies on top. The message is there before the receive, or after it. */
static void received(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* message = new_data(e);
  want_data_of(e, previous_rank());
  MPI_Request requests[2];
  const int is_first = e->round / 2 % 2;
  if (is_first) MPI_Isend(message, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(e->receive, bytes, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, &requests[0]);
  if (!is_first) MPI_Isend(message, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void received_as_probed(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* message = new_data(e);
  want_data_of(e, previous_rank());
  MPI_Request request;
  MPI_Message found;
  MPI_Isend(message, bytes, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &request);
  MPI_Mprobe(previous_rank(), TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  MPI_Mrecv(e->receive, bytes, MPI_BYTE, &found, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Requests that were made before there was anything to wait for. */
static void started_later(void) {
  enum { BYTES = 1 << 20 };
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES), *found = malloc(BYTES);
  MPI_Request requests[2];
  MPI_Send_init(at, BYTES, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(found, BYTES, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 6; ++round) {
    broadcast_round(at, wanted, BYTES, round);
    if (round % 2 == 1) MPI_Startall(2, requests);
    for (int i = 0; round % 2 == 0 && i < 2; ++i) MPI_Start(&requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_same("persistent message", found, wanted, BYTES);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* --- Windows --- */

static void put_and_got(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* wanted = malloc(e->receive_bytes);
  char* exposed = NULL;
  MPI_Win window;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
  memset(exposed, 0, e->receive_bytes);
  shift(e->wanted, wanted, e->receive_bytes);
  MPI_Win_fence(0, window);
  MPI_Put(e->receive, bytes, MPI_BYTE, next_rank(), 0, bytes, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  expect_same("put", exposed, wanted, e->receive_bytes);
  /* Back from where it went. */
  MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, window);
  MPI_Get(e->receive, bytes, MPI_BYTE, next_rank(), 0, bytes, MPI_BYTE, window);
  MPI_Win_unlock(next_rank(), window);
  MPI_Win_free(&window);
}
static void got_over(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  char* exposed = NULL;
  MPI_Win window;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
  fill(exposed, e->receive_bytes, other_data(e, rank));
  want_data_of(e, next_rank());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Get(e->receive, bytes, MPI_BYTE, next_rank(), 0, bytes, MPI_BYTE, window);
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

/* Others may look at what a rank has received itself, once it has said so. */
static void looked_at_by_others(void) {
  enum { BYTES = 1 << 20 };
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES), *found = malloc(BYTES);
  MPI_Win window;
  MPI_Win_create(at, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < 4; ++round) {
    broadcast_round(at, wanted, BYTES, round);
    MPI_Win_fence(0, window);
    MPI_Get(found, BYTES, MPI_BYTE, next_rank(), 0, BYTES, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    expect_same("what the next rank has", found, wanted, BYTES);
  }
  MPI_Win_free(&window);
}

/* --- Files, packing, reducing --- */

static void written(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* found = malloc(e->receive_bytes);
  char name[FILE_NAME_BYTES];
  close(make_file(name));
  MPI_File file;
  EXPECT(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  EXPECT(MPI_File_write(file, e->receive, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  EXPECT(MPI_File_read_at(file, 0, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  EXPECT(MPI_File_close(&file) == MPI_SUCCESS && unlink(name) == 0);
  expect_same("file", found, e->wanted, e->receive_bytes);
}

/* Through MPI's own form of it. */
static void pack_and_unpack(const void* from, void* to, int bytes) {
  int room = 0, at = 0;
  MPI_Pack_size(bytes, MPI_BYTE, MPI_COMM_WORLD, &room);
  SCOPED char* pack = malloc((size_t)room);
  MPI_Pack(from, bytes, MPI_BYTE, pack, room, &at, MPI_COMM_WORLD);
  at = 0;
  MPI_Unpack(pack, room, &at, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void packed(struct exchange* e) {
  SCOPED char* found = malloc(e->receive_bytes);
  pack_and_unpack(e->receive, found, (int)e->receive_bytes);
  expect_same("what was packed", found, e->wanted, e->receive_bytes);
}
static void unpacked(struct exchange* e) {
  want_data_of(e, rank);
  pack_and_unpack(e->wanted, e->receive, (int)e->receive_bytes);
}
static void reduced_here(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* more_data = new_data(e);
  MPI_Reduce_local(more_data, e->receive, bytes, MPI_BYTE, MPI_BXOR);
  for (size_t i = 0; i < e->receive_bytes; ++i) e->wanted[i] = (char)(e->wanted[i] ^ more_data[i]);
  MPI_Reduce_local(e->receive, more_data, bytes, MPI_BYTE, MPI_BXOR);
  for (size_t i = 0; i < e->receive_bytes; ++i) more_data[i] = (char)(e->wanted[i] ^ more_data[i]);
  want_data_of(e, rank);
  expect_same("what was reduced", more_data, e->wanted, e->receive_bytes);
  memcpy(e->receive, e->wanted, e->receive_bytes);
}

/* --- Collectives that do not block, and those that nobody intercepts --- */

static void started(struct exchange* e) {
  const int bytes = (int)e->receive_bytes, root = (e->root + 1) % size;
  SCOPED char *sum = malloc(e->receive_bytes), *wanted = malloc(e->receive_bytes);
  MPI_Request request;
  MPI_Allreduce(e->wanted, wanted, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
  MPI_Iallreduce(e->receive, sum, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_same("iallreduce", sum, wanted, e->receive_bytes);
  /* From where it is, or to there. */
  MPI_Bcast(e->wanted, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  MPI_Ibcast(e->receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void received_by_started(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  SCOPED char* give = new_data(e);
  MPI_Request request;
  fill(e->wanted, e->receive_bytes, (struct data){0, size, 20000 + e->round, 0});
  MPI_Iallreduce(give, e->receive, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
/* Made before, started when there is something to wait for. */
static void persistent(void) {
#if MPI_VERSION >= 4
  enum { BYTES = 1 << 20 };
  SCOPED char *at = aligned_alloc(PAGE, BYTES), *wanted = malloc(BYTES), *sum = malloc(BYTES);
  MPI_Request request;
  MPI_Allreduce_init(at, sum, BYTES, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < 4; ++round) {
    broadcast_round(at, wanted, BYTES, round);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_same("persistent allreduce", sum, wanted, BYTES);
  }
  MPI_Request_free(&request);
#endif
}

static void sent_to_neighbors(struct exchange* e) {
  const int bytes = (int)e->receive_bytes;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
  SCOPED char *found = malloc(2 * e->receive_bytes), *expected = malloc(2 * e->receive_bytes);
  MPI_Neighbor_allgather(e->wanted, bytes, MPI_BYTE, expected, bytes, MPI_BYTE, ring);
  MPI_Neighbor_allgather(e->receive, bytes, MPI_BYTE, found, bytes, MPI_BYTE, ring);
  expect_same("neighbors' data", found, expected, 2 * e->receive_bytes);
  MPI_Comm_free(&ring);
}

/* Arguments of a call that an earlier call brings. */
static void arguments(void) {
  SCOPED int* lists = aligned_alloc(PAGE, PAGE);
  SCOPED char* received = malloc(4 * (size_t)size);
  int *const counts = lists, *const at = lists + 64;
  for (int round = 0; round < 4; ++round) {
    if (rank == 0) {
      be_late();
      for (int i = 0; i < size; ++i) counts[i] = i % 2 + 1, at[i] = 4 * i;
    }
    MPI_Bcast(lists, PAGE, MPI_BYTE, 0, MPI_COMM_WORLD);
    memset(received, 0, 4 * (size_t)size);
    const char own[] = {(char)rank, (char)rank};
    MPI_Allgatherv(own, rank % 2 + 1, MPI_BYTE, received, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) EXPECT(received[4 * i] == i && received[4 * i + 1] == (i % 2 == 1 ? i : 0));
  }
}

/* Where statuses and such lie. */
static void results(struct exchange* e) {
  MPI_Status* const status = (MPI_Status*)(e->receive + PAGE);
  int* const value = (int*)(e->receive + 3 * PAGE);
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), TAG, value, 1, MPI_INT, previous_rank(), TAG, MPI_COMM_WORLD, status);
  EXPECT(status->MPI_SOURCE == previous_rank() && *value == previous_rank());
  memcpy(e->wanted + PAGE, status, sizeof(*status));
  memcpy(e->wanted + 3 * PAGE, value, sizeof(*value));
}

#if MPI_VERSION >= 4
#define SOME_MPIS_CASES PENDING(exchanged_by_request), PENDING(replaced_by_request), RUN(sent_in_partitions),
#else
#define SOME_MPIS_CASES
#endif
EARLY_GROUP(mpi_calls, MPI_THREAD_SINGLE, RUN(sent), PENDING(sent_with_gaps), PENDING(sent_and_received),
            PENDING(replaced), PENDING(attached), SOME_MPIS_CASES PENDING(received),
            {.name = "short_received", .pending = received, .bytes = SHORT_BYTES}, PENDING(received_as_probed),
            RUN(started_later), PENDING(put_and_got), PENDING(got_over), RUN(looked_at_by_others), PENDING(written),
            PENDING(packed), PENDING(unpacked), PENDING(reduced_here), PENDING(started), PENDING(received_by_started),
            RUN(persistent), PENDING(sent_to_neighbors), RUN(arguments), PENDING(results));
