// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::emu {
namespace {

// One element, computed as the header says, in types that cannot overflow.
template <typename T>
T NaiveCombine(AluOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case AluOp::kSum:
        return a + b;
      case AluOp::kProd:
        return a * b;
      case AluOp::kMin:
        return b < a ? b : a;
      case AluOp::kMax:
        return b > a ? b : a;
      case AluOp::kLand:
        return a != 0 && b != 0 ? 1 : 0;
      case AluOp::kLor:
        return a != 0 || b != 0 ? 1 : 0;
      default:
        return (a != 0) != (b != 0) ? 1 : 0;
    }
  } else {
    switch (op) {
      case AluOp::kSum:
        return static_cast<T>(static_cast<__int128>(a) + b);
      case AluOp::kProd:
        return static_cast<T>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
      case AluOp::kMin:
        return b < a ? b : a;
      case AluOp::kMax:
        return b > a ? b : a;
      case AluOp::kLand:
        return a != 0 && b != 0;
      case AluOp::kLor:
        return a != 0 || b != 0;
      case AluOp::kLxor:
        return (a != 0) != (b != 0);
      case AluOp::kBand:
        return static_cast<T>(a & b);
      case AluOp::kBor:
        return static_cast<T>(a | b);
      default:
        return static_cast<T>(a ^ b);
    }
  }
}

template <typename T>
T Naive(AluOp op, const std::vector<T>& operands) {
  T result = operands[0];
  if (operands.size() == 1 && op >= AluOp::kLand && op <= AluOp::kLxor) return result != 0;
  for (size_t k = 1; k < operands.size(); ++k) result = NaiveCombine(op, result, operands[k]);
  return result;
}

template <typename T>
T Draw(Prng* prng) {
  const uint64_t bits = prng->Next();
  if (bits % 5 == 0) return T{0};
  if (bits % 7 == 0) return std::numeric_limits<T>::max();
  if (bits % 11 == 0) return std::numeric_limits<T>::lowest();
  if constexpr (std::is_floating_point_v<T>) {
    if (bits % 13 == 0) return std::numeric_limits<T>::quiet_NaN();
    if (bits % 17 == 0) return -std::numeric_limits<T>::infinity();
    return static_cast<T>((prng->Unit() - 0.5) * 1000);
  } else {
    return static_cast<T>(prng->Next());
  }
}

// All operations of a type with 1 to 7 operands: short and long, unaligned, and in place of each operand.
template <typename T>
void TestType(AluType type) {
  ASSERT_EQ(AluTypeBytes(type), sizeof(T));
  Prng prng(static_cast<uint64_t>(type) + 1);
  for (int op_number = 0; op_number < kAluOpCount; ++op_number) {
    const AluOp op = static_cast<AluOp>(op_number);
    if (!AluSupports(op, type)) continue;
    for (int operand_count = 1; operand_count <= kAluOperandsMax; ++operand_count) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{4096 / sizeof(T) + 5}}) {
        std::vector<std::vector<T>> values(operand_count, std::vector<T>(count));
        std::vector<std::vector<uint8_t>> memory(operand_count);
        std::vector<const uint8_t*> operands(operand_count);
        for (int k = 0; k < operand_count; ++k) {
          for (T& value : values[k]) value = Draw<T>(&prng);
          const size_t shift = 1 + k % 3;
          memory[k].resize(count * sizeof(T) + shift);
          if (count > 0) std::memcpy(memory[k].data() + shift, values[k].data(), count * sizeof(T));
          operands[k] = memory[k].data() + shift;
        }
        std::vector<T> expected(count);
        for (size_t i = 0; i < count; ++i) {
          std::vector<T> column;
          for (const std::vector<T>& value : values) column.push_back(value[i]);
          expected[i] = Naive(op, column);
        }
        const auto check = [&](const uint8_t* result, int in_place) {
          // NaNs compare equal here, whatever their bits: only that they are NaN is promised.
          for (size_t i = 0; i < count; ++i) {
            T value;
            std::memcpy(&value, result + i * sizeof(T), sizeof(T));
            if (value != value && expected[i] != expected[i]) continue;
            ASSERT_EQ(value, expected[i]) << AluOpName(op) << " " << AluTypeName(type) << " of " << operand_count
                                          << " element " << i << " of " << count << " in place " << in_place;
          }
        };
        std::vector<uint8_t> target(count * sizeof(T) + 1);
        ASSERT_TRUE(AluReduce(op, type, operands, count, target.data() + 1).ok());
        check(target.data() + 1, -1);
        for (int k = 0; k < operand_count; ++k) {
          const std::vector<uint8_t> before = memory[k];
          ASSERT_TRUE(AluReduce(op, type, operands, count, const_cast<uint8_t*>(operands[k])).ok());
          check(operands[k], k);
          memory[k].assign(before.begin(), before.end());
        }
      }
    }
  }
}

