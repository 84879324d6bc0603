// SPDX-License-Identifier: Apache-2.0
//
// MPI's datatypes and operations as Copse sees them.
#ifndef COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_
#define COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_

#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// What the elements of a type are to a reduction. The canonical basic type is this and the size: MPI_INT, MPI_INTEGER
// and MPI_INT32_T are one.
enum class Elements : uint8_t {
  kOpaque,  // data, for which no reduction of Copse's is defined
  kSigned,
  kUnsigned,
  kFloating,
  kComplex,
  kLogical,
  kByte,
  kFloatInt,
  kDoubleInt,
  kLongInt,
  k2Int,
  kShortInt
};

// One datatype. `bytes` is what an element has to travel: its size without gaps. An element lies `extent` bytes after
// the one before. `plain`: elements lie in memory as they travel, so that nothing has to be packed.
struct Datatype {
  MPI_Datatype handle;
  uint64_t bytes = 0;
  MPI_Aint extent = 0;
  bool plain = false;
  Elements elements = Elements::kOpaque;
};

// Looks at the predefined types, once, after MPI_Init.
void LoadElementTypes();

// Describes a type, predefined or not. Returns false if it is none (MPI_DATATYPE_NULL, or MPI refuses it). Thread-safe.
bool Describe(MPI_Datatype handle, Datatype* type);

// The reduction that Copse has for an operation on a type; false if it has none. It depends only on what is equal on
// all ranks of a call: the operation and the canonical basic type.
bool ReductionFor(const Datatype& type, MPI_Op op, copse_datatype_t* copse_type, copse_op_t* copse_op);

// Returns whether the result depends on the order of operands, but for which of two comes first.
bool IsOrderSensitive(MPI_Op op, const Datatype& type);

// Returns whether it is one of MPI's own.
bool IsPredefined(MPI_Op op);

// Returns whether one of MPI's own is defined on a type, as far as it is known here: not on types of Fortran's pairs.
bool IsDefinedOn(MPI_Op op, const Datatype& type);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_
