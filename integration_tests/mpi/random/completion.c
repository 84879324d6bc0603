/* SPDX-License-Identifier: Apache-2.0 */
#include "integration_tests/mpi/random/completion.h"

#include <mpi.h>

#include "integration_tests/mpi/chance.h"
#include "integration_tests/mpi/completion.h"
#include "integration_tests/mpi/random/operations.h"

static void check_status(const struct operation* o, const MPI_Status* status) {
  if (o->kind != RECEIVE) return;
  int count = -1;
  MPI_Get_count(status, o->peer_type->type, &count);
  CHECK(status->MPI_SOURCE == o->root && status->MPI_TAG == o->step && count == as_received(o, o->count));
}

/* Completes all of `operations` in one of MPI's ways. */
static void await(struct thread* t, struct operation** operations, int count) {
  MPI_Request requests[PENDING];
  MPI_Status statuses[PENDING];
  for (int i = 0; i < count; ++i) requests[i] = operations[i]->request;
  CHECK(complete_requests(count, requests, statuses, draw(&t->own, COMPLETION_WAYS)) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) {
    check_status(operations[i], &statuses[i]);
    CHECK(operations[i]->mode == PERSISTENT || requests[i] == MPI_REQUEST_NULL);
    operations[i]->request = requests[i];
  }
}

void complete(struct thread* t, int slot, int everything) {
  struct operation* due[PENDING];
  int count = 0, kept = 0;
  for (int i = 0; i < t->pending_count; ++i) {
    struct operation* const o = t->pending[i];
    if (o->due <= t->now || (everything && (slot < 0 || o->slot == slot))) {
      due[count++] = o;
    } else {
      t->pending[kept++] = o;
    }
  }
  t->pending_count = kept;
  if (count == 0) return;
  for (int i = 0; i < count; ++i) {
    struct operation* const o = due[i];
    if (!o->late) continue;
    o->late = 0;
    /* The sender has begun to send it, or will without this rank. */
    if (chance(&t->own, 40)) {
      MPI_Status status;
      int flag = 0;
      if (chance(&t->own, 50)) {
        MPI_Probe(o->root, o->step, o->on.comm, &status);
      } else {
        while (!flag) MPI_Iprobe(o->root, o->step, o->on.comm, &flag, &status);
      }
      check_status(o, &status);
    }
    post_receive(o);
  }
  await(t, due, count);
  for (int i = 0; i < count; ++i) {
    struct operation* const o = due[i];
    note(t, o);
    if (o->starts > 0 && !everything) {
      --o->starts;
      o->due = t->now + 1 + o->starts % 3;
      if (o->kind < KINDS) contribute(o);
      if (o->kind < KINDS && !persistent) {
        begin(t, o);
      } else {
        MPI_Start(&o->request);
      }
      t->pending[t->pending_count++] = o;
      continue;
    }
    if (o->request != MPI_REQUEST_NULL) MPI_Request_free(&o->request);
    release(o);
  }
}
