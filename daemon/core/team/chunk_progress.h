// SPDX-License-Identifier: Apache-2.0
//
// Tracks how far the ranks of a node are with the chunks of a long call.
#ifndef COPSE_DAEMON_CORE_TEAM_CHUNK_PROGRESS_H_
#define COPSE_DAEMON_CORE_TEAM_CHUNK_PROGRESS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace copse::daemon {

// A ChunkProgress has the progress of each rank here, by local index, and that of the node. For each rank, calls follow
// Join, (Start, Done)*, Notify; chunks are done in any order. Thread-compatible.
class ChunkProgress {
 public:
  explicit ChunkProgress(size_t local_ranks) : ranks_(local_ranks) {}

  // The rank takes part in the call.
  void Join(uint32_t local) { ranks_[local].state = State::kJoined; }
  bool joined(uint32_t local) const { return ranks_[local].state != State::kAway; }
  // The rank's next chunk starts.
  void Start(uint32_t local) { ++ranks_[local].next; }
  uint64_t next(uint32_t local) const { return ranks_[local].next; }  // index of the next chunk to start
  // A chunk is done for the rank.
  void Done(uint32_t local, bool failed) {
    ++ranks_[local].done;
    ranks_[local].failed |= failed;
  }
  uint64_t done(uint32_t local) const { return ranks_[local].done; }  // number of chunks
  bool failed(uint32_t local) const { return ranks_[local].failed; }
  bool any_failed() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const RankChunks& rank) { return rank.failed; });
  }
  // The rank gets its event.
  void Notify(uint32_t local) { ranks_[local].state = State::kNotified; }
  // Returns whether the rank has joined and has no event yet.
  bool waits_for(uint32_t local) const { return ranks_[local].state == State::kJoined; }

  // A chunk is over at this node.
  void Over() { ++over_; }
  uint64_t over() const { return over_; }  // number of chunks

 private:
  enum class State : uint8_t { kAway, kJoined, kNotified };
  struct RankChunks {
    State state = State::kAway;
    bool failed = false;
    uint64_t next = 0;
    uint64_t done = 0;
  };

  std::vector<RankChunks> ranks_;
  uint64_t over_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_CHUNK_PROGRESS_H_
