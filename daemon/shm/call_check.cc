// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/call_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "offload_emu/alu.h"
#include "schedule/block_list.h"
#include "schedule/buffers.h"
#include "schedule/collective.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

using schedule::BlockList;
using schedule::BufferKind;
using schedule::CallArguments;
using schedule::Collective;

absl::Status OutOfRange(const char* what, uint64_t value, uint64_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("call: unknown ", what, " (", what, "=", value, ", limit=", limit, ")"));
}

// What MPI makes equal on all ranks, but for what lists say; fields without a meaning for the collective are set to
// zero.
absl::StatusOr<CallArguments> CheckArguments(const ring::DqEntry& entry, uint32_t size) {
  if (entry.collective >= schedule::kCollectiveCount) {
    return OutOfRange("collective", entry.collective, schedule::kCollectiveCount - 1);
  }
  CallArguments arguments;
  arguments.collective = static_cast<Collective>(entry.collective);
  if (arguments.collective == Collective::kBarrier) return arguments;

  if (entry.type >= emu::kAluTypeCount) return OutOfRange("type", entry.type, emu::kAluTypeCount - 1);
  arguments.type = static_cast<emu::AluType>(entry.type);
  // All blocks together: divided, as the product may overflow.
  const uint64_t blocks = schedule::HoldsBlocks(arguments.collective) && !IsIrregular(arguments.collective) ? size : 1;
  const uint64_t count_max = schedule::kCallBytesMax / emu::AluTypeBytes(arguments.type) / blocks;
  if (entry.count > count_max) {
    return absl::UnimplementedError(
        absl::StrCat("call: message too long (count=", entry.count, ", limit=", count_max, ")"));
  }
  if (!IsIrregular(arguments.collective)) arguments.count = entry.count;
  if (HasRoot(arguments.collective)) {
    if (entry.root >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("call: root is no member (root=", entry.root, ", size=", size, ")"));
    }
    arguments.root = entry.root;
  }
  if ((entry.flags & ring::kCountsKnown) != 0 &&
      (arguments.collective == Collective::kGatherv || arguments.collective == Collective::kScatterv)) {
    arguments.options = schedule::kCountsKnown;
  }
  static_assert(ring::kPairBoundMax == schedule::kPairBoundMax);
  if ((entry.flags & ring::kPairsBounded) != 0 && arguments.collective == Collective::kAlltoallv) {
    arguments.options = schedule::kPairsBounded;
    arguments.count = entry.count;
  }
  if (!Reduces(arguments.collective)) return arguments;
  if ((entry.flags & ring::kReproducible) != 0) arguments.options = schedule::kReproducible;
  if (entry.op >= emu::kAluOpCount) return OutOfRange("operation", entry.op, emu::kAluOpCount - 1);
  arguments.op = static_cast<emu::AluOp>(entry.op);
  return arguments;
}

// A list of blocks, and how many bytes of their buffer they span.
struct CheckedList {
  std::shared_ptr<const BlockList> blocks;
  uint64_t span = 0;
  uint64_t total = 0;
};

// `what`: "send" or "receive".
absl::StatusOr<CheckedList> ReadList(const char* what, const ring::Place& place, uint32_t size, uint64_t type_bytes,
                                     const RegionTable& regions) {
  static_assert(sizeof(ring::Block) == sizeof(schedule::Block));
  const uint64_t bytes = uint64_t{size} * sizeof(ring::Block);
  ASSIGN_OR_RETURN(const uint8_t* theirs, regions.Resolve(what, place, bytes));
  auto blocks = std::make_shared<BlockList>(size);
  memcpy(static_cast<void*>(blocks->data()), theirs, bytes);  // once: it may change under us
  CheckedList list;
  for (uint32_t rank = 0; rank < size; ++rank) {
    schedule::Block& block = (*blocks)[rank];
    if (block.bytes % type_bytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat("call: ", what, " block is not of whole elements (rank=", rank,
                                                     ", bytes=", block.bytes, ", type_bytes=", type_bytes, ")"));
    }
    if (block.bytes > schedule::kCallBytesMax - list.total) {
      return absl::UnimplementedError(absl::StrCat("call: ", what, " blocks are too long (rank=", rank,
                                                   ", bytes=", block.bytes, ", limit=", schedule::kCallBytesMax, ")"));
    }
    list.total += block.bytes;
    if (block.bytes == 0) {
      block.offset = 0;
      continue;
    }
    if (block.offset > UINT64_MAX - block.bytes) {
      return absl::InvalidArgumentError(absl::StrCat("call: ", what, " block is nowhere (rank=", rank,
                                                     ", offset=", block.offset, ", bytes=", block.bytes, ")"));
    }
    list.span = std::max(list.span, block.offset + block.bytes);
  }
  list.blocks = std::move(blocks);
  return list;
}

