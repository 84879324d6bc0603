// SPDX-License-Identifier: Apache-2.0
//
// Holds back a client's calls while the lists of blocks of its calls in flight take too much memory.
#ifndef COPSE_DAEMON_SHM_HELD_POSTS_H_
#define COPSE_DAEMON_SHM_HELD_POSTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Limits the memory for lists of blocks of one client's calls in flight: calls with lists are held back beyond it. One
// call of each team may exceed it, since a call must run however large its team is.
inline constexpr uint64_t kListBytesMax = 4u << 20;

// HeldPosts keep the posts that are held back, in their order. A call that is held back delays later calls of its team,
// and no others. Thread-compatible.
class HeldPosts {
 public:
  explicit HeldPosts(uint64_t list_bytes_max) : list_bytes_max_(list_bytes_max) {}

  // Returns whether the post has to be held back now.
  bool MustWait(const ring::DqEntry& entry) const {
    if (held_.empty() && list_bytes_ < list_bytes_max_) return false;  // the usual case
    return WaitsForOthers(entry);
  }
  // `number`: index among the client's posts.
  void Hold(uint64_t number, const ring::DqSlot& slot) { held_.push_back({number, slot}); }
  uint32_t count() const { return static_cast<uint32_t>(held_.size()); }
  // Returns the number of the first post that is held back; `none` if there is none.
  uint64_t FirstNumber(uint64_t none) const { return held_.empty() ? none : held_.front().number; }

  // Returns whether Release may find posts to let go.
  bool may_go() const { return may_go_; }
  // Calls `post` with at most `most` posts that need not wait any more. Returns how many.
  template <typename Post>
  uint32_t Release(uint32_t most, const Post& post) {
    may_go_ = false;
    uint32_t posted = 0;
    for (const Held& held : std::exchange(held_, {})) {
      if (posted < most && !MustWait(held.slot.entry)) {
        post(held.slot);
        ++posted;
      } else {
        held_.push_back(held);
      }
    }
    may_go_ |= posted == most;
    return posted;
  }

  // A call of the team with so many bytes of lists, perhaps none, is in flight from now on; it is over.
  void OnCall(uint32_t team, uint64_t list_bytes);
  void OnCallOver(uint32_t team, uint64_t list_bytes);

 private:
  struct Held {
    uint64_t number = 0;
    ring::DqSlot slot;
  };

  bool WaitsForOthers(const ring::DqEntry& entry) const;

  const uint64_t list_bytes_max_;
  uint64_t list_bytes_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> lists_;  // number of calls in flight with lists, by team
  std::vector<Held> held_;
  bool may_go_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_HELD_POSTS_H_
