// SPDX-License-Identifier: Apache-2.0
//
// Defines the types of elements, and the operations on them, that client, daemon and engine share.
#ifndef COPSE_BASE_ELEMENT_TYPES_H_
#define COPSE_BASE_ELEMENT_TYPES_H_

#include <cstdint>
#include <iterator>
#include <string_view>

namespace copse {

// The values are sent between processes (copse_op_t) and are part of packets' hashes: never renumber.
enum class ElementOp : uint8_t {
  kSum = 0,
  kProd,
  kMin,
  kMax,
  kLand,
  kLor,
  kLxor,
  kBand,
  kBor,
  kBxor,
  kMinloc,
  kMaxloc
};
inline constexpr int kElementOpCount = 12;
inline constexpr std::string_view kElementOpNames[] = {"sum",  "prod", "min", "max",  "land",   "lor",
                                                       "lxor", "band", "bor", "bxor", "minloc", "maxloc"};
static_assert(std::size(kElementOpNames) == kElementOpCount);

// The values are sent, too (copse_datatype_t). A pair is a value and its index, an int32, laid out like a C struct of
// the two, and like MPI's type of this name where long has 64 bits. There is no long double, alone or in a pair, since
// it differs by processor.
enum class ElementType : uint8_t {
  kInt8 = 0,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kHalf,      // IEEE 754 binary16
  kBfloat16,  // the upper half of a float
  kComplexFloat,
  kComplexDouble,
  kByte,
  kFloatInt,
  kDoubleInt,
  kLongInt,
  k2Int,
  kShortInt
};
inline constexpr int kElementTypeCount = 20;

enum class ElementKind : uint8_t { kInteger, kFloating, kComplex, kByte, kPair };

struct ElementTraits {
  std::string_view name;
  uint32_t bytes;  // with C's padding
  ElementKind kind;
};
inline constexpr ElementTraits kElementTypes[] = {
    {"int8", 1, ElementKind::kInteger},
    {"int16", 2, ElementKind::kInteger},
    {"int32", 4, ElementKind::kInteger},
    {"int64", 8, ElementKind::kInteger},
    {"uint8", 1, ElementKind::kInteger},
    {"uint16", 2, ElementKind::kInteger},
    {"uint32", 4, ElementKind::kInteger},
    {"uint64", 8, ElementKind::kInteger},
    {"float", 4, ElementKind::kFloating},
    {"double", 8, ElementKind::kFloating},
    {"half", 2, ElementKind::kFloating},
    {"bfloat16", 2, ElementKind::kFloating},
    {"complex_float", 8, ElementKind::kComplex},
    {"complex_double", 16, ElementKind::kComplex},
    {"byte", 1, ElementKind::kByte},
    {"float_int", 8, ElementKind::kPair},
    {"double_int", 16, ElementKind::kPair},
    {"long_int", 16, ElementKind::kPair},
    {"2int", 8, ElementKind::kPair},
    {"short_int", 8, ElementKind::kPair},
};
static_assert(std::size(kElementTypes) == kElementTypeCount);
inline constexpr uint32_t kElementBytesMax = 16;

// Return "unknown", or 0 bytes, for other numbers than the enumerators'.
constexpr std::string_view ElementOpName(ElementOp op) {
  return static_cast<int>(op) < kElementOpCount ? kElementOpNames[static_cast<int>(op)] : "unknown";
}
constexpr std::string_view ElementTypeName(ElementType type) {
  return static_cast<int>(type) < kElementTypeCount ? kElementTypes[static_cast<int>(type)].name : "unknown";
}
constexpr uint32_t ElementBytes(ElementType type) {
  return static_cast<int>(type) < kElementTypeCount ? kElementTypes[static_cast<int>(type)].bytes : 0;
}

// Returns whether an operation is defined on a type. This is MPI's table, extended by logical operations on
// floating-point types.
//
//              integer  floating  complex  byte  pair
//   sum, prod     x        x         x
//   min, max      x        x
//   logical       x        x
//   bitwise       x                          x
//   min-, maxloc                                   x
//
// Returns false for other numbers than the enumerators'.
constexpr bool IsDefined(ElementOp op, ElementType type) {
  if (static_cast<int>(op) >= kElementOpCount || static_cast<int>(type) >= kElementTypeCount) return false;
  const ElementKind kind = kElementTypes[static_cast<int>(type)].kind;
  const bool real = kind == ElementKind::kInteger || kind == ElementKind::kFloating;
  if (op <= ElementOp::kProd) return real || kind == ElementKind::kComplex;
  if (op <= ElementOp::kLxor) return real;
  if (op <= ElementOp::kBxor) return kind == ElementKind::kInteger || kind == ElementKind::kByte;
  return kind == ElementKind::kPair;
}

}  // namespace copse

#endif  // COPSE_BASE_ELEMENT_TYPES_H_
