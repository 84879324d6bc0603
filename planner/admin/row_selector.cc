// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/row_selector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

// As many nodes as the largest cluster has.
constexpr uint64_t kSelectedNodesMax = 65536;
// Longer values are cut in messages.
constexpr size_t kShownBytesMax = 64;

absl::Status NotSelectable(const std::string& value, const SelectableBy& by) {
  std::vector<std::string> allowed = {"node"};
  if (by.owner) allowed.insert(allowed.end(), {"user", "job"});
  if (!by.states.empty()) allowed.push_back("state");
  return absl::InvalidArgumentError(
      absl::StrCat("this list cannot be selected by that (", value, ", allowed=", absl::StrJoin(allowed, " "), ")"));
}

}  // namespace

absl::StatusOr<RowSelector> RowSelector::Create(const v1::RowSelector& proto, const SelectableBy& by) {
  RowSelector selector;
  if (!by.owner && proto.has_uid()) return NotSelectable(absl::StrCat("user=", proto.uid()), by);
  if (!by.owner && !proto.job().empty()) {
    return NotSelectable(absl::StrCat("job=", rpc::ToUtf8(proto.job(), kShownBytesMax)), by);
  }
  const std::string state = rpc::ToUtf8(proto.state(), kShownBytesMax);
  if (by.states.empty() && !state.empty()) return NotSelectable(absl::StrCat("state=", state), by);
  if (!state.empty() && std::find(by.states.begin(), by.states.end(), state) == by.states.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown state (state=", state, ", known=", absl::StrJoin(by.states, " "), ")"));
  }
  if (!proto.nodes().empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes, ExpandHostlist(proto.nodes(), kSelectedNodesMax));
    if (nodes.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no node is named (node=", rpc::ToUtf8(proto.nodes(), kShownBytesMax), ")"));
    }
    selector.nodes_.insert(nodes.begin(), nodes.end());
  }
  if (proto.has_uid()) selector.uid_ = proto.uid();
  selector.job_ = proto.job();
  selector.state_ = state;
  return selector;
}

bool RowSelector::HasTeam(const schedule::TeamLayout& layout) const {
  if (uid_.has_value() && layout.identity.uid != *uid_) return false;
  if (!job_.empty() && layout.identity.job != job_) return false;
  return nodes_.empty() || std::any_of(layout.nodes.begin(), layout.nodes.end(),
                                       [this](const schedule::TeamNode& node) { return nodes_.count(node.name) != 0; });
}

}  // namespace copse::planner
