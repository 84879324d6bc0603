// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/leavers.h"

#include "absl/strings/str_cat.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

std::optional<FailureReport> Leavers::Check(Rank ahead, CallSeq next) const {
  for (const auto& [node, left] : members_->departures()) {
    const std::string& name = members_->node(node).name;
    // A node whose ranks have all left does not send its arguments any more; its packet has shown that they differ.
    const auto unlike = left.all ? unlike_.find(node) : unlike_.end();
    if (const CallRecord* ours = unlike == unlike_.end() ? nullptr : epochs_->Find(unlike->second); ours != nullptr) {
      return FailureReport{
          Failure::kMismatch,
          absl::StrCat("call ", ours->call().value(), ": arguments differ: rank ", ours->first.rank.value(),
                       " on node ", members_->node_name(), " gave ", DescribeArguments(ours->arguments()), "; ",
                       members_->DescribeNode(NodeIndex(node)), ", which has left the team, gave others"),
          FailureCause::kRanksDiffer, name};
    }
    if (next > left.calls) {
      return FailureReport{Failure::kMemberLost,
                           absl::StrCat(schedule::DescribeMember({left.rank}, name), " left the team after ",
                                        left.calls.value(), " calls, but call ", left.calls.value(), " was started by ",
                                        schedule::DescribeMember({ahead}, members_->node_name())),
                           FailureCause::kMemberLeft, name, left.rank};
    }
  }
  return std::nullopt;
}

}  // namespace copse::daemon
