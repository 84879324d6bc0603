// SPDX-License-Identifier: Apache-2.0
//
// Defines the loops of alu_loops.h; one source file for each instruction set includes it. All code here is in an
// unnamed namespace and calls no inline function from elsewhere: the linker might otherwise keep a copy compiled for a
// newer processor as the one that all callers share.
#ifndef COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_INC_H_
#define COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_INC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "base/element_types.h"
#include "offload_emu/alu/alu_loops.h"

// The target may be one of the operands, element for element; this dependence does not prevent vectorization.
#if defined(__clang__)
#define COPSE_ALU_INDEPENDENT
#else
#define COPSE_ALU_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace copse::emu {
namespace {

template <typename T>
inline T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
inline void Store(T value, uint8_t* to) {
  std::memcpy(to, &value, sizeof(T));
}

template <typename To, typename From>
constexpr To BitCast(From from) {
  return __builtin_bit_cast(To, from);
}

// Applies Combination::Combine(a, b) to each element. Combination::Word is the type of its operands.
template <typename Combination>
void Each(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  using Word = typename Combination::Word;
  COPSE_ALU_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * sizeof(Word);
    Store<Word>(Combination::Combine(Load<Word>(a + at), Load<Word>(b + at)), out + at);
  }
}

// --- Integers ---

template <ElementOp op, typename T>
struct OfIntegers {
  using Word = T;
  // The arithmetic type is at least as wide as int and unsigned, so that it wraps instead of overflowing.
  using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

  static T Combine(T a, T b) {
    if constexpr (op == ElementOp::kSum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    if constexpr (op == ElementOp::kProd) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    if constexpr (op == ElementOp::kMin) return b < a ? b : a;
    if constexpr (op == ElementOp::kMax) return b > a ? b : a;
    if constexpr (op == ElementOp::kLand) return static_cast<T>(a != 0 && b != 0);
    if constexpr (op == ElementOp::kLor) return static_cast<T>((a | b) != 0);
    if constexpr (op == ElementOp::kLxor) return static_cast<T>((a != 0) != (b != 0));
    if constexpr (op == ElementOp::kBand) return static_cast<T>(a & b);
    if constexpr (op == ElementOp::kBor) return static_cast<T>(a | b);
    if constexpr (op == ElementOp::kBxor) return static_cast<T>(a ^ b);
  }
};

// --- Floating point ---

// A Format describes a floating-point format: Bits is the unsigned integer of its width; inf and one are the bits of
// infinity and of 1.
template <typename BitsType, BitsType inf, BitsType one>
struct Format {
  using Bits = BitsType;
  using Signed = std::make_signed_t<Bits>;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr Bits kMagnitude = static_cast<Bits>(~kSign);
  static constexpr Bits kInf = inf;
  static constexpr Bits kOne = one;
  static constexpr Bits kQuiet = static_cast<Bits>((inf & -inf) >> 1);  // of a NaN: the fraction's highest bit

  static bool IsNan(Bits x) { return static_cast<Bits>(x & kMagnitude) > kInf; }
  static bool IsTrue(Bits x) { return static_cast<Bits>(x & kMagnitude) != 0; }
  // Maps the bits to integers in the order of the numbers, -0 below 0.
  static Signed Order(Bits x) {
    const auto sign = static_cast<Signed>(static_cast<Signed>(x) >> (8 * sizeof(Bits) - 1));
    return static_cast<Signed>(static_cast<Signed>(x) ^ (sign & static_cast<Signed>(kMagnitude)));
  }
};
using FloatFormat = Format<uint32_t, 0x7f800000, 0x3f800000>;
using DoubleFormat = Format<uint64_t, 0x7ff0000000000000, 0x3ff0000000000000>;
using HalfFormat = Format<uint16_t, 0x7c00, 0x3c00>;
using Bfloat16Format = Format<uint16_t, 0x7f80, 0x3f80>;

// OfBits compares and combines logically without arithmetic, so all formats share this code, which works on the bits.
template <ElementOp op, typename F>
struct OfBits {
  using Word = typename F::Bits;

