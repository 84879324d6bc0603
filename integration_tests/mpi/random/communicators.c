/* SPDX-License-Identifier: Apache-2.0 */
#include "integration_tests/mpi/random/communicators.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "integration_tests/mpi/chance.h"
#include "integration_tests/mpi/random/completion.h"
#include "integration_tests/mpi/random/operations.h"

static int copy_attribute(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int attribute_key;

void make_attribute_key(void) { MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &attribute_key, NULL); }
void free_attribute_key(void) { MPI_Comm_free_keyval(&attribute_key); }

void look_at(struct thread* t, int slot) {
  const struct slot* on = &t->slots[slot];
  if (on->born < 0) return;
  char name[MPI_MAX_OBJECT_NAME], expected[MPI_MAX_OBJECT_NAME];
  int length, flag;
  void* value = NULL;
  snprintf(expected, sizeof(expected), "born at %d", on->born);
  MPI_Comm_get_name(on->comm, name, &length);
  MPI_Comm_get_attr(on->comm, attribute_key, &value, &flag);
  CHECK(strcmp(name, expected) == 0 && flag && (intptr_t)value == on->born);
  (void)t;
}

/* Two halves that meet, and become one again. */
static MPI_Comm through_halves(struct thread* t, const struct slot* parent, uint64_t* state) {
  const int half = 1 + (int)draw(state, (unsigned)parent->size - 1), low = parent->rank < half;
  const int high_first = chance(state, 30);
  MPI_Comm own, both, merged;
  MPI_Comm_split(parent->comm, low, parent->rank, &own);
  MPI_Intercomm_create(own, 0, parent->comm, low ? half : 0, t->now, &both);
  int value = world_rank + 1, sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both); /* of the others */
  count_in(t, "sums between halves", NULL, (uint64_t)sum);
  MPI_Intercomm_merge(both, high_first ? low : !low, &merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&own);
  return merged;
}

static MPI_Comm made_of(struct thread* t, const struct slot* parent, uint64_t* state) {
  MPI_Comm made = MPI_COMM_NULL, cart;
  MPI_Group all, some;
  const int n = parent->size;
  int members[RANKS_MAX];
  switch (draw(state, 10)) {
    case 0:
      MPI_Comm_dup(parent->comm, &made);
      break;
    case 1: {
      MPI_Request request;
      MPI_Comm_idup(parent->comm, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    }
    case 2:
      MPI_Comm_dup_with_info(parent->comm, MPI_INFO_NULL, &made);
      break;
    case 3: {
      const uint64_t seed = mix2(*state, (uint64_t)parent->rank);
      MPI_Comm_split(parent->comm, seed % 8 == 0 ? MPI_UNDEFINED : (int)(seed % 2), (int)(seed >> 8) % 5, &made);
      break;
    }
    case 4:
      MPI_Comm_split_type(parent->comm, MPI_COMM_TYPE_SHARED, n - parent->rank, MPI_INFO_NULL, &made);
      break;
    case 5:
    case 6: {
      /* Some ranks, in reverse order. */
      const int by_members = chance(state, 50);
      int count = 0, is_member = 0;
      for (int i = n; i-- > 0;) {
        if (i > 0 && chance(state, 30)) continue;
        is_member |= i == parent->rank;
        members[count++] = i;
      }
      MPI_Comm_group(parent->comm, &all);
      MPI_Group_incl(all, count, members, &some);
      if (!by_members) {
        MPI_Comm_create(parent->comm, some, &made);
      } else if (is_member) {
        MPI_Comm_create_group(parent->comm, some, t->now, &made);
      }
      MPI_Group_free(&some);
      MPI_Group_free(&all);
      break;
    }
    case 7: {
      int dims[2] = {0, 0};
      MPI_Dims_create(n, 2, dims);
      MPI_Cart_create(parent->comm, 2, dims, (int[]){1, 0}, (int)draw(state, 2), &cart);
      if (chance(state, 50)) {
        made = cart;
        break;
      }
      MPI_Cart_sub(cart, (int[]){1, 0}, &made);
      MPI_Comm_free(&cart);
      break;
    }
    case 8: {
      int index[RANKS_MAX], edges[2 * RANKS_MAX];
      for (int i = 0; i < n; ++i) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % n;
        edges[2 * i + 1] = (i + n - 1) % n;
      }
      MPI_Graph_create(parent->comm, n, index, edges, 0, &made);
      break;
    }
    default:
      if (n < 2) {
        MPI_Comm_dup(parent->comm, &made);
      } else {
        made = through_halves(t, parent, state);
      }
      break;
  }
  return made;
}

void make_communicator(struct thread* t, int from, uint64_t* state) {
  int place = 0;
  while (place < SLOTS && t->slots[place].used) ++place;
  if (place == SLOTS) return;
  struct slot* slot = &t->slots[place];
  *slot = (struct slot){.used = 1, .comm = MPI_COMM_NULL, .born = t->now};
  if (t->slots[from].comm == MPI_COMM_NULL) return;
  slot->comm = made_of(t, &t->slots[from], state);
  if (slot->comm == MPI_COMM_NULL) return;
  MPI_Comm_size(slot->comm, &slot->size);
  MPI_Comm_rank(slot->comm, &slot->rank);
  char name[MPI_MAX_OBJECT_NAME];
  snprintf(name, sizeof(name), "born at %d", t->now);
  MPI_Comm_set_name(slot->comm, name);
  MPI_Comm_set_attr(slot->comm, attribute_key, (void*)(intptr_t)t->now);
  count_in(t, "makes a communicator", NULL, (uint64_t)(slot->size * 1000 + slot->rank));
}

void free_communicator(struct thread* t, int which, uint64_t* state) {
  struct slot* slot = &t->slots[which];
  const int disconnects = chance(state, 30);
  slot->used = 0;
  if (slot->comm == MPI_COMM_NULL) return;
  /* Both libraries may fail if a collective that was started on it still runs. */
  complete(t, which, 1);
  if (disconnects) {
    MPI_Comm_disconnect(&slot->comm);
  } else {
    MPI_Comm_free(&slot->comm);
  }
}
