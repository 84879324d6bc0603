// SPDX-License-Identifier: Apache-2.0
//
// Computes the results that operations on elements must give, one element at a time and in the simplest way. Tests and
// copse-perftest check results against it; the daemon's arithmetic shares no code with it. offload_emu/alu/alu.h has
// the rules.
#ifndef COPSE_BASE_ELEMENT_REFERENCE_H_
#define COPSE_BASE_ELEMENT_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/element_types.h"

namespace copse {

// A ShortFloat is a floating-point number of 16 bits by IEEE's rules: the least exponent is for subnormal numbers, the
// greatest for infinity and NaN.
template <int kExponentBits, int kFractionBits>
struct ShortFloat {
  static_assert(1 + kExponentBits + kFractionBits == 16);
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint16_t kInfinity = ((1 << kExponentBits) - 1) << kFractionBits;

  uint16_t bits = 0;

  ShortFloat() = default;
  // Rounds to nearest, ties to even. Any NaN becomes the quiet NaN without a sign.
  explicit ShortFloat(double value) {
    if (std::isnan(value)) {
      bits = kInfinity | (1 << (kFractionBits - 1));
      return;
    }
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    int exponent = 0;
    std::frexp(magnitude, &exponent);  // magnitude is in [2^(exponent - 1), 2^exponent)
    const int biased = magnitude == 0 ? 1 : std::max(exponent - 1 + kBias, 1);
    if (std::isinf(value) || biased > 2 * kBias) {
      bits = sign | kInfinity;
      return;
    }
    // `units` counts in units of the last place; from 2^kFractionBits on, they carry into the exponent.
    const double units = std::nearbyint(std::ldexp(magnitude, kFractionBits + kBias - biased));
    bits = static_cast<uint16_t>(sign | (((biased - 1) << kFractionBits) + static_cast<int>(units)));
  }

  explicit operator double() const {
    const int exponent = (bits & 0x7fff) >> kFractionBits;
    const int fraction = bits & ((1 << kFractionBits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 2 * kBias + 1) return fraction != 0 ? std::nan("") : sign * INFINITY;
    const int units = exponent == 0 ? fraction : fraction + (1 << kFractionBits);
    return sign * std::ldexp(units, std::max(exponent, 1) - kBias - kFractionBits);
  }
};
using Half = ShortFloat<5, 10>;
using Bfloat16 = ShortFloat<8, 7>;

// A ValueAndIndex is one of MPI's pairs of a value and an index.
template <typename Value>
struct ValueAndIndex {
  Value value = 0;
  int32_t index = 0;
};

template <typename T>
inline constexpr bool kIsShortFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <typename T>
inline constexpr bool kIsPair = false;
template <typename Value>
inline constexpr bool kIsPair<ValueAndIndex<Value>> = true;

// Returns body(T{}), where T is the C++ type of `type`; uint8_t for other numbers than the enumerators'.
template <typename Body>
auto WithElementType(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::kInt8:
      return body(int8_t{});
    case ElementType::kInt16:
      return body(int16_t{});
    case ElementType::kInt32:
      return body(int32_t{});
    case ElementType::kInt64:
      return body(int64_t{});
    case ElementType::kUint8:
    case ElementType::kByte:
      return body(uint8_t{});
    case ElementType::kUint16:
      return body(uint16_t{});
    case ElementType::kUint32:
      return body(uint32_t{});
    case ElementType::kUint64:
      return body(uint64_t{});
    case ElementType::kFloat:
      return body(float{});
    case ElementType::kDouble:
      return body(double{});
    case ElementType::kHalf:
      return body(Half{});
    case ElementType::kBfloat16:
      return body(Bfloat16{});
    case ElementType::kComplexFloat:
      return body(std::complex<float>{});
    case ElementType::kComplexDouble:
      return body(std::complex<double>{});
    case ElementType::kFloatInt:
      return body(ValueAndIndex<float>{});
    case ElementType::kDoubleInt:
      return body(ValueAndIndex<double>{});
    case ElementType::kLongInt:
      return body(ValueAndIndex<int64_t>{});
    case ElementType::k2Int:
      return body(ValueAndIndex<int32_t>{});
    case ElementType::kShortInt:
      return body(ValueAndIndex<int16_t>{});
  }
  return body(uint8_t{});
}

// PutElement and GetElement access memory at any alignment. Padding is written as zeros.
template <typename T>
void PutElement(const T& element, void* to) {
  if constexpr (kIsPair<T>) {
    std::memset(to, 0, sizeof(T));
    std::memcpy(to, &element.value, sizeof(element.value));
    std::memcpy(static_cast<uint8_t*>(to) + offsetof(T, index), &element.index, sizeof(element.index));
  } else {
    std::memcpy(to, &element, sizeof(T));
  }
}

template <typename T>
T GetElement(const void* from) {
  T element;
  std::memcpy(static_cast<void*>(&element), from, sizeof(T));
  return element;
}

// Returns a op b. Requires that IsDefined(op, type) for the type of the elements.
template <typename T>
T CombineElements(ElementOp op, T a, T b);

namespace element_reference {

template <typename T>
T OfIntegers(ElementOp op, T a, T b) {
  // Sums and products are unsigned, in which overflow is defined, and are truncated to the type at the end.
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case ElementOp::kSum:
      return static_cast<T>(x + y);
    case ElementOp::kProd:
      return static_cast<T>(x * y);
    case ElementOp::kMin:
      return b < a ? b : a;
    case ElementOp::kMax:
      return a < b ? b : a;
    case ElementOp::kLand:
      return a != 0 && b != 0;
    case ElementOp::kLor:
      return a != 0 || b != 0;
    case ElementOp::kLxor:
      return (a != 0) != (b != 0);
    case ElementOp::kBand:
      return static_cast<T>(x & y);
    case ElementOp::kBor:
      return static_cast<T>(x | y);
    case ElementOp::kBxor:
      return static_cast<T>(x ^ y);
    default:
      return a;
  }
}

// Returns a NaN with the bit set that makes it a quiet one.
template <typename T>
T Quiet(T nan) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;
  auto bits = GetElement<Bits>(&nan);
  bits |= Bits{1} << (std::numeric_limits<T>::digits - 2);
  return GetElement<T>(&bits);
}