  static Word Combine(Word a, Word b) {
    if constexpr (op == ElementOp::kMin || op == ElementOp::kMax) {
      const bool beyond = op == ElementOp::kMin ? F::Order(b) < F::Order(a) : F::Order(b) > F::Order(a);
      const Word number = beyond ? b : a;
      const Word later = F::IsNan(b) ? b : number;
      return F::IsNan(a) ? a : later;
    } else {
      const bool x = F::IsTrue(a), y = F::IsTrue(b);
      if constexpr (op == ElementOp::kLand) return x && y ? F::kOne : Word{0};
      if constexpr (op == ElementOp::kLor) return x || y ? F::kOne : Word{0};
      if constexpr (op == ElementOp::kLxor) return x != y ? F::kOne : Word{0};
    }
  }
};

// OfNumbers adds and multiplies. Which NaN results from two depends on the order of operands in the instruction, which
// is the compiler's choice, so this code chooses the first explicitly, by its bits: clang holds one NaN to be as good
// as another, and quiets it where it shares the addition with the other case.
template <ElementOp op, typename T>
struct OfNumbers {
  using Word = T;
  using F = std::conditional_t<sizeof(T) == sizeof(float), FloatFormat, DoubleFormat>;

  static T Combine(T a, T b) {
    const auto first = BitCast<typename F::Bits>(a);
    const auto result = BitCast<typename F::Bits>(op == ElementOp::kSum ? a + b : a * b);
    return BitCast<T>(F::IsNan(first) ? first | F::kQuiet : result);
  }
};

struct Half : HalfFormat {
  // The conversion is exact. Subnormal numbers become normal by the multiplication.
  static float ToFloat(uint16_t half) {
    const uint32_t magnitude = static_cast<uint32_t>(half & kMagnitude) << 13;
    const uint32_t sign = static_cast<uint32_t>(half & kSign) << 16;
    const float scaled = BitCast<float>(magnitude) * BitCast<float>(uint32_t{(127 + 112) << 23});
    const uint32_t finite = BitCast<uint32_t>(scaled);
    const uint32_t special = magnitude | 0x7f800000;  // infinity and NaN have all exponent bits set
    return BitCast<float>((magnitude >= (uint32_t{kInf} << 13) ? special : finite) | sign);
  }
  // Rounds to nearest, ties to even; every NaN becomes the one quiet NaN.
  static uint16_t FromFloat(float value) {
    const uint32_t bits = BitCast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t sign = (bits >> 16) & kSign;
    // Below 2^-14 a half is a multiple of 2^-24: adding 0.5, whose ulp is that, rounds as wanted.
    const uint32_t half_bits = 126u << 23;
    const uint32_t small = BitCast<uint32_t>(BitCast<float>(magnitude) + BitCast<float>(half_bits)) - half_bits;
    const uint32_t odd = (magnitude >> 13) & 1;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + odd) >> 13;
    uint32_t result = magnitude < (113u << 23) ? small : normal;
    result = magnitude >= (143u << 23) ? uint32_t{kInf} : result;
    result |= sign;
    result = magnitude > 0x7f800000 ? 0x7e00 : result;
    return static_cast<uint16_t>(result);
  }
};

struct Bfloat16 : Bfloat16Format {
  static float ToFloat(uint16_t bits) { return BitCast<float>(static_cast<uint32_t>(bits) << 16); }
  static uint16_t FromFloat(float value) {
    const uint32_t bits = BitCast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
  }
};

// OfShortNumbers adds and multiplies 16-bit numbers in float, which is wide enough that rounding the result a second
// time gives what rounding once would.
template <ElementOp op, typename F>
struct OfShortNumbers {
  using Word = uint16_t;

