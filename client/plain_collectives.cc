// SPDX-License-Identifier: Apache-2.0

#include "client/plain_collectives.h"

#include <cstddef>

#include "base/element_reference.h"
#include "base/element_types.h"

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

bool Combines(copse_collective_t collective) {
  return collective == COPSE_COLL_REDUCE || collective == COPSE_COLL_ALLREDUCE ||
         collective == COPSE_COLL_REDUCE_SCATTER || collective == COPSE_COLL_REDUCE_SCATTERV ||
         collective == COPSE_COLL_SCAN || collective == COPSE_COLL_EXSCAN;
}

}  // namespace

PlainBuffer PlainSends(copse_collective_t collective, uint32_t rank, uint32_t root) {
  switch (collective) {
    case COPSE_COLL_BARRIER:
      return PlainBuffer::kNone;
    case COPSE_COLL_BCAST:
      return rank == root ? PlainBuffer::kOne : PlainBuffer::kNone;
    case COPSE_COLL_SCATTER:
    case COPSE_COLL_SCATTERV:
      return rank == root ? PlainBuffer::kBlocks : PlainBuffer::kNone;
    case COPSE_COLL_ALLTOALL:
    case COPSE_COLL_ALLTOALLV:
    case COPSE_COLL_REDUCE_SCATTER:
    case COPSE_COLL_REDUCE_SCATTERV:
      return PlainBuffer::kBlocks;
    default:
      return PlainBuffer::kOne;
  }
}

PlainBuffer PlainReceives(copse_collective_t collective, uint32_t rank, uint32_t root) {
  switch (collective) {
    case COPSE_COLL_BARRIER:
      return PlainBuffer::kNone;
    case COPSE_COLL_BCAST:
      return rank != root ? PlainBuffer::kOne : PlainBuffer::kNone;
    case COPSE_COLL_REDUCE:
      return rank == root ? PlainBuffer::kOne : PlainBuffer::kNone;
    case COPSE_COLL_GATHER:
    case COPSE_COLL_GATHERV:
      return rank == root ? PlainBuffer::kBlocks : PlainBuffer::kNone;
    case COPSE_COLL_ALLGATHER:
    case COPSE_COLL_ALLGATHERV:
    case COPSE_COLL_ALLTOALL:
    case COPSE_COLL_ALLTOALLV:
      return PlainBuffer::kBlocks;
    case COPSE_COLL_EXSCAN:
      return rank != 0 ? PlainBuffer::kOne : PlainBuffer::kNone;
    default:
      return PlainBuffer::kOne;
  }
}

std::vector<PlainBlock> PlainResult(const PlainCall& call, const PlainParts& parts, uint32_t rank) {
  const auto size = static_cast<uint32_t>(parts.size());
  // What `from` sends to this rank.
  const auto part = [&](uint32_t from) -> const PlainBlock& {
    return parts[from][PlainSends(call.collective, from, call.root) == PlainBuffer::kBlocks ? rank : 0];
  };
  switch (PlainReceives(call.collective, rank, call.root)) {
    case PlainBuffer::kNone:
      return {};
    case PlainBuffer::kBlocks: {
      std::vector<PlainBlock> blocks;
      for (uint32_t from = 0; from < size; ++from) blocks.push_back(part(from));
      return blocks;
    }
    case PlainBuffer::kOne:
      break;
  }
  if (!Combines(call.collective)) return {part(call.root)};
  const bool is_prefix = call.collective == COPSE_COLL_SCAN || call.collective == COPSE_COLL_EXSCAN;
  const uint32_t end = !is_prefix ? size : call.collective == COPSE_COLL_SCAN ? rank + 1 : rank;
  PlainBlock result = part(0);
  for (uint32_t from = 1; from < end; ++from) {
    if (part(from).size() != result.size()) return {};
    Reduce(call.type, call.op, &result, part(from));
  }
  return {result};
}

}  // namespace copse::client
