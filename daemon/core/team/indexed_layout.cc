// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/indexed_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// Up to this many nodes a search through the layout is as fast as the index, and needs no memory.
constexpr size_t kScannedMax = 64;

}  // namespace

MemberIndex::MemberIndex(const schedule::TeamLayout& layout) : shape_(layout.shape) {
  if (layout.nodes.size() <= kScannedMax) return;
  by_incarnation_.reserve(layout.nodes.size());
  for (uint32_t n = 0; n < layout.nodes.size(); ++n) by_incarnation_.emplace_back(layout.nodes[n].incarnation, n);
  std::sort(by_incarnation_.begin(), by_incarnation_.end());
}

std::optional<NodeIndex> MemberIndex::NodeOf(Incarnation incarnation,
                                             const std::vector<schedule::TeamNode>& nodes) const {
  if (!by_incarnation_.empty()) {
    const auto it = std::lower_bound(by_incarnation_.begin(), by_incarnation_.end(), std::pair(incarnation, 0u));
    return it == by_incarnation_.end() || it->first != incarnation ? std::nullopt
                                                                   : std::optional(NodeIndex(it->second));
  }
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].incarnation == incarnation) return NodeIndex(n);
  }
  return std::nullopt;
}

absl::Status CheckLayout(const schedule::TeamLayout& layout) {
  RETURN_IF_ERROR(schedule::CheckShape(layout.shape));
  if (layout.nodes.size() != layout.shape.node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("team layout (nodes=", layout.nodes.size(), ", shape's=", layout.shape.node_count, ")"));
  }
  if (layout.window < 2 || layout.window > 4096 || (layout.window & (layout.window - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("team window (window=", layout.window, ", limit=a power of two from 2 to 4096)"));
  }
  return absl::OkStatus();
}

SharedLayout IndexLayout(schedule::TeamLayout layout, const SharedLayout& earlier, const SharedLayout& parent) {
  if (earlier != nullptr && schedule::IsSameTeam(earlier->layout(), layout)) {
    bool is_new = false;
    for (size_t n = 0; n < layout.nodes.size(); ++n) {
      const std::string& before = earlier->layout().nodes[n].worker_address;
      std::string& address = layout.nodes[n].worker_address;
      if (address.empty()) {
        address = before;
      } else if (address != before) {
        is_new = true;
      }
    }
    return is_new ? std::make_shared<const IndexedLayout>(std::move(layout), earlier->members()) : earlier;
  }
  const bool as_parent =
      parent != nullptr && schedule::HaveSameNodes(parent->layout(), layout) && parent->layout().shape == layout.shape;
  auto members = as_parent ? parent->members() : std::make_shared<const MemberIndex>(layout);
  return std::make_shared<const IndexedLayout>(std::move(layout), std::move(members));
}

bool HaveSameMembers(const IndexedLayout& a, const IndexedLayout& b) {
  return a.members() == b.members() ||
         (schedule::HaveSameNodes(a.layout(), b.layout()) && a.layout().shape == b.layout().shape);
}

bool IsSameTeam(const IndexedLayout& a, const IndexedLayout& b) {
  const schedule::TeamLayout& x = a.layout();
  const schedule::TeamLayout& y = b.layout();
  return x.id == y.id && x.identity == y.identity && x.parent == y.parent && x.window == y.window &&
         HaveSameMembers(a, b);
}

}  // namespace copse::daemon
