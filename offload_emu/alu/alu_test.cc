// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu/alu.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/element_reference.h"
#include "base/element_types.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "offload_emu/alu/alu_loops.h"

namespace copse::emu {
namespace {

std::string NameOf(ElementOp op, ElementType type) {
  return std::string(ElementOpName(op)) + " " + std::string(ElementTypeName(type));
}

// Calls body(op, type) for every pair.
template <typename Body>
void ForEachPair(const Body& body) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    for (int o = 0; o < kElementOpCount; ++o) body(static_cast<ElementOp>(o), static_cast<ElementType>(t));
  }
}

template <typename Body>
void ForEachDefined(const Body& body) {
  ForEachPair([&](ElementOp op, ElementType type) {
    if (IsDefined(op, type)) body(op, type);
  });
}

// Returns random bits, and often special ones: for floating point zeros, infinities, NaNs of both kinds, subnormal
// and the greatest numbers; for integers the least and the greatest.
template <typename T>
T DrawNumber(Prng* prng) {
  const uint64_t random = prng->Next();
  if constexpr (std::is_integral_v<T>) {
    const T special[] = {0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), static_cast<T>(-1)};
    return random % 3 == 0 ? special[prng->Below(std::size(special))] : static_cast<T>(prng->Next());
  } else {
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr int kFraction = std::is_same_v<T, Half> ? 10 : std::is_same_v<T, Bfloat16> ? 7 : sizeof(T) == 4 ? 23 : 52;
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
    constexpr Bits kQuiet = static_cast<Bits>(Bits{1} << (kFraction - 1));
    constexpr auto kInf = static_cast<Bits>(static_cast<Bits>(kSign - 1) >> kFraction << kFraction);
    const Bits special[] = {0,
                            1,  // the least subnormal number
                            static_cast<Bits>((Bits{1} << kFraction) - 1),
                            kInf,
                            static_cast<Bits>(kInf - 1),           // the greatest number
                            static_cast<Bits>(kInf | kQuiet),      // NaN
                            static_cast<Bits>(kInf | kQuiet | 5),  // with a payload
                            static_cast<Bits>(kInf | 3)};          // signaling
    Bits bits = special[prng->Below(std::size(special))];
    if (random % 2 == 0) bits ^= kSign;
    // The result is random bits or, so that sums are not lost in rounding, a number near 1.
    if (random % 3 == 0) bits = static_cast<Bits>(prng->Next());
    if (random % 3 == 1) return T((prng->Unit() - 0.5) * 16);
    return GetElement<T>(&bits);
  }
}

// Elements are compared as bytes, since padding counts, too.
template <typename T>
std::vector<uint8_t> DrawElements(Prng* prng, size_t count) {
  std::vector<uint8_t> bytes(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    T element{};
    if constexpr (kIsPair<T>) {
      for (size_t k = 0; k < sizeof(T); ++k) bytes[i * sizeof(T) + k] = static_cast<uint8_t>(prng->Next());
      element = {DrawNumber<decltype(T::value)>(prng), static_cast<int32_t>(prng->Below(4))};
      if (prng->Chance(0.5)) element.value = static_cast<decltype(T::value)>(prng->Below(2));  // ties
      std::memcpy(&bytes[i * sizeof(T)], &element.value, sizeof(element.value));
      std::memcpy(&bytes[i * sizeof(T)] + offsetof(T, index), &element.index, sizeof(element.index));
    } else {
      if constexpr (kIsComplex<T>) {
        element = {DrawNumber<typename T::value_type>(prng), DrawNumber<typename T::value_type>(prng)};
      } else {
        element = DrawNumber<T>(prng);
      }
      PutElement(element, &bytes[i * sizeof(T)]);
    }
  }
  return bytes;
}

std::vector<uint8_t> Draw(ElementType type, Prng* prng, size_t count) {
  return WithElementType(type, [&](auto zero) { return DrawElements<decltype(zero)>(prng, count); });
}

template <typename T>
void CombineInto(ElementOp op, uint8_t* a, const uint8_t* b) {
  const T result = CombineElements<T>(op, GetElement<T>(a), GetElement<T>(b));
  if constexpr (kIsPair<T>) {
    // The result is one of the two, with its padding.
    const T of_a = GetElement<T>(a);
    const bool is_a = std::memcmp(&result.value, &of_a.value, sizeof(of_a.value)) == 0 && result.index == of_a.index;
    if (!is_a) std::memcpy(a, b, sizeof(T));
  } else {
    PutElement(result, a);
  }
}

