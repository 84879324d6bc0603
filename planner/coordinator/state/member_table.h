// SPDX-License-Identifier: Apache-2.0
//
// Keeps the nodes of a team with what the coordinator knows of each.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_MEMBER_TABLE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_MEMBER_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A Member is a node of a team. The team ends when every member has left or is gone.
struct Member {
  uint32_t ranks = 0;  // of this team
  bool left = false;   // all its ranks have destroyed the team
  bool gone = false;   // restarted, stopped or removed, so it will not come back
  bool known = false;  // true if the daemon has reported `committed` and `prepared` to this coordinator
  EpochId committed{0};
  // The epoch that the daemon has prepared, undecided here until the others are back: one of them may know that it was
  // decided. 0: none.
  EpochId prepared{0};

  bool remains() const { return !left && !gone; }
};

// A MemberTable finds members by their daemons, and counts those that remain, so that the messages of a large team's
// members cost no search of all the others. Indices are those of the layout's nodes. Thread-compatible.
class MemberTable {
 public:
  void Assign(const schedule::TeamLayout& layout);

  // Returns the index of the member that is this daemon, or nullopt. `nodes` are equal to those of Assign's layout.
  std::optional<uint32_t> Find(absl::Span<const schedule::TeamNode> nodes, absl::string_view name,
                               Incarnation incarnation) const;
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  const Member& operator[](uint32_t index) const { return members_[index]; }

  void MarkLeft(uint32_t index) {
    Change(index, [](Member& member) { member.left = true; });
  }
  // Takes MarkLeft back: the daemon has the team after all.
  void MarkBack(uint32_t index) {
    Change(index, [](Member& member) { member.left = false; });
  }
  void MarkGone(uint32_t index) {
    Change(index, [](Member& member) { member.gone = true; });
  }
  void MarkKnown(uint32_t index) {
    Change(index, [](Member& member) { member.known = true; });
  }
  // Records the daemon's report of its epoch; it has prepared no other one.
  void Report(uint32_t index, EpochId committed) {
    Change(index, [&](Member& member) {
      member.known = true;
      member.committed = committed;
      member.prepared = EpochId{0};
    });
  }
  // Records that the daemon has committed an epoch, if it is newer than its last one.
  void Commit(uint32_t index, EpochId epoch) {
    Change(index, [&](Member& member) {
      member.known = true;
      member.committed = std::max(member.committed, epoch);
    });
  }
  void SetPrepared(uint32_t index, EpochId epoch) {
    Change(index, [&](Member& member) { member.prepared = epoch; });
  }
  // Returns the members that have prepared an epoch, with it, and clears that.
  std::vector<std::pair<uint32_t, EpochId>> TakePrepared();

  // These concern the members that remain.
  bool none_remains() const { return remaining_ == 0; }
  bool all_are_known() const { return unknown_ == 0; }
  // Returns whether all have committed this epoch.
  bool AllCommitted(EpochId epoch) const {
    return std::all_of(committed_.begin(), committed_.end(), [&](const auto& entry) { return entry.first == epoch; });
  }

 private:
  // Changes a member, and keeps the counts.
  template <typename Function>
  void Change(uint32_t index, Function change) {
    Count(members_[index], -1);
    change(members_[index]);
    Count(members_[index], 1);
  }
  void Count(const Member& member, int by);

  std::vector<Member> members_;
  std::vector<uint32_t> by_name_;  // indices, in order of the nodes' names: most teams are small, and names are long
  uint32_t remaining_ = 0, unknown_ = 0, prepared_ = 0;
  // It has how many members that remain have committed an epoch as their last; there are few epochs.
  absl::InlinedVector<std::pair<EpochId, uint32_t>, 1> committed_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_MEMBER_TABLE_H_
