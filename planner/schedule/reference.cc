// SPDX-License-Identifier: Apache-2.0
#include "planner/schedule/reference.h"

#include <cstring>
#include <type_traits>

#include "base/hash.h"

namespace copse::schedule {
namespace {

using emu::AluOp;
using emu::AluType;

// Calls `f` with a value of the C++ type that `type` stands for.
template <typename F>
auto WithType(AluType type, F f) {
  switch (type) {
    case AluType::kInt8:
      return f(int8_t{});
    case AluType::kInt16:
      return f(int16_t{});
    case AluType::kInt32:
      return f(int32_t{});
    case AluType::kInt64:
      return f(int64_t{});
    case AluType::kUint8:
      return f(uint8_t{});
    case AluType::kUint16:
      return f(uint16_t{});
    case AluType::kUint32:
      return f(uint32_t{});
    case AluType::kUint64:
      return f(uint64_t{});
    case AluType::kFloat:
      return f(float{});
    case AluType::kDouble:
      return f(double{});
  }
  return f(uint8_t{});
}

template <typename T>
T Element(const CallArguments& a, uint32_t rank, uint64_t seed, uint64_t i) {
  const uint64_t random = Mix64(seed * 0x9e3779b97f4a7c15 + rank * 1000003 + i);
  if constexpr (std::is_floating_point_v<T>) {
    if (Reduces(a.collective) && a.op == AluOp::kProd) return random % 2 == 0 ? T(1) : T(2);
    return static_cast<T>(static_cast<int>(random % 19) - 9);
  } else {
    if (Reduces(a.collective) && a.op == AluOp::kProd) return static_cast<T>(1 + random % 3);
    if (Reduces(a.collective) && (a.op == AluOp::kLand || a.op == AluOp::kBand)) {
      return static_cast<T>(random % 17 == 0 ? 0 : random | 1);  // mostly not zero, so that results differ
    }
    return static_cast<T>(random);
  }
}

template <typename T>
T Combine(AluOp op, T a, T b) {
  switch (op) {
    case AluOp::kMin:
      return b < a ? b : a;
    case AluOp::kMax:
      return a < b ? b : a;
    case AluOp::kLand:
      return static_cast<T>((a != T(0)) && (b != T(0)));
    case AluOp::kLor:
      return static_cast<T>((a != T(0)) || (b != T(0)));
    case AluOp::kLxor:
      return static_cast<T>((a != T(0)) != (b != T(0)));
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return op == AluOp::kSum ? a + b : a * b;
  } else {
    // Unsigned and wide, so that nothing overflows; cut to the type at the end.
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    switch (op) {
      case AluOp::kSum:
        return static_cast<T>(x + y);
      case AluOp::kProd:
        return static_cast<T>(x * y);
      case AluOp::kBand:
        return static_cast<T>(x & y);
      case AluOp::kBor:
        return static_cast<T>(x | y);
      default:
        return static_cast<T>(x ^ y);
    }
  }
}

}  // namespace

std::vector<uint8_t> Contribution(const CallArguments& a, uint32_t rank, uint64_t seed) {
  if (a.collective == Collective::kBarrier) return {};
  return WithType(a.type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<uint8_t> bytes(a.count * sizeof(T));
    for (uint64_t i = 0; i < a.count; ++i) {
      const T value = Element<T>(a, rank, seed, i);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  });
}

std::vector<uint8_t> ExpectedResult(const CallArguments& a, uint32_t rank, uint32_t size, uint64_t seed) {
  switch (a.collective) {
    case Collective::kBarrier:
      return {};
    case Collective::kBcast:
      return Contribution(a, a.root, seed);
    case Collective::kReduce:
      if (rank != a.root) return {};
      break;
    case Collective::kAllreduce:
      break;
    default:
      return {};  // block_reference.h
  }
  return WithType(a.type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<uint8_t> bytes(a.count * sizeof(T));
    for (uint64_t i = 0; i < a.count; ++i) {
      T value = Element<T>(a, 0, seed, i);
      for (uint32_t r = 1; r < size; ++r) value = Combine<T>(a.op, value, Element<T>(a, r, seed, i));
      // One rank alone: logical operations leave its value as it is, as MPI does.
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  });
}

}  // namespace copse::schedule
