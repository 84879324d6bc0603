// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/post_check.h"

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::daemon {
namespace {

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
  // Divided, not multiplied: a count from a client may be anything.
  if (a.count > schedule::kMessageBytesMax / emu::AluTypeBytes(a.type)) {
    return {Failure::kNotSupported,
            absl::StrCat(AbslView(CollectiveName(a.collective)), ": message too long (count=", a.count,
                         ", limit=", schedule::kMessageBytesMax / emu::AluTypeBytes(a.type), ")")};
  }
  const uint64_t bytes = a.bytes();
  if (bytes == 0) return {};
  const bool at_root = schedule::HasRoot(a.collective) && a.root == rank.value();
  const bool sends = a.collective != Collective::kBcast || at_root;
  const bool receives = a.collective == Collective::kAllreduce || (a.collective == Collective::kReduce && at_root) ||
                        (a.collective == Collective::kBcast && !at_root);
  if (post.send_is_inline && (post.send == nullptr || post.send_bytes > kInlineBytesMax)) {
    return Invalid(a, "inline contribution too long (bytes=", post.send_bytes, ", limit=", kInlineBytesMax, ")");
  }
  if (sends && (post.send == nullptr || post.send_bytes < bytes)) {
    return Invalid(a, "send buffer too small (bytes=", post.send == nullptr ? 0 : post.send_bytes, ", needed=", bytes,
                   ")");
  }
  if (receives && (post.receive == nullptr || post.receive_bytes < bytes)) {
    return Invalid(a, "receive buffer too small (bytes=", post.receive == nullptr ? 0 : post.receive_bytes,
                   ", needed=", bytes, ")");
  }
  return {};
}

}  // namespace copse::daemon