// Returns the result that AluReduce must give, byte for byte.
std::vector<uint8_t> Expected(ElementOp op, ElementType type, const std::vector<std::vector<uint8_t>>& operands) {
  std::vector<uint8_t> result = operands[0];
  WithElementType(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t at = 0; at < result.size(); at += sizeof(T)) {
      for (size_t k = 1; k < operands.size(); ++k) CombineInto<T>(op, &result[at], &operands[k][at]);
      const bool logical = op == ElementOp::kLand || op == ElementOp::kLor || op == ElementOp::kLxor;
      // Combining a value with itself yields its truth value.
      if (operands.size() == 1 && logical) CombineInto<T>(ElementOp::kLor, &result[at], &operands[0][at]);
    }
  });
  return result;
}

std::vector<const AluLoops*> AllLoops() {
  std::vector<const AluLoops*> all = {&kBaselineAluLoops};
  if (FastAluLoops() != nullptr) all.push_back(FastAluLoops());
  return all;
}

TEST(AluLoopsTest, EveryLengthAndAlignmentGivesTheReferencesBits) {
  Prng prng(1);
  for (const AluLoops* loops : AllLoops()) {
    ForEachDefined([&](ElementOp op, ElementType type) {
      const size_t element = ElementBytes(type);
      for (size_t count = 0; count <= 70; ++count) {
        const std::vector<uint8_t> a = Draw(type, &prng, count), b = Draw(type, &prng, count);
        const std::vector<uint8_t> expected = Expected(op, type, {a, b});
        // Covers each alignment of the three, and all aligned.
        const size_t shift = count % 2 == 0 ? 0 : 1 + prng.Below(15);
        alignas(64) uint8_t from_a[71 * 16], from_b[71 * 16], to[71 * 16 + 1];
        std::copy(a.begin(), a.end(), from_a + shift);
        std::copy(b.begin(), b.end(), from_b + shift / 2);
        std::fill(std::begin(to), std::end(to), uint8_t{0xee});
        loops->Of(op, type)(to + shift / 3, from_a + shift, from_b + shift / 2, count);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), to + shift / 3)) << NameOf(op, type) << " " << count;
        ASSERT_EQ(to[shift / 3 + count * element], 0xee) << NameOf(op, type) << " " << count << ": writes beyond";
      }
    });
  }
}

TEST(AluLoopsTest, TablesHaveALoopForAllThatIsDefinedAndNothingElse) {
  for (const AluLoops* loops : AllLoops()) {
    ForEachPair([&](ElementOp op, ElementType type) {
      EXPECT_EQ(loops->Of(op, type) != nullptr, IsDefined(op, type)) << NameOf(op, type);
    });
  }
}

// Compares the processor's conversions with ours for every 16-bit number and some others.
template <typename T>
void TestShortFloats(ElementType type) {
  constexpr size_t kCount = 65536;
  std::vector<uint16_t> a(kCount), b(kCount), result(kCount), expected(kCount);
  for (size_t i = 0; i < kCount; ++i) a[i] = static_cast<uint16_t>(i);
  Prng prng(2);
  for (int round = 0; round < 12; ++round) {
    for (size_t i = 0; i < kCount; ++i) b[i] = DrawNumber<T>(&prng).bits;
    for (const ElementOp op : {ElementOp::kSum, ElementOp::kProd, ElementOp::kMin, ElementOp::kMax}) {
      for (size_t i = 0; i < kCount; ++i) {
        expected[i] = CombineElements(op, GetElement<T>(&a[i]), GetElement<T>(&b[i])).bits;
      }
      for (const AluLoops* loops : AllLoops()) {
        loops->Of(op, type)(reinterpret_cast<uint8_t*>(result.data()), reinterpret_cast<const uint8_t*>(a.data()),
                            reinterpret_cast<const uint8_t*>(b.data()), kCount);
        for (size_t i = 0; i < kCount; ++i) {
          ASSERT_EQ(result[i], expected[i]) << NameOf(op, type) << " of " << a[i] << " and " << b[i];
        }
      }
    }
  }
}

TEST(AluLoopsTest, HalfIsRoundedOnceForEveryNumber) { TestShortFloats<Half>(ElementType::kHalf); }
TEST(AluLoopsTest, Bfloat16IsRoundedOnceForEveryNumber) { TestShortFloats<Bfloat16>(ElementType::kBfloat16); }

