// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_check.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace copse {
namespace {

// A thing and its value, as messages name them.
struct Fact {
  std::string_view name;
  std::string value;
};

CallDefect Defect(Failure failure, std::string_view what, std::initializer_list<Fact> facts) {
  std::string text(what);
  const char* separator = " (";
  for (const Fact& fact : facts) {
    text.append(separator).append(fact.name).append("=").append(fact.value);
    separator = ", ";
  }
  return {failure, text + ")"};
}

CallDefect Unknown(std::string_view name, int64_t value, int count) {
  return Defect(Failure::kInvalidArgument, "unknown " + std::string(name),
                {{name, std::to_string(value)}, {"limit", std::to_string(count - 1)}});
}

bool IsBelow(int64_t value, int count) { return 0 <= value && value < count; }

// How many blocks of `count` elements the longest buffer has.
uint64_t EqualBlocks(Collective collective, uint32_t size) {
  return HoldsBlocks(collective) && !IsIrregular(collective) ? size : 1;
}

uint64_t LimitBytes(const CallArguments& arguments, uint64_t bytes_max) {
  return (arguments.options & kPairsBounded) != 0 ? std::min(bytes_max, kPairBoundMax) : bytes_max;
}

bool Fits(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max) {
  // At most 16 B a type and 2^32 blocks: the second factor cannot overflow, the product can.
  const uint64_t unit_bytes = ElementBytes(arguments.type) * EqualBlocks(arguments.collective, size);
  uint64_t bytes = 0;
  return !__builtin_mul_overflow(count, unit_bytes, &bytes) && bytes <= LimitBytes(arguments, bytes_max);
}

CallDefect CheckOp(const RawArguments& raw) {
  if (!IsBelow(raw.op, kElementOpCount)) return Unknown("op", raw.op, kElementOpCount);
  const auto op = static_cast<ElementOp>(raw.op);
  const auto type = static_cast<ElementType>(raw.type);
  if (IsDefined(op, type)) return {};
  return Defect(Failure::kInvalidArgument, "the operation is not defined on the type",
                {{"op", std::string(kElementOpNames[raw.op])}, {"type", std::string(kElementTypes[raw.type].name)}});
}

}  // namespace

CallDefect CheckArguments(const RawArguments& raw, uint32_t size, uint64_t bytes_max, CallArguments* arguments) {
  if (!IsBelow(raw.collective, kCollectiveCount)) return Unknown("collective", raw.collective, kCollectiveCount);
  CallArguments result;
  const auto collective = result.collective = static_cast<Collective>(raw.collective);
  if (HasRoot(collective)) {
    if (raw.root >= size) {
      return Defect(Failure::kInvalidArgument, "the root is no rank of the team",
                    {{"root", std::to_string(raw.root)}, {"size", std::to_string(size)}});
    }
    result.root = raw.root;
  }
  if (!HasData(collective)) {
    *arguments = result;
    return {};
  }
  if (!IsBelow(raw.type, kElementTypeCount)) return Unknown("type", raw.type, kElementTypeCount);
  result.type = static_cast<ElementType>(raw.type);
  result.options = raw.options & OptionsOf(collective);
  if (Reduces(collective) && !raw.has_own_op) {
    if (CallDefect defect = CheckOp(raw)) return defect;
    result.op = static_cast<ElementOp>(raw.op);
  }
  if (!Fits(result, raw.count, size, bytes_max)) return CheckCount(result, raw.count, size, bytes_max);
  if (!IsIrregular(collective) || (result.options & kPairsBounded) != 0) result.count = raw.count;
  *arguments = result;
  return {};
}

CallDefect CheckCount(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max) {
  if (Fits(arguments, count, size, bytes_max)) return {};
  const uint64_t blocks = EqualBlocks(arguments.collective, size);
  const uint64_t type_bytes = ElementBytes(arguments.type);
  const uint64_t limit = LimitBytes(arguments, bytes_max) / type_bytes / blocks;
  return Defect(Failure::kNotSupported, "the message is too long",
                {{"count", std::to_string(count)},
                 {"limit", std::to_string(limit)},
                 {"type_bytes", std::to_string(type_bytes)},
                 {"blocks", std::to_string(blocks)}});
}

CallDefect BlockSums::Add(uint32_t rank, const Block& block) {
  const auto defect = [&](Failure failure, std::string_view what, std::initializer_list<Fact> facts) {
    CallDefect result = Defect(failure, std::string(side_) + std::string(what), facts);
    return result;
  };
  const uint64_t type_bytes = ElementBytes(type_);
  if (block.bytes % type_bytes != 0) {
    return defect(Failure::kInvalidArgument, " block is not of whole elements",
                  {{"rank", std::to_string(rank)},
                   {"bytes", std::to_string(block.bytes)},
                   {"type_bytes", std::to_string(type_bytes)}});
  }
  if (block.bytes > bytes_max_ - total_bytes_) {
    return defect(Failure::kNotSupported, " blocks are too long",
                  {{"rank", std::to_string(rank)},
                   {"bytes", std::to_string(block.bytes)},
                   {"bytes_before", std::to_string(total_bytes_)},
                   {"limit", std::to_string(bytes_max_)}});
  }
  total_bytes_ += block.bytes;
  if (block.bytes == 0) return {};
  if (block.offset > UINT64_MAX - block.bytes) {
    return defect(Failure::kInvalidArgument, " block is out of range",
                  {{"rank", std::to_string(rank)},
                   {"offset", std::to_string(block.offset)},
                   {"bytes", std::to_string(block.bytes)}});
  }
  span_bytes_ = std::max(span_bytes_, block.offset + block.bytes);
  return {};
}

CallDefect CheckOwnCount(uint32_t rank, uint64_t count, const Block& listed, ElementType type) {
  const uint64_t counted = listed.bytes / ElementBytes(type);
  if (count == counted) return {};
  return Defect(
      Failure::kInvalidArgument, "count differs from what the counts say of this rank",
      {{"count", std::to_string(count)}, {"rank", std::to_string(rank)}, {"counted", std::to_string(counted)}});
}

}  // namespace copse
