/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of MPI's own types: small whole numbers, so that no order of operands makes a difference. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_ELEMENTS_H_
#define COPSE_INTEGRATION_TESTS_MPI_ELEMENTS_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "integration_tests/mpi/chance.h"

/* Numbers from 1 to 3, or truth values. Fillers have parameters in common, of which pairs alone use the index. */
#define FILLER(name, kind, first, count)                                                                          \
  static inline void fill_##name(void* buffer, size_t bytes, int index, uint64_t state) {                         \
    (void)index;                                                                                                  \
    for (size_t i = 0; i < bytes / sizeof(kind); ++i) ((kind*)buffer)[i] = (kind)((first) + draw(&state, count)); \
  }
FILLER(byte, unsigned char, 1, 3)
FILLER(short, short, 1, 3)
FILLER(int, int, 1, 3)
FILLER(long, int64_t, 1, 3)
FILLER(float, float, 1, 3)
FILLER(double, double, 1, 3)
FILLER(long_double, long double, 1, 3)
FILLER(bool, unsigned char, 0, 2)
FILLER(logical, int, 0, 2)
#define PAIR_FILLER(name, kind)                                                           \
  static inline void fill_##name(void* buffer, size_t bytes, int index, uint64_t state) { \
    struct pair {                                                                         \
      kind value;                                                                         \
      int index;                                                                          \
    }* pairs = buffer;                                                                    \
    for (size_t i = 0; i < bytes / sizeof(struct pair); ++i) {                            \
      pairs[i].value = (kind)(1 + draw(&state, 3));                                       \
      pairs[i].index = index;                                                             \
    }                                                                                     \
  }
PAIR_FILLER(float_int, float)
PAIR_FILLER(double_int, double)
PAIR_FILLER(long_int, long)
PAIR_FILLER(short_int, short)
PAIR_FILLER(int_int, int)

/* Fills whole elements; everything else, such as what lies between the members of a pair, is zero. Bytes of types that
 * are not in the table have numbers each. */
static inline void fill_elements(void* buffer, size_t bytes, MPI_Datatype type, int index, uint64_t seed) {
  const struct {
    MPI_Datatype type;
    void (*fill)(void* buffer, size_t bytes, int index, uint64_t state);
  } table[] = {{MPI_FLOAT, fill_float},
               {MPI_REAL, fill_float},
               {MPI_C_FLOAT_COMPLEX, fill_float},
               {MPI_COMPLEX, fill_float},
               {MPI_DOUBLE, fill_double},
               {MPI_DOUBLE_PRECISION, fill_double},
               {MPI_C_DOUBLE_COMPLEX, fill_double},
               {MPI_DOUBLE_COMPLEX, fill_double},
               {MPI_LONG_DOUBLE, fill_long_double},
               {MPI_SHORT, fill_short},
               {MPI_INT, fill_int},
               {MPI_INTEGER, fill_int},
               {MPI_2INT, fill_int_int},
               {MPI_2INTEGER, fill_int_int},
               {MPI_UNSIGNED, fill_int},
               {MPI_LONG, fill_long},
               {MPI_UINT64_T, fill_long},
               {MPI_AINT, fill_long},
               {MPI_C_BOOL, fill_bool},
               {MPI_LOGICAL, fill_logical},
               {MPI_FLOAT_INT, fill_float_int},
               {MPI_DOUBLE_INT, fill_double_int},
               {MPI_LONG_INT, fill_long_int},
               {MPI_SHORT_INT, fill_short_int}};
  memset(buffer, 0, bytes);
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    if (table[i].type == type) return table[i].fill(buffer, bytes, index, seed);
  }
  fill_byte(buffer, bytes, index, seed);
}

#endif /* COPSE_INTEGRATION_TESTS_MPI_ELEMENTS_H_ */