TEST(AluReduceTest, AgreesWithTheNaiveReference) {
  TestType<int8_t>(AluType::kInt8);
  TestType<int16_t>(AluType::kInt16);
  TestType<int32_t>(AluType::kInt32);
  TestType<int64_t>(AluType::kInt64);
  TestType<uint8_t>(AluType::kUint8);
  TestType<uint16_t>(AluType::kUint16);
  TestType<uint32_t>(AluType::kUint32);
  TestType<uint64_t>(AluType::kUint64);
  TestType<float>(AluType::kFloat);
  TestType<double>(AluType::kDouble);
}

template <typename T>
T ReduceValues(AluOp op, AluType type, std::vector<T> values) {
  std::vector<const uint8_t*> operands;
  for (const T& value : values) operands.push_back(reinterpret_cast<const uint8_t*>(&value));
  T result{};
  EXPECT_TRUE(AluReduce(op, type, operands, 1, reinterpret_cast<uint8_t*>(&result)).ok());
  return result;
}

TEST(AluReduceTest, IntegersWrap) {
  EXPECT_EQ(ReduceValues<int8_t>(AluOp::kSum, AluType::kInt8, {127, 1}), -128);
  EXPECT_EQ(ReduceValues<uint16_t>(AluOp::kProd, AluType::kUint16, {65535, 65535}), 1);
  EXPECT_EQ(ReduceValues<int64_t>(AluOp::kSum, AluType::kInt64, {INT64_MIN, -1}), INT64_MAX);
}

TEST(AluReduceTest, NanOfTheFirstOperandStaysInMinAndMaxAndLaterOnesAreIgnored) {
  for (const AluOp op : {AluOp::kMin, AluOp::kMax}) {
    EXPECT_TRUE(std::isnan(ReduceValues<double>(op, AluType::kDouble, {NAN, 1.0, 2.0})));
    EXPECT_FALSE(std::isnan(ReduceValues<double>(op, AluType::kDouble, {1.0, NAN, 2.0})));
  }
  EXPECT_EQ(ReduceValues<double>(AluOp::kMin, AluType::kDouble, {1.0, NAN, 2.0}), 1.0);
  EXPECT_EQ(ReduceValues<double>(AluOp::kMax, AluType::kDouble, {1.0, NAN, 2.0}), 2.0);
}

TEST(AluReduceTest, CombinesFromLeftToRight) {
  // (1e300 + -1e300) + 1, not 1e300 + (-1e300 + 1).
  EXPECT_EQ(ReduceValues<double>(AluOp::kSum, AluType::kDouble, {1e300, -1e300, 1.0}), 1.0);
  EXPECT_EQ(ReduceValues<double>(AluOp::kSum, AluType::kDouble, {1.0, -1e300, 1e300}), 0.0);
}

TEST(AluReduceTest, LogicalResultsAreZeroOrOne) {
  EXPECT_EQ(ReduceValues<int32_t>(AluOp::kLor, AluType::kInt32, {7}), 1);
  EXPECT_EQ(ReduceValues<int32_t>(AluOp::kLand, AluType::kInt32, {7, 8}), 1);
  EXPECT_EQ(ReduceValues<float>(AluOp::kLxor, AluType::kFloat, {0.5f, 0.25f}), 0.0f);
}

TEST(AluReduceTest, RefusesBitwiseOperationsOnFloatingPoint) {
  const double value = 1;
  const uint8_t* operand = reinterpret_cast<const uint8_t*>(&value);
  double result = 5;
  for (const AluOp op : {AluOp::kBand, AluOp::kBor, AluOp::kBxor}) {
    for (const AluType type : {AluType::kFloat, AluType::kDouble}) {
      EXPECT_FALSE(AluSupports(op, type));
      EXPECT_TRUE(absl::IsInvalidArgument(AluReduce(op, type, {operand}, 1, reinterpret_cast<uint8_t*>(&result))));
    }
  }
  EXPECT_EQ(result, 5);
}

TEST(AluReduceTest, RefusesNoOperandsAndMoreThanSeven) {
  const uint8_t value = 1;
  uint8_t result = 5;
  const std::vector<const uint8_t*> eight(8, &value);
  EXPECT_TRUE(absl::IsInvalidArgument(AluReduce(AluOp::kSum, AluType::kUint8, {}, 1, &result)));
  EXPECT_TRUE(absl::IsInvalidArgument(AluReduce(AluOp::kSum, AluType::kUint8, eight, 1, &result)));
  EXPECT_EQ(result, 5);
}

TEST(AluNamesTest, UnknownValuesAreHarmless) {
  EXPECT_EQ(AluOpName(AluOp::kLxor), "lxor");
  EXPECT_EQ(AluTypeName(AluType::kUint64), "uint64");
  EXPECT_EQ(AluOpName(static_cast<AluOp>(10)), "unknown");
  EXPECT_EQ(AluTypeName(static_cast<AluType>(200)), "unknown");
  EXPECT_EQ(AluTypeBytes(static_cast<AluType>(10)), 0u);
  EXPECT_FALSE(AluSupports(static_cast<AluOp>(10), AluType::kInt8));
  EXPECT_FALSE(AluSupports(AluOp::kSum, static_cast<AluType>(10)));
}

}  // namespace
}  // namespace copse::emu
