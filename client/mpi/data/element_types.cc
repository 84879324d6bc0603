// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/element_types.h"

#include <unordered_map>
#include <vector>

namespace copse::mpi {
namespace {

// PredefinedTypes lists the predefined types of one class. Handles of types that an MPI lacks are null.
struct PredefinedTypes {
  Elements elements;
  std::vector<MPI_Datatype> handles;
};
std::vector<PredefinedTypes> AllPredefinedTypes() {
  return {
      {Elements::kOpaque,
       {MPI_CHAR, MPI_WCHAR, MPI_PACKED, MPI_LONG_DOUBLE_INT, MPI_CHARACTER, MPI_2REAL, MPI_2DOUBLE_PRECISION}},
      {Elements::kByte, {MPI_BYTE}},
      {Elements::kSigned,
       {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
        MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}},
      {Elements::kUnsigned,
       {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
        MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}},
      {Elements::kFloating,
       {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_REAL16, MPI_DOUBLE_PRECISION}},
      {Elements::kLogical, {MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL}},
      {Elements::kComplex,
       {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32,
        MPI_DOUBLE_COMPLEX}},
      {Elements::kFloatInt, {MPI_FLOAT_INT}},
      {Elements::kDoubleInt, {MPI_DOUBLE_INT}},
      {Elements::kLongInt, {MPI_LONG_INT}},
      {Elements::k2Int, {MPI_2INT, MPI_2INTEGER}},
      {Elements::kShortInt, {MPI_SHORT_INT}}};
}

// Both maps are filled in by LoadElementTypes and then only read.
std::unordered_map<uintptr_t, Datatype>* predefined_types = nullptr;
std::unordered_map<uintptr_t, copse_op_t>* operations = nullptr;

// The program's derived types keep their descriptions in the attribute with this key. MPI deletes the attribute with
// the type.
int description_keyval = MPI_KEYVAL_INVALID;

int OnTypeCopy(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int OnTypeDelete(MPI_Datatype, int, void* description, void*) {
  delete static_cast<Datatype*>(description);
  return MPI_SUCCESS;
}

// Frees a handle of MPI_Type_get_contents, unless the type is predefined, as Fortran's parameterized types are, too.
void FreeContent(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  Mpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_INTEGER && combiner != MPI_COMBINER_F90_REAL &&
      combiner != MPI_COMBINER_F90_COMPLEX) {
    Mpi().Type_free(&type);
  }
}

// Returns whether packed elements have the same layout as in memory: without gaps, beginning at the address, and in
// order. Only those derived types are examined that are duplicates or contiguous types of such types; others are
// packed.
bool IsPlain(const Datatype& type) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  if (Mpi().Type_get_extent(type.handle, &lower, &extent) != MPI_SUCCESS ||
      Mpi().Type_get_true_extent(type.handle, &true_lower, &true_extent) != MPI_SUCCESS) {
    return false;
  }
  const auto bytes = static_cast<MPI_Aint>(type.bytes);
  if (lower != 0 || true_lower != 0 || extent != bytes || (true_extent != bytes && bytes != 0)) return false;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (Mpi().Type_get_envelope(type.handle, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  if ((combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) || types != 1 || integers > 1) return false;
  int count = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Aint address = 0;
  if (Mpi().Type_get_contents(type.handle, integers, 0, 1, &count, &address, &inner) != MPI_SUCCESS) return false;
  Datatype inner_type;
  const bool plain = Describe(inner, &inner_type) && inner_type.plain;
  FreeContent(inner);
  return plain;
}

bool Measure(MPI_Datatype handle, Datatype* type) {
  MPI_Count bytes = 0;
  MPI_Aint lower = 0;
  type->handle = handle;
  if (Mpi().Type_size_x(handle, &bytes) != MPI_SUCCESS || bytes < 0 ||
      Mpi().Type_get_extent(handle, &lower, &type->extent) != MPI_SUCCESS) {
    return false;
  }
  type->bytes = static_cast<uint64_t>(bytes);
  type->plain = IsPlain(*type);
  return true;
}

bool CanonicalType(const Datatype& type, copse_datatype_t* result) {
  const auto by_size = [&](std::initializer_list<copse_datatype_t> types) {  // sizes 1, 2, 4 and 8 bytes
    uint64_t bytes = 1;
    for (const copse_datatype_t candidate : types) {
      if (type.bytes == bytes) {
        *result = candidate;
        return true;
      }
      bytes *= 2;
    }
    return false;
  };
  const auto one = [&](uint64_t bytes, MPI_Aint extent, copse_datatype_t candidate) {
    *result = candidate;
    return type.bytes == bytes && type.extent == extent;
  };
  switch (type.elements) {
    case Elements::kSigned:
      return by_size({COPSE_DT_INT8, COPSE_DT_INT16, COPSE_DT_INT32, COPSE_DT_INT64});
    case Elements::kUnsigned:
    case Elements::kLogical:
      return by_size({COPSE_DT_UINT8, COPSE_DT_UINT16, COPSE_DT_UINT32, COPSE_DT_UINT64});
    case Elements::kFloating:
      return one(4, 4, COPSE_DT_FLOAT) || one(8, 8, COPSE_DT_DOUBLE);
    case Elements::kComplex:
      return one(8, 8, COPSE_DT_COMPLEX_FLOAT) || one(16, 16, COPSE_DT_COMPLEX_DOUBLE);
    case Elements::kByte:
      return one(1, 1, COPSE_DT_BYTE);
    // The extent includes C's padding.
    case Elements::kFloatInt:
      return one(8, 8, COPSE_DT_FLOAT_INT);
    case Elements::kDoubleInt:
      return one(12, 16, COPSE_DT_DOUBLE_INT);
    case Elements::kLongInt:
      return one(12, 16, COPSE_DT_LONG_INT);
    case Elements::k2Int:
      return one(8, 8, COPSE_DT_2INT);
    case Elements::kShortInt:
      return one(6, 8, COPSE_DT_SHORT_INT);
    case Elements::kOpaque:
      break;
  }
  return false;
}

// Returns whether MPI defines the operation on the class of types.
bool IsFor(copse_op_t op, Elements elements) {
  const bool integer = elements == Elements::kSigned || elements == Elements::kUnsigned;
  switch (op) {
    case COPSE_OP_SUM:
    case COPSE_OP_PROD:
      return integer || elements == Elements::kFloating || elements == Elements::kComplex;
    case COPSE_OP_MIN:
    case COPSE_OP_MAX:
      return integer || elements == Elements::kFloating;
    case COPSE_OP_LAND:
    case COPSE_OP_LOR:
    case COPSE_OP_LXOR:
      return integer || elements == Elements::kLogical;
    case COPSE_OP_BAND:
    case COPSE_OP_BOR:
    case COPSE_OP_BXOR:
      return integer || elements == Elements::kByte;
    case COPSE_OP_MINLOC:
    case COPSE_OP_MAXLOC:
      return elements >= Elements::kFloatInt;
  }
  return false;
}

}  // namespace

void LoadElementTypes() {
  Mpi().Type_create_keyval(OnTypeCopy, OnTypeDelete, &description_keyval, nullptr);
  predefined_types = new std::unordered_map<uintptr_t, Datatype>();
  for (const auto& [elements, handles] : AllPredefinedTypes()) {
    for (const MPI_Datatype handle : handles) {
      if (Key(handle) == 0 || handle == MPI_DATATYPE_NULL) continue;
      Datatype type;
      if (!Measure(handle, &type)) continue;
      type.elements = elements;
      predefined_types->emplace(Key(handle), type);
    }
  }
  operations = new std::unordered_map<uintptr_t, copse_op_t>{
      {Key(MPI_SUM), COPSE_OP_SUM},   {Key(MPI_PROD), COPSE_OP_PROD},     {Key(MPI_MIN), COPSE_OP_MIN},
      {Key(MPI_MAX), COPSE_OP_MAX},   {Key(MPI_LAND), COPSE_OP_LAND},     {Key(MPI_LOR), COPSE_OP_LOR},
      {Key(MPI_LXOR), COPSE_OP_LXOR}, {Key(MPI_BAND), COPSE_OP_BAND},     {Key(MPI_BOR), COPSE_OP_BOR},
      {Key(MPI_BXOR), COPSE_OP_BXOR}, {Key(MPI_MINLOC), COPSE_OP_MINLOC}, {Key(MPI_MAXLOC), COPSE_OP_MAXLOC}};
}

bool Describe(MPI_Datatype handle, Datatype* type) {
  if (handle == MPI_DATATYPE_NULL) return false;
  if (const auto found = predefined_types->find(Key(handle)); found != predefined_types->end()) {
    *type = found->second;
    return true;
  }
  void* description = nullptr;
  int found = 0;
  if (Mpi().Type_get_attr(handle, description_keyval, &description, &found) != MPI_SUCCESS) return false;
  if (found != 0) {
    *type = *static_cast<const Datatype*>(description);
    return true;
  }
  if (!Measure(handle, type)) return false;
  auto* kept = new Datatype(*type);
  if (Mpi().Type_set_attr(handle, description_keyval, kept) != MPI_SUCCESS) delete kept;
  return true;
}

bool ReductionFor(const Datatype& type, MPI_Op op, copse_datatype_t* copse_type, copse_op_t* copse_op) {
  if (!IsDefinedOn(op, type)) return false;
  *copse_op = operations->at(Key(op));
  return CanonicalType(type, copse_type);
}

bool IsOrderSensitive(MPI_Op op, const Datatype& type) {
  const auto found = operations->find(Key(op));
  if (found == operations->end()) return true;
  const bool exact = type.elements == Elements::kSigned || type.elements == Elements::kUnsigned;
  return !exact && (found->second == COPSE_OP_SUM || found->second == COPSE_OP_PROD);
}

bool IsPredefined(MPI_Op op) { return op == MPI_REPLACE || op == MPI_NO_OP || operations->count(Key(op)) != 0; }

bool IsDefinedOn(MPI_Op op, const Datatype& type) {
  const auto found = operations->find(Key(op));
  return found != operations->end() && IsFor(found->second, type.elements);
}

}  // namespace copse::mpi