  static uint16_t Combine(uint16_t a, uint16_t b) {
    const float x = F::ToFloat(a), y = F::ToFloat(b);
    return F::FromFloat(op == ElementOp::kSum ? x + y : x * y);
  }
};

#if defined(__F16C__)
// Computes Each<OfShortNumbers<op, Half>> with the conversion instructions of F16C.
template <ElementOp op>
void EachHalf(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  const __m256 nan = _mm256_set1_ps(BitCast<float>(uint32_t{0x7fc00000}));
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + 2 * i)));
    const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 2 * i)));
    __m256 result = op == ElementOp::kSum ? _mm256_add_ps(x, y) : _mm256_mul_ps(x, y);
    result = _mm256_blendv_ps(result, nan, _mm256_cmp_ps(result, result, _CMP_UNORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
  }
  Each<OfShortNumbers<op, Half>>(out + 2 * i, a + 2 * i, b + 2 * i, count - i);
}
#else
template <ElementOp op>
void EachHalf(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  Each<OfShortNumbers<op, Half>>(out, a, b, count);
}
#endif

// --- Complex numbers ---

// A sum of complex numbers is a sum of twice as many real numbers.
template <typename T>
void EachComplexSum(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  Each<OfNumbers<ElementOp::kSum, T>>(out, a, b, 2 * count);
}

// Computes (a + bi)(c + di) = (ac - bd) + (ad + bc)i. C's product would also turn some NaN results into infinities,
// which this loop does not.
template <typename T>
void EachComplexProduct(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  const T nan = static_cast<T>(__builtin_nan(""));
  COPSE_ALU_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const size_t real = 2 * i * sizeof(T), imaginary = real + sizeof(T);
    const T ar = Load<T>(a + real), ai = Load<T>(a + imaginary);
    const T br = Load<T>(b + real), bi = Load<T>(b + imaginary);
    const T r = ar * br - ai * bi;
    const T j = ar * bi + ai * br;
    Store<T>(r != r ? nan : r, out + real);
    Store<T>(j != j ? nan : j, out + imaginary);
  }
}

// --- Values with their indices ---

template <typename Value>
struct IndexedValue {
  Value value;
  int32_t index;
};
static_assert(sizeof(IndexedValue<float>) == 8 && sizeof(IndexedValue<int32_t>) == 8 &&
              sizeof(IndexedValue<int16_t>) == 8);
static_assert(sizeof(IndexedValue<double>) == 16 && sizeof(IndexedValue<int64_t>) == 16);

// Elements are copied whole, padding included, and without a branch, since the choice is unpredictable.
template <ElementOp op, typename Value>
void EachPair(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count) {
  constexpr size_t kBytes = sizeof(IndexedValue<Value>), kIndex = offsetof(IndexedValue<Value>, index);
  COPSE_ALU_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * kBytes;
    const Value x = Load<Value>(a + at), y = Load<Value>(b + at);
    const int beyond = op == ElementOp::kMinloc ? y < x : y > x;
    const int number_x = x == x, nan_x = x != x, nan_y = y != y;
    const int equal = static_cast<int>(x == y) | (nan_x & nan_y);
    const int lower = Load<int32_t>(b + at + kIndex) < Load<int32_t>(a + at + kIndex);
    const int take_b = (number_x & (nan_y | beyond)) | (equal & lower);
    const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(take_b);
    for (size_t word = 0; word < kBytes; word += 8) {
      const auto of_a = Load<uint64_t>(a + at + word), of_b = Load<uint64_t>(b + at + word);
      Store<uint64_t>(of_a ^ ((of_a ^ of_b) & mask), out + at + word);
    }
  }
}

// --- The table ---

template <ElementOp op, typename T>
constexpr AluLoop LoopOfIntegers() {
  return &Each<OfIntegers<op, T>>;
}

