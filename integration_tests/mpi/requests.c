/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs do with non-blocking and persistent collectives, besides starting and waiting for them. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "integration_tests/mpi/situation.h"

enum { MANY = 600, MANY_BYTES = 4096, SOME = 20, THREAD_CALLS = 50 };

/* More than there is room for (256 calls, 1 MiB), from a rank that the others wait for. */
static void more_than_fit(void) {
  warm_up(MPI_COMM_WORLD);
  char* buffers = malloc((size_t)MANY * MANY_BYTES);
  MPI_Request* requests = malloc(MANY * sizeof(MPI_Request));
  int go = 1;
  memset(buffers, rank == 0 ? 7 : 0, (size_t)MANY * MANY_BYTES);
  if (rank != 0) MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < MANY; ++i) {
    MPI_Ibcast(buffers + (size_t)i * MANY_BYTES, MANY_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD, &requests[i]);
  }
  if (rank == 0) {
    for (int peer = 1; peer < size; ++peer) MPI_Send(&go, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    /* Nothing of MPI's or of Copse's is called while the others need what is not posted yet. */
    for (int peer = 1; peer < size; ++peer) {
      MPI_Recv(&go, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < (size_t)MANY * MANY_BYTES; ++i) EXPECT(buffers[i] == 7);
  if (rank != 0) MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  free(requests);
  free(buffers);
}

/* Blocking calls among others, in the order of the calls. */
static void in_order(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Request requests[SOME];
  int values[SOME], sums[SOME];
  for (int i = 0; i < SOME; ++i) {
    values[i] = rank + i;
    int sum = 0;
    MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == size * i);
  }
  /* The last ones first. */
  for (int i = SOME - 1; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    EXPECT(requests[i] == MPI_REQUEST_NULL);
    EXPECT(sums[i] == size * (size - 1) / 2 + size * i);
  }
}

/* Communicator, type and arrays are the program's to free as soon as the call has returned. */
static void freed_before(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  warm_up(dup);
  MPI_Datatype column;
  MPI_Type_vector(10, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  int values[30];
  for (int i = 0; i < 30; ++i) values[i] = rank == 0 ? i : -1;
  MPI_Request request;
  MPI_Ibcast(values, 1, column, 0, dup, &request);
  MPI_Type_free(&column);
  MPI_Comm_free(&dup);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 30; ++i) EXPECT(values[i] == (rank == 0 || i % 3 == 0 ? i : -1));
  /* Others are not concerned. */
  warm_up(MPI_COMM_WORLD);
}

/* Errors come when a call ends, through the communicator's handler. */
static void mismatch(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int in[2] = {1, 1}, out[2], received = 0;
  MPI_Request request;
  int code = MPI_Iallreduce(in, out, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  EXPECT(code == MPI_SUCCESS);
  EXPECT(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  EXPECT(request == MPI_REQUEST_NULL);
  /* And from then on, among requests that do not fail. */
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&received, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  code = MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
  if (code == MPI_SUCCESS) {
    MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    EXPECT(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
    EXPECT(statuses[0].MPI_ERROR == MPI_SUCCESS && received == (rank + 1) % size);
    EXPECT(error_class(statuses[1].MPI_ERROR) == MPI_ERR_ARG);
  } else {
    EXPECT(error_class(code) == MPI_ERR_ARG);
    MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  printf("rank %d was told\n", rank);
}

/* What may not be done to collectives, which go on. */
static void refused(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  if (rank != 0) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
  } else {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    EXPECT(error_class(MPI_Cancel(&request)) == MPI_ERR_REQUEST);
    EXPECT(error_class(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
    int done = 1;
    MPI_Status status;
    EXPECT(MPI_Test(&request, &done, &status) == MPI_SUCCESS && !done);
    EXPECT(MPI_Request_get_status(request, &done, &status) == MPI_SUCCESS && !done);
    for (int peer = 1; peer < size; ++peer) MPI_Send(NULL, 0, MPI_INT, peer, 0, MPI_COMM_WORLD);
  }
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* A rank that waits for two things at once gets what is there, whatever it is. */
static void first_come(void) {
  warm_up(MPI_COMM_WORLD);
  for (int i = 0; i < SOME; ++i) {
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = -1, value = -1, sent = i;
    if (rank == 0) {
      MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[2]);
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
      /* Rank 1 enters when it was answered, so the message comes first. */
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
      EXPECT(index == 2 && value == i);
      MPI_Send(&sent, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
      EXPECT(index == 1);
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
      EXPECT(index == MPI_UNDEFINED);
    } else if (rank == 1) {
      MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_SELF);
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
  }
}

/* Persistent calls: ranks may start them in any order. */
static void persistent(void) {
#if MPI_VERSION >= 4
  warm_up(MPI_COMM_WORLD);
  MPI_Request requests[3];
  int root = 0, in[2] = {rank, 1}, out[2] = {0, 0}, code = MPI_SUCCESS;
  MPI_Allreduce_init(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(&root, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int i = 0; i < SOME; ++i) {
    in[1] = i;
    root = rank == size - 1 ? i : -1;
    for (int j = 0; j < 3; ++j) code |= MPI_Start(&requests[(rank + j) % 3]);
    EXPECT(code == MPI_SUCCESS && MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    EXPECT(out[0] == size * (size - 1) / 2 && out[1] == size * i && root == i);
    EXPECT(MPI_Startall(3, requests) == MPI_SUCCESS && MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    EXPECT(requests[0] != MPI_REQUEST_NULL);
  }
  for (int j = 0; j < 3; ++j) EXPECT(MPI_Request_free(&requests[j]) == MPI_SUCCESS);
  EXPECT(requests[0] == MPI_REQUEST_NULL);
  /* One is left for MPI_Finalize. */
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
#endif
}

/* What a library of files does is none of the program's collectives. */
static void file(void) {
  warm_up(MPI_COMM_WORLD);
  char name[] = "/tmp/copse-mpi-file-XXXXXX";
  if (rank == 0) close(mkstemp(name));
  MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File opened;
  EXPECT(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &opened) == MPI_SUCCESS);
  int in = rank, out = -1;
  EXPECT(MPI_File_write_at_all(opened, rank * (MPI_Offset)sizeof(int), &in, 1, MPI_INT, MPI_STATUS_IGNORE) ==
         MPI_SUCCESS);
  EXPECT(MPI_File_read_at_all(opened, rank * (MPI_Offset)sizeof(int), &out, 1, MPI_INT, MPI_STATUS_IGNORE) ==
         MPI_SUCCESS);
  EXPECT(MPI_File_close(&opened) == MPI_SUCCESS && out == rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
}

/* The last rank is killed; the others' call, which goes on, ends with an error. */
static void dies(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == size - 1) kill(getpid(), SIGKILL);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d went on\n", rank);
}

/* Threads, each on a communicator of its own. */
static void* call_in_thread(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  warm_up(comm);
  for (int i = 0; i < THREAD_CALLS; ++i) {
    int values[4], sums[4];
    MPI_Request requests[4];
    for (int j = 0; j < 4; ++j) {
      values[j] = rank + i + j;
      MPI_Iallreduce(&values[j], &sums[j], 1, MPI_INT, MPI_SUM, comm, &requests[j]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int j = 0; j < 4; ++j) EXPECT(sums[j] == size * (size - 1) / 2 + size * (i + j));
  }
  return NULL;
}
static void threads(void) { on_threads(call_in_thread); }

SITUATIONS(SITUATION(more_than_fit), SITUATION(in_order), SITUATION(freed_before), SITUATION(mismatch),
           SITUATION(refused), SITUATION(first_come), SITUATION(persistent), SITUATION(file), SITUATION(dies),
           SITUATION(threads));

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : NULL;
  start_mpi(&argc, &argv, name != NULL && strcmp(name, "threads") == 0);
  return run_situation(name, kSituations, sizeof(kSituations) / sizeof(kSituations[0]));
}