// Covers short and longer than a block, unaligned, and in place of each operand.
TEST(AluReduceTest, OneToSevenOperandsGiveTheReferencesBits) {
  Prng prng(3);
  ForEachDefined([&](ElementOp op, ElementType type) {
    const size_t element = ElementBytes(type);
    for (size_t operand_count = 1; operand_count <= kAluOperandsMax; ++operand_count) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, 4096 / element + 5}) {
        std::vector<std::vector<uint8_t>> values, memory;
        std::vector<const uint8_t*> operands;
        for (size_t k = 0; k < operand_count; ++k) {
          values.push_back(Draw(type, &prng, count));
          const size_t shift = 1 + k % 3;
          memory.emplace_back(count * element + shift);
          std::copy(values[k].begin(), values[k].end(), memory[k].begin() + shift);
        }
        for (size_t k = 0; k < operand_count; ++k) operands.push_back(memory[k].data() + 1 + k % 3);
        const std::vector<uint8_t> expected = Expected(op, type, values);
        std::vector<uint8_t> target(count * element + 1);
        ASSERT_TRUE(AluReduce(op, type, operands, count, target.data() + 1).ok());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), target.begin() + 1))
            << NameOf(op, type) << " of " << operand_count << " operands, " << count << " elements";
        for (size_t k = 0; k < operand_count; ++k) {
          const std::vector<uint8_t> before = memory[k];
          ASSERT_TRUE(AluReduce(op, type, operands, count, const_cast<uint8_t*>(operands[k])).ok());
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), operands[k]))
              << NameOf(op, type) << " of " << operand_count << " in place of " << k;
          std::copy(before.begin(), before.end(), memory[k].begin());
        }
      }
    }
  });
}

template <typename T>
T ReduceValues(ElementOp op, ElementType type, std::vector<T> values) {
  std::vector<const uint8_t*> operands;
  for (const T& value : values) operands.push_back(reinterpret_cast<const uint8_t*>(&value));
  T result{};
  EXPECT_TRUE(AluReduce(op, type, operands, 1, reinterpret_cast<uint8_t*>(&result)).ok());
  return result;
}

// All trees must give the same result. NaNs are excluded: of several the first stays.
TEST(AluReduceTest, MinAndMaxDoNotDependOnTheOrder) {
  Prng prng(4);
  const uint16_t special[] = {0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint16_t> values(5);
    for (uint16_t& value : values) value = special[prng.Below(std::size(special))];
    std::vector<uint16_t> shuffled = values;
    for (size_t i = 4; i > 0; --i) std::swap(shuffled[i], shuffled[prng.Below(i + 1)]);
    for (const ElementOp op : {ElementOp::kMin, ElementOp::kMax}) {
      ASSERT_EQ(ReduceValues(op, ElementType::kHalf, values), ReduceValues(op, ElementType::kHalf, shuffled));
    }
  }
}

TEST(AluReduceTest, IntegersWrap) {
  EXPECT_EQ(ReduceValues<int8_t>(ElementOp::kSum, ElementType::kInt8, {127, 1}), -128);
  EXPECT_EQ(ReduceValues<uint16_t>(ElementOp::kProd, ElementType::kUint16, {65535, 65535}), 1);
  EXPECT_EQ(ReduceValues<int64_t>(ElementOp::kSum, ElementType::kInt64, {INT64_MIN, -1}), INT64_MAX);
}

TEST(AluReduceTest, NansPrevailInMinAndMaxAndZerosHaveAnOrder) {
  for (const ElementOp op : {ElementOp::kMin, ElementOp::kMax}) {
    EXPECT_TRUE(std::isnan(ReduceValues<double>(op, ElementType::kDouble, {NAN, 1.0, 2.0})));
    EXPECT_TRUE(std::isnan(ReduceValues<double>(op, ElementType::kDouble, {1.0, 2.0, -NAN})));
    EXPECT_TRUE(std::isnan(ReduceValues<float>(op, ElementType::kFloat, {1.0f, -NAN, INFINITY})));
  }
  EXPECT_TRUE(std::signbit(ReduceValues<float>(ElementOp::kMin, ElementType::kFloat, {0.0f, -0.0f})));
  EXPECT_FALSE(std::signbit(ReduceValues<float>(ElementOp::kMax, ElementType::kFloat, {-0.0f, 0.0f})));
  EXPECT_EQ(ReduceValues<double>(ElementOp::kMin, ElementType::kDouble, {1.0, -INFINITY, -2.0}), -INFINITY);
}