template <typename T>
T OfFloating(ElementOp op, T a, T b) {
  switch (op) {
    case ElementOp::kSum:
      return std::isnan(a) ? Quiet(a) : a + b;
    case ElementOp::kProd:
      return std::isnan(a) ? Quiet(a) : a * b;
    case ElementOp::kMin:
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) ? a : b;
      return b < a ? b : a;
    case ElementOp::kMax:
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) ? b : a;
      return a < b ? b : a;
    case ElementOp::kLand:
      return a != 0 && b != 0;
    case ElementOp::kLor:
      return a != 0 || b != 0;
    case ElementOp::kLxor:
      return (a != 0) != (b != 0);
    default:
      return a;
  }
}

template <typename T>
T OfShortFloats(ElementOp op, T a, T b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  // Minimum and maximum return one of the operands, with its bits unchanged.
  if (op == ElementOp::kMin || op == ElementOp::kMax) {
    if (std::isnan(x)) return a;
    if (std::isnan(y)) return b;
    const bool less = y < x || (x == y && std::signbit(y));
    return less == (op == ElementOp::kMin) ? b : a;
  }
  return T(OfFloating(op, x, y));
}

template <typename T>
std::complex<T> OfComplex(ElementOp op, std::complex<T> a, std::complex<T> b) {
  if (op == ElementOp::kSum) {
    return {OfFloating(op, a.real(), b.real()), OfFloating(op, a.imag(), b.imag())};
  }
  const T real = a.real() * b.real() - a.imag() * b.imag();
  const T imaginary = a.real() * b.imag() + a.imag() * b.real();
  const T nan = static_cast<T>(std::nan(""));
  return {std::isnan(real) ? nan : real, std::isnan(imaginary) ? nan : imaginary};
}

template <typename Value>
ValueAndIndex<Value> OfPairs(ElementOp op, ValueAndIndex<Value> a, ValueAndIndex<Value> b) {
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  if (nan_a != nan_b) return nan_a ? a : b;
  if ((nan_a && nan_b) || a.value == b.value) return b.index < a.index ? b : a;
  return (b.value < a.value) == (op == ElementOp::kMinloc) ? b : a;
}

}  // namespace element_reference

template <typename T>
T CombineElements(ElementOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return element_reference::OfIntegers(op, a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return element_reference::OfFloating(op, a, b);
  } else if constexpr (kIsShortFloat<T>) {
    return element_reference::OfShortFloats(op, a, b);
  } else if constexpr (kIsComplex<T>) {
    return element_reference::OfComplex(op, a, b);
  } else {
    return element_reference::OfPairs(op, a, b);
  }
}

}  // namespace copse

#endif  // COPSE_BASE_ELEMENT_REFERENCE_H_
