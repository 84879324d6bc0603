// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_check.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace copse {
namespace {

// A Fact is a name and its value in a message.
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

// The functions that word errors are cold, so that correct calls pay nothing for them.
[[gnu::cold, gnu::noinline]] CallDefect Unknown(std::string_view name, int64_t value, int count) {
  return Defect(Failure::kInvalidArgument, "unknown " + std::string(name),
                {{name, std::to_string(value)}, {"limit", std::to_string(count - 1)}});
}

[[gnu::cold, gnu::noinline]] CallDefect NotDefined(ElementOp op, ElementType type) {
  return Defect(Failure::kInvalidArgument, "the operation is not defined on the type",
                {{"op", std::string(ElementOpName(op))}, {"type", std::string(ElementTypeName(type))}});
}

[[gnu::cold, gnu::noinline]] CallDefect NoRank(uint32_t root, uint32_t size) {
  return Defect(Failure::kInvalidArgument, "the root is no rank of the team",
                {{"root", std::to_string(root)}, {"size", std::to_string(size)}});
}

// A Longest describes the longest buffer of a call: its number of blocks, and the bytes that it may have.
struct Longest {
  Longest(const CallArguments& arguments, uint32_t size, uint64_t bytes_max)
      : blocks(HoldsBlocks(arguments.collective) && !IsIrregular(arguments.collective) ? size : 1),
        bytes_limit((arguments.options & kPairsBounded) != 0 ? std::min(bytes_max, kPairBoundMax) : bytes_max) {}

  bool Has(uint64_t count, uint64_t type_bytes) const {
    // The product of the element size (at most 16) and the number of blocks (below 2^32) cannot overflow; the product
    // with the count can.
    uint64_t bytes = 0;
    return !__builtin_mul_overflow(count, type_bytes * blocks, &bytes) && bytes <= bytes_limit;
  }

  const uint64_t blocks;
  const uint64_t bytes_limit;
};

[[gnu::cold, gnu::noinline]] CallDefect TooLong(const Longest& longest, uint64_t count, uint64_t type_bytes) {
  return Defect(Failure::kNotSupported, "the message is too long",
                {{"count", std::to_string(count)},
                 {"limit", std::to_string(longest.bytes_limit / type_bytes / longest.blocks)},
                 {"type_bytes", std::to_string(type_bytes)},
                 {"blocks", std::to_string(longest.blocks)}});
}

inline bool IsBelow(int64_t value, int count) { return 0 <= value && value < count; }

inline CallDefect CheckLength(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max) {
  const Longest longest(arguments, size, bytes_max);
  const uint64_t type_bytes = ElementBytes(arguments.type);
  return longest.Has(count, type_bytes) ? CallDefect{} : TooLong(longest, count, type_bytes);
}

}  // namespace

CallDefect CheckArguments(const RawArguments& raw, uint32_t size, uint64_t bytes_max, CallArguments* arguments) {
  if (!IsBelow(raw.collective, kCollectiveCount)) return Unknown("collective", raw.collective, kCollectiveCount);
  CallArguments result;
  const auto collective = result.collective = static_cast<Collective>(raw.collective);
  if (HasRoot(collective)) {
    if (raw.root >= size) return NoRank(raw.root, size);
    result.root = raw.root;
  }
  if (HasData(collective)) {
    if (!IsBelow(raw.type, kElementTypeCount)) return Unknown("type", raw.type, kElementTypeCount);
    result.type = static_cast<ElementType>(raw.type);
    result.options = raw.options & OptionsOf(collective);
    if (Reduces(collective) && !raw.has_own_op) {
      if (!IsBelow(raw.op, kElementOpCount)) return Unknown("op", raw.op, kElementOpCount);
      result.op = static_cast<ElementOp>(raw.op);
      if (!IsDefined(result.op, result.type)) return NotDefined(result.op, result.type);
    }
    if (!IsIrregular(collective) || (result.options & kPairsBounded) != 0) {
      if (CallDefect defect = CheckLength(result, raw.count, size, bytes_max)) return defect;
      result.count = raw.count;
    }
  }
  *arguments = result;
  return {};
}

CallDefect CheckCount(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max) {
  return CheckLength(arguments, count, size, bytes_max);
}

CallDefect BlockSums::Add(uint32_t rank, const Block& block) {
  const auto defect = [&](Failure failure, const char* what, std::initializer_list<Fact> facts) {
    return Defect(failure, side_ + std::string(what), facts);
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