TEST(AluReduceTest, TiesOfMinlocGoToTheLowerIndex) {
  using Pair = ValueAndIndex<double>;
  const auto index = [](ElementOp op, std::vector<Pair> pairs) {
    return ReduceValues<Pair>(op, ElementType::kDoubleInt, pairs).index;
  };
  EXPECT_EQ(index(ElementOp::kMinloc, {{2, 0}, {1, 9}, {1, 4}, {1, 5}}), 4);
  EXPECT_EQ(index(ElementOp::kMaxloc, {{2, 8}, {2, -1}, {1, -5}}), -1);
  EXPECT_EQ(index(ElementOp::kMinloc, {{0.0, 2}, {-0.0, 1}}), 1);
  EXPECT_EQ(index(ElementOp::kMaxloc, {{5, 2}, {NAN, 7}, {NAN, 3}}), 3);
}

TEST(AluReduceTest, ComplexProducts) {
  using Complex = std::complex<float>;
  EXPECT_EQ(ReduceValues<Complex>(ElementOp::kProd, ElementType::kComplexFloat, {{1, 2}, {3, 4}}), Complex(-5, 10));
  EXPECT_EQ(ReduceValues<Complex>(ElementOp::kSum, ElementType::kComplexFloat, {{1, 2}, {3, 4}, {-1, 0}}),
            Complex(3, 6));
}

TEST(AluReduceTest, CombinesFromLeftToRight) {
  // The sum is (1e300 + -1e300) + 1, not 1e300 + (-1e300 + 1).
  EXPECT_EQ(ReduceValues<double>(ElementOp::kSum, ElementType::kDouble, {1e300, -1e300, 1.0}), 1.0);
  EXPECT_EQ(ReduceValues<double>(ElementOp::kSum, ElementType::kDouble, {1.0, -1e300, 1e300}), 0.0);
}

TEST(AluReduceTest, LogicalResultsAreZeroOrOne) {
  EXPECT_EQ(ReduceValues<int32_t>(ElementOp::kLor, ElementType::kInt32, {7}), 1);
  EXPECT_EQ(ReduceValues<int32_t>(ElementOp::kLand, ElementType::kInt32, {7, 8}), 1);
  EXPECT_EQ(ReduceValues<float>(ElementOp::kLxor, ElementType::kFloat, {0.5f, 0.25f}), 0.0f);
}

TEST(AluReduceTest, RefusesWhatIsNotDefinedAndNamesBoth) {
  const double value[2] = {1, 1};
  const uint8_t* operand = reinterpret_cast<const uint8_t*>(value);
  double result[2] = {5, 5};
  int refused = 0;
  ForEachPair([&](ElementOp op, ElementType type) {
    if (IsDefined(op, type)) return;
    const absl::Status status = AluReduce(op, type, {operand, operand}, 1, reinterpret_cast<uint8_t*>(result));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << NameOf(op, type);
    EXPECT_NE(status.message().find(std::string(ElementOpName(op))), std::string::npos) << status;
    EXPECT_NE(status.message().find(std::string(ElementTypeName(type))), std::string::npos) << status;
    ++refused;
  });
  EXPECT_GT(refused, 100);
  EXPECT_EQ(result[0], 5);
}

TEST(AluReduceTest, RefusesNoOperandsAndMoreThanSeven) {
  const uint8_t value = 1;
  uint8_t result = 5;
  const std::vector<const uint8_t*> eight(8, &value);
  EXPECT_TRUE(absl::IsInvalidArgument(AluReduce(ElementOp::kSum, ElementType::kUint8, {}, 1, &result)));
  EXPECT_TRUE(absl::IsInvalidArgument(AluReduce(ElementOp::kSum, ElementType::kUint8, eight, 1, &result)));
  EXPECT_EQ(result, 5);
}

TEST(AluNamesTest, UnknownValuesAreHarmless) {
  EXPECT_EQ(ElementOpName(ElementOp::kLxor), "lxor");
  EXPECT_EQ(ElementTypeName(ElementType::kUint64), "uint64");
  EXPECT_EQ(ElementOpName(static_cast<ElementOp>(12)), "unknown");
  EXPECT_EQ(ElementTypeName(static_cast<ElementType>(200)), "unknown");
  EXPECT_EQ(ElementBytes(static_cast<ElementType>(20)), 0u);
}

}  // namespace
}  // namespace copse::emu
