// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/call_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collectives/call_arguments.h"
#include "collectives/call_check.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

absl::Status Refusal(const CallDefect& defect) {
  const std::string text = absl::StrCat("call: ", defect.text);
  return defect.failure == Failure::kNotSupported ? absl::UnimplementedError(text) : absl::InvalidArgumentError(text);
}

uint8_t OptionsOf(const ring::DqEntry& entry) {
  static_assert(ring::kPairBoundMax == kPairBoundMax);
  uint8_t options = 0;
  if ((entry.flags & ring::kCountsKnown) != 0) options |= kCountsKnown;
  if ((entry.flags & ring::kPairsBounded) != 0) options |= kPairsBounded;
  if ((entry.flags & ring::kReproducible) != 0) options |= kReproducible;
  return options;
}

absl::StatusOr<CallArguments> ReadArguments(const ring::DqEntry& entry, uint32_t size) {
  CallArguments arguments;
  const RawArguments raw{.collective = entry.collective,
                         .type = entry.type,
                         .op = entry.op,
                         .options = OptionsOf(entry),
                         .count = entry.count,
                         .root = entry.root};
  if (const CallDefect defect = CheckArguments(raw, size, schedule::kCallBytesMax, &arguments)) return Refusal(defect);
  return arguments;
}

// A CheckedList holds a list of blocks, the bytes of the buffer that they span, and the sum of their bytes.
struct CheckedList {
  std::shared_ptr<const BlockList> blocks;
  uint64_t span = 0;
  uint64_t total = 0;
};

// Returns a checked copy of the client's list at `place`. `side`, "send" or "receive", is for error texts.
absl::StatusOr<CheckedList> ReadList(const char* side, const ring::Place& place, uint32_t size, ElementType type,
                                     const RegionTable& regions) {
  const uint64_t bytes = uint64_t{size} * sizeof(Block);
  ASSIGN_OR_RETURN(const uint8_t* theirs, regions.Resolve(side, place, bytes));
  auto blocks = std::make_shared<BlockList>(size);
  memcpy(static_cast<void*>(blocks->data()), theirs, bytes);  // read once, since the client may change it
  BlockSums sums(side, type, schedule::kCallBytesMax);
  for (uint32_t rank = 0; rank < size; ++rank) {
    Block& block = (*blocks)[rank];
    if (const CallDefect defect = sums.Add(rank, block)) return Refusal(defect);
    if (block.bytes == 0) block.offset = 0;
  }
  return CheckedList{.blocks = std::move(blocks), .span = sums.span_bytes(), .total = sums.total_bytes()};
}

// Checks the lists that this rank gives, and sets the arguments that follow from them.
absl::Status CheckLists(const ring::DqEntry& entry, const TeamMember& member, const RegionTable& regions,
                        CheckedCall* call, CheckedList* send, CheckedList* receive) {
  CallArguments& arguments = call->post.arguments;
  ring::ListPlaces places;
  memcpy(&places, entry.payload, sizeof(places));
  if (GivesSendBlocks(arguments.collective, arguments.options, member.rank, arguments.root)) {
    ASSIGN_OR_RETURN(*send, ReadList("send", places.send, member.size, arguments.type, regions));
  }
  if (GivesReceiveBlocks(arguments.collective, arguments.options, member.rank, arguments.root)) {
    ASSIGN_OR_RETURN(*receive, ReadList("receive", places.receive, member.size, arguments.type, regions));
  }
  const CheckedList& known = send->blocks != nullptr ? *send : *receive;
  if (KnowsCounts(arguments.collective, arguments.options)) {
    std::vector<uint64_t> bytes;
    bytes.reserve(member.size);
    for (const Block& block : *known.blocks) bytes.push_back(block.bytes);
    arguments.counts_hash = HashCounts(bytes);
  }
  if (CountsAllBlocks(arguments.collective)) arguments.count = known.total / ElementBytes(arguments.type);
  for (const CheckedList* list : {send, receive}) {
    if (list->blocks != nullptr) call->list_bytes += list->blocks->size() * sizeof(Block);
  }
  // A buffer that is one block must have the length that the other side's list has for this rank.
  const bool sends_one = SendBuffer(arguments.collective, member.rank, arguments.root) == BufferKind::kOne;
  if (const CheckedList& other = sends_one ? *receive : *send;
      other.blocks != nullptr && !HasPairSizes(arguments.collective)) {
    if (const CallDefect defect =
            CheckOwnCount(member.rank, entry.count, (*other.blocks)[member.rank], arguments.type)) {
      return Refusal(defect);
    }
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
    static_assert(ring::kInlineBytes <= kInlineBytesMax);
    memcpy(post.inline_data.data(), entry.payload, bytes);
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
  ASSIGN_OR_RETURN(post.arguments, ReadArguments(entry, member.size));
  const CallArguments& arguments = post.arguments;
  if (const CallDefect defect = CheckCount(arguments, entry.count, member.size, schedule::kCallBytesMax)) {
    return Refusal(defect);
  }
  CheckedList send, receive;
  if (IsIrregular(arguments.collective)) {
    RETURN_IF_ERROR(CheckLists(entry, member, regions, &call, &send, &receive));
  }
  const uint64_t one_bytes = entry.count * ElementBytes(arguments.type);
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
