// SPDX-License-Identifier: Apache-2.0

#include "client/testing/plain_collectives.h"

#include <cstddef>

#include "base/element_reference.h"
#include "base/element_types.h"
#include "collectives/collective.h"

namespace copse::client {
namespace {

void Reduce(copse_datatype_t type, copse_op_t op, PlainBlock* target, const PlainBlock& operand) {
  WithElementType(static_cast<ElementType>(type), [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i + sizeof(T) <= target->size(); i += sizeof(T)) {
      const T a = GetElement<T>(target->data() + i), b = GetElement<T>(operand.data() + i);
      PutElement(CombineElements<T>(static_cast<ElementOp>(op), a, b), target->data() + i);
    }
  });
}

}  // namespace

std::vector<PlainBlock> PlainResult(const PlainCall& call, const PlainParts& parts, uint32_t rank) {
  const auto size = static_cast<uint32_t>(parts.size());
  const auto collective = static_cast<Collective>(call.collective);
  // What `from` sends to this rank.
  const auto part = [&](uint32_t from) -> const PlainBlock& {
    return parts[from][SendBuffer(collective, from, call.root) == BufferKind::kBlocks ? rank : 0];
  };
  const BufferKind kind = ReceiveBuffer(collective, rank, call.root);
  if (kind == BufferKind::kNone) return {};
  if (!Reduces(collective)) {
    std::vector<PlainBlock> blocks;
    for (uint32_t index = 0; index < (kind == BufferKind::kBlocks ? size : 1); ++index) {
      blocks.push_back(part(SourceOf(collective, index, rank, size, call.root)));
    }
    return blocks;
  }
  const uint32_t end = OperandCount(collective, rank, size);
  PlainBlock result = part(0);
  for (uint32_t from = 1; from < end; ++from) {
    if (part(from).size() != result.size()) return {};
    Reduce(call.type, call.op, &result, part(from));
  }
  return {result};
}

}  // namespace copse::client
