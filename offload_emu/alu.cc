// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::emu {
namespace {

// Operands are combined in an accumulator that stays in the first-level cache, so each is read from
// memory once, and a target that is one of the operands is written only after all of them were
// read.
constexpr size_t kBlockBytes = 2048;

// Arithmetic wider than int and unsigned, so that it wraps instead of overflowing.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <AluOp op, typename T>
inline T Combine(T a, T b) {
  if constexpr (op == AluOp::kSum) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    }
  } else if constexpr (op == AluOp::kProd) {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    }
  } else if constexpr (op == AluOp::kMin) {
    return b < a ? b : a;
  } else if constexpr (op == AluOp::kMax) {
    return b > a ? b : a;
  } else if constexpr (op == AluOp::kLand) {
    return static_cast<T>((a != T{0}) & (b != T{0}));
  } else if constexpr (op == AluOp::kLor) {
    return static_cast<T>((a != T{0}) | (b != T{0}));
  } else if constexpr (op == AluOp::kLxor) {
    return static_cast<T>((a != T{0}) != (b != T{0}));
  } else if constexpr (op == AluOp::kBand) {
    return static_cast<T>(a & b);
  } else if constexpr (op == AluOp::kBor) {
    return static_cast<T>(a | b);
  } else {
    static_assert(op == AluOp::kBxor);
    return static_cast<T>(a ^ b);
  }
}

constexpr bool IsLogical(AluOp op) { return op == AluOp::kLand || op == AluOp::kLor || op == AluOp::kLxor; }

template <AluOp op, typename T>
void ReduceTyped(absl::Span<const uint8_t* const> operands, size_t count, uint8_t* target) {
  constexpr size_t kBlock = kBlockBytes / sizeof(T);
  alignas(64) T block[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t n = std::min(kBlock, count - first);
    const size_t offset = first * sizeof(T);
    std::memcpy(block, operands[0] + offset, n * sizeof(T));
    for (size_t k = 1; k < operands.size(); ++k) {
      const uint8_t* from = operands[k] + offset;
      for (size_t i = 0; i < n; ++i) {
        T value;
        std::memcpy(&value, from + i * sizeof(T), sizeof(T));
        block[i] = Combine<op, T>(block[i], value);
      }
    }
    if constexpr (IsLogical(op)) {
      if (operands.size() == 1) {
        for (size_t i = 0; i < n; ++i) block[i] = static_cast<T>(block[i] != T{0});
      }
    }
    std::memcpy(target + offset, block, n * sizeof(T));
  }
}

template <AluOp op>
void ReduceOp(AluType type, absl::Span<const uint8_t* const> operands, size_t count, uint8_t* target) {
  constexpr bool kBitwise = op >= AluOp::kBand;
  switch (type) {
    case AluType::kInt8:
      return ReduceTyped<op, int8_t>(operands, count, target);
    case AluType::kInt16:
      return ReduceTyped<op, int16_t>(operands, count, target);
    case AluType::kInt32:
      return ReduceTyped<op, int32_t>(operands, count, target);
    case AluType::kInt64:
      return ReduceTyped<op, int64_t>(operands, count, target);
    case AluType::kUint8:
      return ReduceTyped<op, uint8_t>(operands, count, target);
    case AluType::kUint16:
      return ReduceTyped<op, uint16_t>(operands, count, target);
    case AluType::kUint32:
      return ReduceTyped<op, uint32_t>(operands, count, target);
    case AluType::kUint64:
      return ReduceTyped<op, uint64_t>(operands, count, target);
    case AluType::kFloat:
      if constexpr (!kBitwise) ReduceTyped<op, float>(operands, count, target);
      return;
    case AluType::kDouble:
      if constexpr (!kBitwise) ReduceTyped<op, double>(operands, count, target);
      return;
  }
}

constexpr std::string_view kOpNames[kAluOpCount] = {"sum", "prod", "min",  "max", "land",
                                                    "lor", "lxor", "band", "bor", "bxor"};
constexpr std::string_view kTypeNames[kAluTypeCount] = {"int8",   "int16",  "int32",  "int64", "uint8",
                                                        "uint16", "uint32", "uint64", "float", "double"};
constexpr uint32_t kTypeBytes[kAluTypeCount] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

bool Known(AluOp op) { return static_cast<int>(op) < kAluOpCount; }
bool Known(AluType type) { return static_cast<int>(type) < kAluTypeCount; }

}  // namespace

std::string_view AluOpName(AluOp op) { return Known(op) ? kOpNames[static_cast<int>(op)] : "unknown"; }

std::string_view AluTypeName(AluType type) { return Known(type) ? kTypeNames[static_cast<int>(type)] : "unknown"; }

uint32_t AluTypeBytes(AluType type) { return Known(type) ? kTypeBytes[static_cast<int>(type)] : 0; }

bool AluSupports(AluOp op, AluType type) {
  if (!Known(op) || !Known(type)) return false;
  return op < AluOp::kBand || (type != AluType::kFloat && type != AluType::kDouble);
}

absl::Status AluReduce(AluOp op, AluType type, absl::Span<const uint8_t* const> operands, size_t count,
                       uint8_t* target) {
  if (operands.empty() || operands.size() > kAluOperandsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction of ", operands.size(), " operands (limit 1 to ", kAluOperandsMax, ")"));
  }
  if (!AluSupports(op, type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", AbslView(AluOpName(op)), " on type ", AbslView(AluTypeName(type))));
  }
  switch (op) {
    case AluOp::kSum:
      ReduceOp<AluOp::kSum>(type, operands, count, target);
      break;
    case AluOp::kProd:
      ReduceOp<AluOp::kProd>(type, operands, count, target);
      break;
    case AluOp::kMin:
      ReduceOp<AluOp::kMin>(type, operands, count, target);
      break;
    case AluOp::kMax:
      ReduceOp<AluOp::kMax>(type, operands, count, target);
      break;
    case AluOp::kLand:
      ReduceOp<AluOp::kLand>(type, operands, count, target);
      break;
    case AluOp::kLor:
      ReduceOp<AluOp::kLor>(type, operands, count, target);
      break;
    case AluOp::kLxor:
      ReduceOp<AluOp::kLxor>(type, operands, count, target);
      break;
    case AluOp::kBand:
      ReduceOp<AluOp::kBand>(type, operands, count, target);
      break;
    case AluOp::kBor:
      ReduceOp<AluOp::kBor>(type, operands, count, target);
      break;
    case AluOp::kBxor:
      ReduceOp<AluOp::kBxor>(type, operands, count, target);
      break;
  }
  return absl::OkStatus();
}

}  // namespace copse::emu
