// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/post_check.h"

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "schedule/buffers.h"

namespace copse::daemon {
namespace {

using schedule::BufferKind;
using schedule::CallArguments;
using schedule::Collective;
using schedule::Failure;
using schedule::FailureReport;

template <typename... Parts>
FailureReport Invalid(const CallArguments& arguments, const Parts&... parts) {
  const auto index = static_cast<uint32_t>(arguments.collective);
  const std::string name =
      index < schedule::kCollectiveCount ? std::string(CollectiveName(arguments.collective)) : "call";
  return {Failure::kInvalidArgument, absl::StrCat(name, ": ", parts...)};
}

FailureReport TooLong(const CallArguments& arguments, uint64_t limit) {
  return {Failure::kNotSupported, absl::StrCat(AbslView(CollectiveName(arguments.collective)),
                                               ": message too long (count=", arguments.count, ", limit=", limit, ")")};
}

// One of the two buffers of a post.
struct Side {
  const char* name;
  BufferKind buffer;
  const uint8_t* address;
  uint64_t bytes;  // mapped
  const schedule::BlockList* blocks;
  bool gives_blocks;  // whether it must have them
};

// Sets *total to what the blocks have together; they may lie anywhere.
FailureReport CheckSizes(const CallArguments& a, const Side& side, uint32_t size, uint64_t* total) {
  if (side.blocks == nullptr || side.blocks->size() != size) {
    return Invalid(a, side.name,
                   " blocks are not one a rank (blocks=", side.blocks == nullptr ? 0 : side.blocks->size(),
                   ", size=", size, ")");
  }
  const uint64_t type_bytes = emu::AluTypeBytes(a.type);
  *total = 0;
  for (const schedule::Block& block : *side.blocks) {
    if (block.bytes % type_bytes != 0) {
      return Invalid(a, side.name, " block is not of whole elements (bytes=", block.bytes, ", type_bytes=", type_bytes,
                     ")");
    }
    // One after another, as sums may overflow.
    if (block.bytes > schedule::kCallBytesMax - *total) {
      return {Failure::kNotSupported, absl::StrCat(AbslView(CollectiveName(a.collective)), ": ", side.name,
                                                   " blocks are too long (bytes=", block.bytes, ", before=", *total,
                                                   ", limit=", schedule::kCallBytesMax, ")")};
    }
    *total += block.bytes;
  }
  return {};
}

FailureReport TooSmall(const CallArguments& a, const Side& side, uint64_t needed) {
  return Invalid(a, side.name, " buffer too small (bytes=", side.address == nullptr ? 0 : side.bytes,
                 ", needed=", needed, ")");
}

// `own_block`: what the other side's list says of this rank's own block, if there is one.
FailureReport CheckIrregular(const CallArguments& a, const Side& side, const schedule::Block* own_block) {
  if (side.buffer == BufferKind::kOne) {
    if (side.bytes > schedule::kCallBytesMax) return TooLong(a, schedule::kCallBytesMax / emu::AluTypeBytes(a.type));
    if (side.bytes > 0 && side.address == nullptr) return TooSmall(a, side, side.bytes);
    if (side.bytes % emu::AluTypeBytes(a.type) != 0) {
      return Invalid(a, side.name, " buffer is not of whole elements (bytes=", side.bytes,
                     ", type_bytes=", emu::AluTypeBytes(a.type), ")");
    }
    if (own_block != nullptr && own_block->bytes != side.bytes) {
      return Invalid(a, side.name, " buffer is not as long as the counts say (bytes=", side.bytes,
                     ", counts=", own_block->bytes, ")");
    }
    return {};
  }
  if (side.buffer == BufferKind::kNone) return {};
  for (const schedule::Block& block : *side.blocks) {
    if (block.bytes == 0) continue;
    const bool fits = side.address != nullptr && block.offset <= side.bytes && block.bytes <= side.bytes - block.offset;
    if (!fits) {
      return Invalid(a, side.name, " block leaves its buffer (offset=", block.offset, ", bytes=", block.bytes,
                     ", limit=", side.address == nullptr ? 0 : side.bytes, ")");
    }
  }
  return {};
}

FailureReport CheckIrregular(const CallPost& post, const Side& send, const Side& receive, Rank rank, uint32_t size) {
  const CallArguments& a = post.arguments;
  uint64_t total = 0;
  for (const Side* side : {&send, &receive}) {
    if (!side->gives_blocks) continue;
    if (FailureReport bad = CheckSizes(a, *side, size, &total); bad.failure != Failure::kNone) return bad;
  }
  const bool has_count = a.collective == Collective::kAllgatherv || a.collective == Collective::kReduceScatterv;
  const bool is_bounded = a.collective == Collective::kAlltoallv && (a.options & schedule::kPairsBounded) != 0;
  const uint64_t count_max = schedule::kPairBoundMax / emu::AluTypeBytes(a.type);
  if (is_bounded && a.count > count_max) return TooLong(a, count_max);
  const uint64_t count = has_count ? total / emu::AluTypeBytes(a.type) : 0;
  if (a.count != count && !is_bounded)
    return Invalid(a, "count is not of all blocks (count=", a.count, ", blocks=", count, ")");
  for (const Side* side : {&send, &receive}) {
    const Side& other = side == &send ? receive : send;
    const schedule::Block* own = other.gives_blocks ? &(*other.blocks)[rank.value()] : nullptr;
    if (FailureReport bad = CheckIrregular(a, *side, own); bad.failure != Failure::kNone) return bad;
  }
  return {};
}

FailureReport CheckRegular(const CallArguments& a, const Side& side, uint32_t size) {
  const uint64_t needed =
      side.buffer == BufferKind::kNone ? 0 : a.bytes() * (side.buffer == BufferKind::kBlocks ? size : 1);
  if (needed == 0 || (side.address != nullptr && side.bytes >= needed)) return {};
  return TooSmall(a, side, needed);
}

}  // namespace

FailureReport CheckPost(const CallPost& post, Rank rank, uint32_t size) {
  const CallArguments& a = post.arguments;
  if (static_cast<uint32_t>(a.collective) >= schedule::kCollectiveCount) {
    return Invalid(a, "unknown collective (collective=", static_cast<uint32_t>(a.collective),
                   ", limit=", schedule::kCollectiveCount - 1, ")");
  }
  if (a.collective == Collective::kBarrier) return {};
  if (static_cast<uint32_t>(a.type) >= emu::kAluTypeCount) {
    return Invalid(a, "unknown type (type=", static_cast<uint32_t>(a.type), ", limit=", emu::kAluTypeCount - 1, ")");
  }
  if (schedule::HasRoot(a.collective) && a.root >= size) {
    return Invalid(a, "root is no member (root=", a.root, ", limit=", size - 1, ")");
  }
  if (schedule::Reduces(a.collective)) {
    if (static_cast<uint32_t>(a.op) >= emu::kAluOpCount) {
      return Invalid(a, "unknown operation (op=", static_cast<uint32_t>(a.op), ", limit=", emu::kAluOpCount - 1, ")");
    }
    if (!emu::AluSupports(a.op, a.type)) {
      return Invalid(a, "operation is not defined on the type (op=", AbslView(emu::AluOpName(a.op)),
                     ", type=", AbslView(emu::AluTypeName(a.type)), ")");
    }
  }
  if (!schedule::IsIrregular(a.collective) && a.count == 0) return {};
  if (post.send_is_inline && (post.send == nullptr || post.send_bytes > kInlineBytesMax)) {
    return Invalid(a, "inline contribution too long (bytes=", post.send_bytes, ", limit=", kInlineBytesMax, ")");
  }
  const Side send{"send",
                  schedule::SendBuffer(a.collective, rank.value(), a.root),
                  post.send,
                  post.send_bytes,
                  post.send_blocks.get(),
                  schedule::GivesSendBlocks(a.collective, a.options, rank.value(), a.root)};
  const Side receive{"receive",
                     schedule::ReceiveBuffer(a.collective, rank.value(), a.root),
                     post.receive,
                     post.receive_bytes,
                     post.receive_blocks.get(),
                     schedule::GivesReceiveBlocks(a.collective, a.options, rank.value(), a.root)};
  if (schedule::IsIrregular(a.collective)) return CheckIrregular(post, send, receive, rank, size);
  // Divided, not multiplied: a count from a client may be anything. What any rank may not have, all may not.
  const uint64_t blocks = schedule::HoldsBlocks(a.collective) ? size : 1;
  const uint64_t count_max = schedule::kCallBytesMax / emu::AluTypeBytes(a.type) / blocks;
  if (a.count > count_max) return TooLong(a, count_max);
  if (FailureReport bad = CheckRegular(a, send, size); bad.failure != Failure::kNone) return bad;
  return CheckRegular(a, receive, size);
}

}  // namespace copse::daemon
