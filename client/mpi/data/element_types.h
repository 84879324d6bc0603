// SPDX-License-Identifier: Apache-2.0
//
// Describes MPI's datatypes and operations for Copse.
#ifndef COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_
#define COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_

#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Elements is the class of a type's elements for reductions. Class and size are the canonical basic type, which is
// equal for MPI_INT, MPI_INTEGER and MPI_INT32_T, for example.
enum class Elements : uint8_t {
  kOpaque,  // no reduction of Copse is defined on the type
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

// A Datatype describes one MPI datatype. `bytes` is the size of a packed element; in memory, elements are `extent`
// bytes apart. If `plain`, elements are contiguous and in packed order, so nothing has to be packed.
struct Datatype {
  MPI_Datatype handle;
  uint64_t bytes = 0;
  MPI_Aint extent = 0;
  bool plain = false;
  Elements elements = Elements::kOpaque;
};

// Describes the predefined types. It is called once, after MPI_Init and before all functions below.
void LoadElementTypes();

// Describes a type, predefined or not. Returns false for MPI_DATATYPE_NULL and types that MPI refuses. Thread-safe if
// MPI is; the description of a derived type is kept as its attribute.
bool Describe(MPI_Datatype handle, Datatype* type);

// Sets Copse's type and operation for an MPI operation on a type. Returns false if Copse has none. The result depends
// only on the operation and the canonical basic type, which are equal on all ranks of a call.
bool ReductionFor(const Datatype& type, MPI_Op op, copse_datatype_t* copse_type, copse_op_t* copse_op);

// Returns whether a result with three or more operands may depend on their order, as sums of floating point do. Returns
// true for operations of the program.
bool IsOrderSensitive(MPI_Op op, const Datatype& type);

// Returns whether an operation is predefined by MPI.
bool IsPredefined(MPI_Op op);

// Returns whether a predefined operation is known here to be defined on a type. Returns false for operations of the
// program, derived types and Fortran's pairs of reals.
bool IsDefinedOn(MPI_Op op, const Datatype& type);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_ELEMENT_TYPES_H_
