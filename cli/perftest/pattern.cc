// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/pattern.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/hash.h"

namespace copse::perftest {
namespace {

uint64_t Hash(uint64_t seed, uint64_t call, uint32_t rank, uint32_t place) {
  return Mix64(Mix64(Mix64(Mix64(seed + 1) + call) + rank) + place);
}

// `hash` is random; at each place one rank decides the result of operations that forget the others.
template <typename T>
T Value(copse_op_t op, uint64_t hash, bool decides, uint32_t rank) {
  const T small = static_cast<T>(hash % 50);
  switch (op) {
    case COPSE_OP_SUM:
      return std::is_floating_point_v<T> ? static_cast<T>(hash % 8) : static_cast<T>(hash);
    case COPSE_OP_PROD:
      if (!std::is_floating_point_v<T>) return static_cast<T>(hash | 1);  // odd: never all zero
      return static_cast<T>(((hash & 1) != 0 ? -1 : 1) * (rank < 16 && (hash & 2) != 0 ? 2 : 1));
    case COPSE_OP_MIN:
      if (!decides) return static_cast<T>(50 + small);
      return std::is_signed_v<T> ? static_cast<T>(-1 - small) : small;
    case COPSE_OP_MAX:
      return decides ? static_cast<T>(50 + small) : small;
    case COPSE_OP_LAND:
      return decides && (hash & 1) != 0 ? T{0} : static_cast<T>(1 + small);
    case COPSE_OP_LOR:
      return decides && (hash & 1) != 0 ? static_cast<T>(1 + small) : T{0};
    case COPSE_OP_LXOR:
      return (hash & 1) != 0 ? static_cast<T>(1 + small) : T{0};
    case COPSE_OP_BAND:
      return static_cast<T>(decides ? hash : ~uint64_t{0});
    case COPSE_OP_BOR:
      return static_cast<T>(decides ? hash : 0);
    case COPSE_OP_BXOR:
      return static_cast<T>(hash);
  }
  return T{0};
}

// Integers wrap: by way of 64 bits without sign.
template <typename T>
T Combine(copse_op_t op, T a, T b) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
  switch (op) {
    case COPSE_OP_SUM:
      return static_cast<T>(x + y);
    case COPSE_OP_PROD:
      return static_cast<T>(x * y);
    case COPSE_OP_MIN:
      return std::min(a, b);
    case COPSE_OP_MAX:
      return std::max(a, b);
    case COPSE_OP_LAND:
      return static_cast<T>(a != 0 && b != 0);
    case COPSE_OP_LOR:
      return static_cast<T>(a != 0 || b != 0);
    case COPSE_OP_LXOR:
      return static_cast<T>((a != 0) != (b != 0));
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == COPSE_OP_BAND) return static_cast<T>(x & y);
    if (op == COPSE_OP_BOR) return static_cast<T>(x | y);
    if (op == COPSE_OP_BXOR) return static_cast<T>(x ^ y);
  }
  return a;
}

// Writes the first period, then copies what is there behind it.
template <typename T, typename ValueAt>
void Tile(uint64_t count, void* out, const ValueAt& value_at) {
  const uint64_t first = std::min<uint64_t>(count, Pattern::kPeriod);
  std::array<T, Pattern::kPeriod> values;
  for (uint32_t place = 0; place < first; ++place) values[place] = value_at(place);
  auto* bytes = static_cast<uint8_t*>(out);
  for (uint64_t done = 0; done < count; done += Pattern::kPeriod) {
    std::memcpy(bytes + done * sizeof(T), values.data(),
                std::min<uint64_t>(count - done, Pattern::kPeriod) * sizeof(T));
  }
}

// Calls body(T{}) with the C++ type of `type`.
template <typename Body>
void WithType(copse_datatype_t type, const Body& body) {
  switch (type) {
    case COPSE_DT_INT8:
      return body(int8_t{});
    case COPSE_DT_INT16:
      return body(int16_t{});
    case COPSE_DT_INT32:
      return body(int32_t{});
    case COPSE_DT_INT64:
      return body(int64_t{});
    case COPSE_DT_UINT8:
      return body(uint8_t{});
    case COPSE_DT_UINT16:
      return body(uint16_t{});
    case COPSE_DT_UINT32:
      return body(uint32_t{});
    case COPSE_DT_UINT64:
      return body(uint64_t{});
    case COPSE_DT_FLOAT:
      return body(float{});
    case COPSE_DT_DOUBLE:
      return body(double{});
  }
}

}  // namespace

Pattern::Pattern(const Datatype* type, const Operation* operation, uint32_t ranks, uint64_t seed)
    : type_(type), operation_(operation), ranks_(ranks), seed_(seed) {}

void Pattern::Contribution(uint64_t call, uint32_t rank, uint64_t count, void* out) const {
  WithType(type_->id, [&](auto type) {
    using T = decltype(type);
    Tile<T>(count, out, [&](uint32_t place) {
      return Value<T>(operation_->id, Hash(seed_, call, rank, place), (place + call) % ranks_ == rank, rank);
    });
  });
}

void Pattern::Reduction(uint64_t call, uint64_t count, void* out) const {
  WithType(type_->id, [&](auto type) {
    using T = decltype(type);
    Tile<T>(count, out, [&](uint32_t place) {
      T result{0};
      for (uint32_t rank = 0; rank < ranks_; ++rank) {
        const T value = Value<T>(operation_->id, Hash(seed_, call, rank, place), (place + call) % ranks_ == rank, rank);
        result = rank == 0 ? value : Combine<T>(operation_->id, result, value);
      }
      // A lone rank's logical result is its contribution, as it is.
      return result;
    });
  });
}

void Pattern::RootsData(uint64_t call, uint32_t root, uint64_t count, void* out) const {
  WithType(type_->id, [&](auto type) {
    using T = decltype(type);
    Tile<T>(count, out, [&](uint32_t place) { return static_cast<T>(Hash(seed_, call, root, place) % 65536); });
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