// T is the type that is added and multiplied without conversion; F is its Format.
template <ElementOp op, typename T, typename F>
constexpr AluLoop LoopOfNumbers() {
  if constexpr (op == ElementOp::kSum || op == ElementOp::kProd) return &Each<OfNumbers<op, T>>;
  if constexpr (op != ElementOp::kSum && op != ElementOp::kProd) return &Each<OfBits<op, F>>;
}

template <ElementOp op, ElementType type>
constexpr AluLoop LoopOf() {
  constexpr bool arithmetic = op == ElementOp::kSum || op == ElementOp::kProd;
  if constexpr (!IsDefined(op, type)) {
    return nullptr;
  } else if constexpr (type == ElementType::kInt8) {
    return LoopOfIntegers<op, int8_t>();
  } else if constexpr (type == ElementType::kInt16) {
    return LoopOfIntegers<op, int16_t>();
  } else if constexpr (type == ElementType::kInt32) {
    return LoopOfIntegers<op, int32_t>();
  } else if constexpr (type == ElementType::kInt64) {
    return LoopOfIntegers<op, int64_t>();
  } else if constexpr (type == ElementType::kUint8 || type == ElementType::kByte) {
    return LoopOfIntegers<op, uint8_t>();
  } else if constexpr (type == ElementType::kUint16) {
    return LoopOfIntegers<op, uint16_t>();
  } else if constexpr (type == ElementType::kUint32) {
    return LoopOfIntegers<op, uint32_t>();
  } else if constexpr (type == ElementType::kUint64) {
    return LoopOfIntegers<op, uint64_t>();
  } else if constexpr (type == ElementType::kFloat) {
    return LoopOfNumbers<op, float, FloatFormat>();
  } else if constexpr (type == ElementType::kDouble) {
    return LoopOfNumbers<op, double, DoubleFormat>();
  } else if constexpr (type == ElementType::kHalf) {
    if constexpr (arithmetic) return &EachHalf<op>;
    if constexpr (!arithmetic) return &Each<OfBits<op, HalfFormat>>;
  } else if constexpr (type == ElementType::kBfloat16) {
    if constexpr (arithmetic) return &Each<OfShortNumbers<op, Bfloat16>>;
    if constexpr (!arithmetic) return &Each<OfBits<op, Bfloat16Format>>;
  } else if constexpr (type == ElementType::kComplexFloat) {
    return op == ElementOp::kSum ? &EachComplexSum<float> : &EachComplexProduct<float>;
  } else if constexpr (type == ElementType::kComplexDouble) {
    return op == ElementOp::kSum ? &EachComplexSum<double> : &EachComplexProduct<double>;
  } else if constexpr (type == ElementType::kFloatInt) {
    return &EachPair<op, float>;
  } else if constexpr (type == ElementType::kDoubleInt) {
    return &EachPair<op, double>;
  } else if constexpr (type == ElementType::kLongInt) {
    return &EachPair<op, int64_t>;
  } else if constexpr (type == ElementType::k2Int) {
    return &EachPair<op, int32_t>;
  } else {
    static_assert(type == ElementType::kShortInt);
    return &EachPair<op, int16_t>;
  }
}

template <ElementOp op, int... types>
constexpr void FillRow(AluLoops* table, std::integer_sequence<int, types...>) {
  ((table->loops[static_cast<int>(op)][types] = LoopOf<op, static_cast<ElementType>(types)>()), ...);
}

template <int... ops>
constexpr AluLoops MakeLoops(std::integer_sequence<int, ops...>) {
  AluLoops table{};
  (FillRow<static_cast<ElementOp>(ops)>(&table, std::make_integer_sequence<int, kElementTypeCount>()), ...);
  return table;
}

constexpr AluLoops MakeLoops() { return MakeLoops(std::make_integer_sequence<int, kElementOpCount>()); }

}  // namespace
}  // namespace copse::emu

#undef COPSE_ALU_INDEPENDENT

#endif  // COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_INC_H_
