// SPDX-License-Identifier: Apache-2.0
//
// Prepares a team's layout for look-ups.
#ifndef COPSE_DAEMON_CORE_TEAM_INDEXED_LAYOUT_H_
#define COPSE_DAEMON_CORE_TEAM_INDEXED_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/shared.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// A MemberIndex finds ranks and nodes of a team. A team's layouts, which differ in addresses only, and those of its
// derived teams share one. Immutable.
class MemberIndex {
 public:
  explicit MemberIndex(const schedule::TeamLayout& layout);

  const schedule::ShapeIndex& shape() const { return shape_; }
  // Returns nothing if no node has this incarnation. `nodes` are the layout's.
  std::optional<NodeIndex> NodeOf(Incarnation incarnation, const std::vector<schedule::TeamNode>& nodes) const;

 private:
  const schedule::ShapeIndex shape_;
  std::vector<std::pair<Incarnation, uint32_t>> by_incarnation_;  // sorted; empty for few nodes
};

// An IndexedLayout is a team's layout with its index. It is immutable, so threads may share it.
class IndexedLayout {
 public:
  IndexedLayout(schedule::TeamLayout layout, std::shared_ptr<const MemberIndex> members)
      : layout_(std::move(layout)), members_(std::move(members)) {}

  const schedule::TeamLayout& layout() const { return *layout_; }
  const Shared<schedule::TeamLayout>& shared() const { return layout_; }
  const schedule::ShapeIndex& shape() const { return members_->shape(); }
  const std::shared_ptr<const MemberIndex>& members() const { return members_; }
  std::optional<NodeIndex> NodeOf(Incarnation incarnation) const {
    return members_->NodeOf(incarnation, layout_->nodes);
  }

 private:
  const Shared<schedule::TeamLayout> layout_;
  const std::shared_ptr<const MemberIndex> members_;
};
using SharedLayout = std::shared_ptr<const IndexedLayout>;

// Returns INVALID_ARGUMENT if the shape is invalid (schedule::CheckShape), not of as many nodes as the layout, or the
// window is no power of two from 2 to 4096.
absl::Status CheckLayout(const schedule::TeamLayout& layout);

// Returns the layout, which CheckLayout has accepted, with its index: O(n log n). If `earlier` is a layout of the same
// team, its addresses stand where `layout` has none, and it is returned itself if `layout` has nothing new. It shares
// the index of `earlier` or of the team from which it is derived, `parent`, if the members are the same.
SharedLayout IndexLayout(schedule::TeamLayout layout, const SharedLayout& earlier = nullptr,
                         const SharedLayout& parent = nullptr);

// Returns whether both have the same nodes and ranks: O(1) if they share the index, else O(n).
bool HaveSameMembers(const IndexedLayout& a, const IndexedLayout& b);
// Returns whether the layouts are equal, apart from addresses, at the same cost.
bool IsSameTeam(const IndexedLayout& a, const IndexedLayout& b);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_INDEXED_LAYOUT_H_
