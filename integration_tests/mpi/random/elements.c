/* SPDX-License-Identifier: Apache-2.0 */
#include "integration_tests/mpi/random/elements.h"

#include <string.h>

#include "integration_tests/mpi/chance.h"
#include "integration_tests/mpi/elements.h"
#include "integration_tests/mpi/random/random_program.h"

/* --- Types and operations --- */

enum { TYPES_MAX = 24 };
struct type types[TYPES_MAX];
int type_count, reducible_count;
static MPI_Op op_product, op_compose; /* (1 + a)(1 + b) - 1; maps x -> a x + b of remainders, one after the other */

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const unsigned* a = in;
  unsigned* b = inout;
  for (int i = 0; i < *count; ++i) b[i] += a[i] + a[i] * b[i];
}
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const unsigned* first = in;
  unsigned* then = inout;
  for (int i = 0; i < 2 * *count; i += 2) {
    then[i + 1] = (then[i] * first[i + 1] + then[i + 1]) % 65521;
    then[i] = then[i] * first[i] % 65521;
  }
}

static void add_type(MPI_Datatype type, enum class class, int parts, MPI_Datatype part) {
  MPI_Aint lower, extent;
  int size;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  CHECK(lower == 0 && type_count < TYPES_MAX);
  types[type_count++] = (struct type){type, class, parts, part, (size_t)extent, size != extent};
}
static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

void make_types(void) {
  add_type(MPI_INT, INTEGERS, 1, MPI_INT);
  add_type(MPI_DOUBLE, REALS, 1, MPI_DOUBLE);
  add_type(MPI_FLOAT, REALS, 1, MPI_FLOAT);
  add_type(MPI_LONG, INTEGERS, 1, MPI_LONG);
  add_type(MPI_SHORT, INTEGERS, 1, MPI_SHORT);
  add_type(MPI_UNSIGNED_CHAR, INTEGERS, 1, MPI_UNSIGNED_CHAR);
  add_type(MPI_UINT64_T, INTEGERS, 1, MPI_UINT64_T);
  add_type(MPI_BYTE, BITS, 1, MPI_BYTE);
  add_type(MPI_C_BOOL, TRUTH, 1, MPI_C_BOOL);
  add_type(MPI_C_DOUBLE_COMPLEX, COMPLEX, 1, MPI_C_DOUBLE_COMPLEX);
  add_type(MPI_DOUBLE_INT, PAIRS, 1, MPI_DOUBLE_INT);
  add_type(MPI_2INT, PAIRS, 1, MPI_2INT);
  MPI_Datatype t, u;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &t);
  add_type(committed(t), MAPS, 2, MPI_UNSIGNED);
  reducible_count = type_count;
  MPI_Type_vector(3, 2, 5, MPI_INT, &t);
  add_type(committed(t), DATA, 6, MPI_INT);
  MPI_Type_create_resized(MPI_INT, 0, 12, &t);
  add_type(committed(t), DATA, 1, MPI_INT);
  MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){6, 0, 2}, MPI_DOUBLE, &t);
  add_type(committed(t), DATA, 6, MPI_DOUBLE);
  MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &t);
  add_type(committed(t), DATA, 0, t);
  MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_SHORT, &t);
  add_type(committed(t), DATA, 6, MPI_SHORT);
  MPI_Type_vector(2, 1, 2, MPI_LONG, &u);
  MPI_Type_contiguous(2, u, &t);
  MPI_Type_free(&u);
  add_type(committed(t), DATA, 4, MPI_LONG);
  MPI_Op_create(multiply, 1, &op_product);
  MPI_Op_create(compose, 0, &op_compose);
}

void free_types(void) {
  for (int i = reducible_count - 1; i < type_count; ++i) MPI_Type_free(&types[i].type);
  MPI_Op_free(&op_product);
  MPI_Op_free(&op_compose);
}

const struct type* draw_type(uint64_t* state, int count) {
  const struct type* type = &types[draw(state, (unsigned)count)];
  return type->has_gaps && threads > 1 && !GAPS_WORK_WITH_THREADS ? &types[0] : type;
}

MPI_Op draw_op(uint64_t* state, const struct type* type) {
  static const MPI_Op kOps[] = {MPI_SUM, MPI_MIN,  MPI_MAX,  MPI_PROD, MPI_LAND,
                                MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  switch (type->class) {
    case INTEGERS:
      return type->type == MPI_INT && chance(state, 15) ? op_product : kOps[draw(state, 10)];
    case REALS:
      return kOps[draw(state, 4)];
    case COMPLEX:
      return chance(state, 50) ? MPI_SUM : MPI_PROD;
    case BITS:
      return kOps[7 + draw(state, 3)];
    case TRUTH:
      return kOps[4 + draw(state, 3)];
    case PAIRS:
      return chance(state, 50) ? MPI_MINLOC : MPI_MAXLOC;
    default:
      return op_compose;
  }
}

/* --- Data --- */

struct pair {
  double value;
  int index;
};

void fill(void* buffer, size_t count, const struct type* type, uint64_t seed) {
  fill_elements(buffer, count * type->bytes, type->class == MAPS ? MPI_UNSIGNED : type->type, world_rank, seed);
}

/* What lies between the members of a pair is nobody's, and the sign of a zero depends on the order of factors. */
uint64_t hash_of(const void* buffer, size_t bytes, const struct type* type, uint64_t hash) {
  const unsigned char* at = buffer;
  for (size_t i = 0; i < bytes; ++i) {
    if (type->type == MPI_DOUBLE_INT && i % sizeof(struct pair) >= 12) continue;
    double number;
    if (type->class == COMPLEX && i % sizeof(number) == 0) {
      memcpy(&number, at + i, sizeof(number));
      if (number == 0) {
        hash = (hash ^ 1) * 0x100000001b3;
        i += sizeof(number) - 1;
        continue;
      }
    }
    hash = (hash ^ at[i]) * 0x100000001b3;
  }
  return hash;
}