// Lists that this rank gives, and what all ranks know by them.
absl::Status CheckLists(const ring::DqEntry& entry, const TeamMember& member, const RegionTable& regions,
                        CheckedCall* call, CheckedList* send, CheckedList* receive) {
  CallArguments& arguments = call->post.arguments;
  ring::ListPlaces places;
  memcpy(&places, entry.payload, sizeof(places));
  const uint64_t type_bytes = emu::AluTypeBytes(arguments.type);
  if (GivesSendBlocks(arguments.collective, arguments.options, member.rank, arguments.root)) {
    ASSIGN_OR_RETURN(*send, ReadList("send", places.send, member.size, type_bytes, regions));
  }
  if (GivesReceiveBlocks(arguments.collective, arguments.options, member.rank, arguments.root)) {
    ASSIGN_OR_RETURN(*receive, ReadList("receive", places.receive, member.size, type_bytes, regions));
  }
  const CheckedList& known = send->blocks != nullptr ? *send : *receive;
  if (KnowsCounts(arguments.collective, arguments.options)) {
    std::vector<uint64_t> bytes;
    bytes.reserve(member.size);
    for (const schedule::Block& block : *known.blocks) bytes.push_back(block.bytes);
    arguments.counts_hash = schedule::HashCounts(bytes);
  }
  if (arguments.collective == Collective::kAllgatherv || arguments.collective == Collective::kReduceScatterv) {
    arguments.count = known.total / type_bytes;
  }
  for (const CheckedList* list : {send, receive}) {
    if (list->blocks != nullptr) call->list_bytes += list->blocks->size() * sizeof(schedule::Block);
  }
  call->post.send_blocks = send->blocks;
  call->post.receive_blocks = receive->blocks;
  return absl::OkStatus();
}

absl::Status CheckSend(const ring::DqEntry& entry, const TeamMember& member, uint64_t bytes, const RegionTable& regions,
                       CheckedCall* call) {
  CallPost& post = call->post;
  post.send_bytes = bytes;
  const bool is_one = SendBuffer(post.arguments.collective, member.rank, post.arguments.root) == BufferKind::kOne;
  if ((entry.flags & ring::kInPlace) != 0 && post.arguments.collective != Collective::kBcast) {
    if (!is_one || HoldsBlocks(post.arguments.collective) || post.receive == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "call: in place, but this rank has no such result (rank=", member.rank, ", root=", post.arguments.root, ")"));
    }
    post.send = post.receive;
    return absl::OkStatus();
  }
  if ((entry.flags & ring::kSendInline) != 0 && !IsIrregular(post.arguments.collective)) {
    if (bytes > ring::kInlineBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("call: inline message too long (bytes=", bytes, ", limit=", ring::kInlineBytes, ")"));
    }
    post.send = entry.payload;
    post.send_is_inline = true;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(post.send, regions.Resolve("send", entry.send, bytes));
  call->send_region = entry.send.region;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckedCall> CheckCall(const ring::DqSlot& slot, const TeamMember& member, const RegionTable& regions) {
  const ring::DqEntry& entry = slot.entry;
  CheckedCall call;
  CallPost& post = call.post;
  post.team = entry.team;
  post.under_way_max = entry.under_way_max;
  ASSIGN_OR_RETURN(post.arguments, CheckArguments(entry, member.size));
  const CallArguments& arguments = post.arguments;
  CheckedList send, receive;
  if (IsIrregular(arguments.collective)) {
    RETURN_IF_ERROR(CheckLists(entry, member, regions, &call, &send, &receive));
  }
  const uint64_t one_bytes = entry.count * emu::AluTypeBytes(arguments.type);
  const auto bytes_of = [&](BufferKind buffer, const CheckedList& list) -> uint64_t {
    if (buffer == BufferKind::kNone) return 0;
    if (buffer == BufferKind::kOne) return one_bytes;
    return list.blocks != nullptr ? list.span : one_bytes * member.size;
  };
  const uint64_t receive_bytes = bytes_of(ReceiveBuffer(arguments.collective, member.rank, arguments.root), receive);
  if (receive_bytes > 0) {
    ASSIGN_OR_RETURN(post.receive, regions.Resolve("receive", slot.receive, receive_bytes));
    post.receive_bytes = receive_bytes;
    call.receive_region = slot.receive.region;
  }
  const uint64_t send_bytes = bytes_of(SendBuffer(arguments.collective, member.rank, arguments.root), send);
  if (send_bytes > 0) RETURN_IF_ERROR(CheckSend(entry, member, send_bytes, regions, &call));
  return call;
}

}  // namespace copse::daemon
