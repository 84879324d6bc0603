// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/call_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "offload_emu/alu.h"
#include "planner/schedule/collective.h"
#include "planner/schedule/plan.h"

namespace copse::daemon {
namespace {

using schedule::Collective;

absl::Status OutOfRange(const char* what, uint64_t value, uint64_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("call: unknown ", what, " (", what, "=", value, ", limit=", limit, ")"));
}

// What MPI makes equal on all ranks; fields without a meaning for the collective are set to zero.
absl::StatusOr<schedule::CallArguments> CheckArguments(const ring::DqEntry& entry) {
  if (entry.collective >= schedule::kCollectiveCount) {
    return OutOfRange("collective", entry.collective, schedule::kCollectiveCount - 1);
  }
  schedule::CallArguments arguments;
  arguments.collective = static_cast<Collective>(entry.collective);
  if (arguments.collective == Collective::kBarrier) return arguments;

  if (entry.type >= emu::kAluTypeCount) return OutOfRange("type", entry.type, emu::kAluTypeCount - 1);
  arguments.type = static_cast<emu::AluType>(entry.type);
  const uint64_t count_max = schedule::kMessageBytesMax / emu::AluTypeBytes(arguments.type);
  if (entry.count > count_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("call: message too long (count=", entry.count, ", limit=", count_max, ")"));
  }
  arguments.count = entry.count;
  if (arguments.collective != Collective::kAllreduce) arguments.root = entry.root;
  if (arguments.collective == Collective::kBcast) return arguments;

  if (entry.op >= emu::kAluOpCount) return OutOfRange("operation", entry.op, emu::kAluOpCount - 1);
  arguments.op = static_cast<emu::AluOp>(entry.op);
  return arguments;
}

bool Sends(const schedule::CallArguments& arguments, uint32_t rank) {
  switch (arguments.collective) {
    case Collective::kBarrier:
      return false;
    case Collective::kBcast:
      return rank == arguments.root;
    case Collective::kReduce:
    case Collective::kAllreduce:
      return true;
    default:
      return false;
  }
}

bool Receives(const schedule::CallArguments& arguments, uint32_t rank) {
  switch (arguments.collective) {
    case Collective::kBarrier:
      return false;
    case Collective::kBcast:
      return rank != arguments.root;
    case Collective::kReduce:
      return rank == arguments.root;
    case Collective::kAllreduce:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<CheckedCall> CheckCall(const ring::DqSlot& slot, uint32_t rank, const RegionTable& regions) {
  const ring::DqEntry& entry = slot.entry;
  CheckedCall call;
  CallPost& post = call.post;
  post.team = entry.team;
  ASSIGN_OR_RETURN(post.arguments, CheckArguments(entry));
  const uint64_t bytes = post.arguments.bytes();
  if (bytes == 0) return call;

  if (Receives(post.arguments, rank)) {
    ASSIGN_OR_RETURN(post.receive, regions.Resolve("receive", slot.receive, bytes));
    post.receive_bytes = bytes;
    call.receive_region = slot.receive.region;
  }
  if (!Sends(post.arguments, rank)) return call;
  post.send_bytes = bytes;
  if ((entry.flags & ring::kInPlace) != 0 && post.arguments.collective != Collective::kBcast) {
    if (post.receive == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("call: in place, but this rank has no result (rank=", rank,
                                                     ", root=", post.arguments.root, ")"));
    }
    post.send = post.receive;
  } else if ((entry.flags & ring::kSendInline) != 0) {
    if (bytes > ring::kInlineBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("call: inline message too long (bytes=", bytes, ", limit=", ring::kInlineBytes, ")"));
    }
    post.send = entry.payload;
    post.send_is_inline = true;
  } else {
    ASSIGN_OR_RETURN(post.send, regions.Resolve("send", entry.send, bytes));
    call.send_region = entry.send.region;
  }
  return call;
}

}  // namespace copse::daemon
