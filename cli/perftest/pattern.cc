// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/element_reference.h"
#include "base/hash.h"

namespace copse::perftest {
namespace {

uint64_t Hash(uint64_t seed, uint64_t call, uint32_t rank, uint32_t place) {
  return Mix64(Mix64(Mix64(Mix64(seed + 1) + call) + rank) + place);
}

// Higher ranks contribute 0 to sums of bfloat16, whose integers are exact up to 256, and of half, which are exact up to
// 2048; and only 1 or -1 to products of floating-point types, since the largest binary16 number is below 2^16.
constexpr uint32_t kRanksThatAddBfloats = 256;
constexpr uint32_t kRanksThatAddHalves = 2048 / 7;
constexpr uint32_t kRanksThatDouble = 14;

// Returns a value made from the random `hash`. At each place, `decides` is true for one rank: its value determines the
// result of operations such as min, max, and the logical and bitwise AND and OR.
template <typename T>
T Number(ElementOp op, uint64_t hash, bool decides, uint32_t rank) {
  const int small = static_cast<int>(hash % 50);
  switch (op) {
    case ElementOp::kSum:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(hash);
      if constexpr (std::is_same_v<T, Bfloat16>) return T(rank < kRanksThatAddBfloats ? hash % 2 : 0);
      if constexpr (std::is_same_v<T, Half>) return T(rank < kRanksThatAddHalves ? hash % 8 : 0);
      return T(hash % 8);
    case ElementOp::kProd:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(hash | 1);  // odd: never all zero
      return T(((hash & 1) != 0 ? -1 : 1) * (rank < kRanksThatDouble && (hash & 2) != 0 ? 2 : 1));
    case ElementOp::kMin:
      if (!decides) return T(50 + small);
      return T(std::is_unsigned_v<T> ? small : -1 - small);
    case ElementOp::kMax:
      return T(decides ? 50 + small : small);
    case ElementOp::kLand:
      return T(decides && (hash & 1) != 0 ? 0 : 1 + small);
    case ElementOp::kLor:
      return T(decides && (hash & 1) != 0 ? 1 + small : 0);
    case ElementOp::kLxor:
      return T((hash & 1) != 0 ? 1 + small : 0);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ElementOp::kBand) return static_cast<T>(decides ? hash : ~uint64_t{0});
    if (op == ElementOp::kBor) return static_cast<T>(decides ? hash : 0);
  }
  return T(hash);
}

template <typename T>
T Value(ElementOp op, uint64_t hash, bool decides, uint32_t rank) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    const auto part = Number<Part>(op, hash, decides, rank);
    if (op == ElementOp::kSum) return {part, Number<Part>(op, hash >> 8, decides, rank)};
    // Two ranks have complex values, the others positive real ones, so that no component of a product is zero: the sign
    // of a zero would depend on the order of the factors.
    if (rank == 0) return (hash & 4) != 0 ? T{3, 1} : T{3, -1};
    if (rank == 1) return (hash & 4) != 0 ? T{2, 1} : T{1, 2};
    return {std::abs(part), 0};
  } else if constexpr (kIsPair<T>) {
    const ElementOp by_value = op == ElementOp::kMinloc ? ElementOp::kMin : ElementOp::kMax;
    return {Number<decltype(T::value)>(by_value, hash, decides, rank), static_cast<int32_t>(rank)};
  } else {
    return Number<T>(op, hash, decides, rank);
  }
}

// Writes `count` elements, from element `first` on: computes one period with value_at(place), and copies it as often as
// needed.
template <typename T, typename ValueAt>
void Tile(uint64_t first, uint64_t count, void* out, const ValueAt& value_at) {
  const uint64_t made = std::min<uint64_t>(count, Pattern::kPeriod);
  std::array<uint8_t, Pattern::kPeriod * sizeof(T)> values;
  for (uint64_t i = 0; i < made; ++i) {
    PutElement(value_at(static_cast<uint32_t>((first + i) % Pattern::kPeriod)), &values[i * sizeof(T)]);
  }
  auto* bytes = static_cast<uint8_t*>(out);
  for (uint64_t done = 0; done < count; done += Pattern::kPeriod) {
    std::memcpy(bytes + done * sizeof(T), values.data(),
                std::min<uint64_t>(count - done, Pattern::kPeriod) * sizeof(T));
  }
}

}  // namespace

Pattern::Pattern(ElementType type, ElementOp operation, uint32_t ranks, uint64_t seed)
    : type_(type), operation_(operation), ranks_(ranks), seed_(seed) {}

void Pattern::Contribution(uint64_t call, uint32_t rank, uint64_t count, void* out) const {
  WithElementType(type_, [&](auto type) {
    using T = decltype(type);
    Tile<T>(0, count, out, [&](uint32_t place) {
      return Value<T>(operation_, Hash(seed_, call, rank, place), (place + call) % ranks_ == rank, rank);
    });
  });
}

void Pattern::Reduction(uint64_t call, uint32_t operands, uint64_t first, uint64_t count, void* out) const {
  WithElementType(type_, [&](auto type) {
    using T = decltype(type);
    Tile<T>(first, count, out, [&](uint32_t place) {
      T result{};
      for (uint32_t rank = 0; rank < operands; ++rank) {
        const T value = Value<T>(operation_, Hash(seed_, call, rank, place), (place + call) % ranks_ == rank, rank);
        result = rank == 0 ? value : CombineElements<T>(operation_, result, value);
      }
      // A single operand is not combined, so its contribution is the result, even for logical operations.
      return result;
    });
  });
}

void Pattern::Moved(uint64_t call, uint32_t from, uint32_t to, uint64_t count, void* out) const {
  WithElementType(type_, [&](auto type) {
    using T = decltype(type);
    Tile<T>(0, count, out, [&](uint32_t place) {
      const uint64_t hash = Mix64(Hash(seed_, call, from, place) + to);
      if constexpr (kIsPair<T>) {
        return T{static_cast<decltype(T::value)>(hash % 65536), static_cast<int32_t>(hash >> 32)};
      } else {
        return T(hash % 65536);
      }
    });
  });
}

uint64_t CountDifferences(const void* a, const void* b, uint64_t count, uint32_t bytes) {
  if (std::memcmp(a, b, count * bytes) == 0) return 0;
  uint64_t differences = 0;
  const auto* left = static_cast<const uint8_t*>(a);
  const auto* right = static_cast<const uint8_t*>(b);
  for (uint64_t i = 0; i < count; ++i) {
    if (std::memcmp(left + i * bytes, right + i * bytes, bytes) != 0) ++differences;
  }
  return differences;
}

}  // namespace copse::perftest
