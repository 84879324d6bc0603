// SPDX-License-Identifier: Apache-2.0
//
// One call at one node that takes more than one call of the port, or whose ranks' data lies in blocks.
#ifndef COPSE_DAEMON_CORE_TEAM_LONG_CALL_H_
#define COPSE_DAEMON_CORE_TEAM_LONG_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/folds.h"
#include "schedule/plan.h"

namespace copse::daemon {

// What a plan's expansions of block collectives need, made once a plan.
struct PlanIndex {
  PlanIndex(const schedule::ShapeIndex& shape, const schedule::Plan& plan) : tree(plan), order(shape, plan, tree) {}
  schedule::TreeIndex tree;
  schedule::PackedOrder order;
};

// One chunk: what one call of the port carries.
struct Chunk {
  bool notes = false;    // the root tells all counts
  bool results = false;  // of what was folded into the notes
  // Bytes of the message (bcast, reduce, allreduce), or of the notes; where in the notes results begin.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // Of a block collective.
  uint64_t first_segment = 0;
  uint32_t segments = 0;
};

// A LongCall knows how its call is cut, and how far each rank here is. Cut in the same way on all nodes, so their
// chunks have the same numbers. All chunks run by the plan by which the first began.
//
// Stages: where the root alone knows the counts, chunks of notes come first; of an alltoallv the first chunk says how
// long the rest is, unless all ranks know (kPairsBounded); what is folded in parts has chunks that wait for earlier
// ones. Until all may be started, chunk_count() is how many may be, and `complete()` false. Order of calls: Arrive for
// each rank's each chunk, in order; SequencesOf when all ranks of the node have; OnChunkOver.
class LongCall {
 public:
  // Whether a call has to go this way.
  static bool Needed(const CallArguments& arguments);

  // `*shape`, `*plan` and `*index` outlive it. `*plan`: EpochPort::PlanFor's for the call. `first`: number of its first
  // chunk.
  LongCall(const schedule::ShapeIndex* shape, const schedule::Plan* plan, const PlanIndex* index, NodeIndex self,
           CallSeq first, const CallArguments& arguments);

  CallSeq first() const { return first_; }
  const schedule::Plan& plan() const { return *plan_; }
  const CallArguments& arguments() const { return posts_.front().arguments; }
  // Whether all ranks here take part in each chunk, from buffers that are bound as a whole.
  bool blocks() const { return folds_ || HasBlocks(arguments().collective); }

  // Local rank `local` has posted the call. Counts that it gives are taken from it, if they are not known yet.
  void Join(uint32_t local, const CallPost& post);

  uint64_t chunk_count() const { return fold_ ? fold_->chunk_count() : notes_chunks_ + data_chunks_; }
  bool complete() const { return fold_ ? fold_->complete() : complete_; }
  // Complete, and nodes have compared the counts that they do not all know. Before, no rank is told of the end.
  bool agreed() const { return complete() && !is_compared_late_; }
  Chunk ChunkAt(uint64_t index) const;

  // Whether nothing of the chunk is for or from this node: there is nothing to do for it. All ranks here have joined.
  bool PassesBy(uint64_t index) const;
  // The node's sequences for a chunk, one a segment. All ranks here have joined.
  absl::StatusOr<std::vector<schedule::NodeSequence>> SequencesOf(uint64_t index);
  // The daemon's own memory of the call; empty if there is none.
  std::vector<uint8_t>& notes() { return notes_; }

  // All of the chunk is done here, and nothing of it has failed. May make more chunks known. INVALID_ARGUMENT: what
  // this node's ranks gave is not what others say; the text names both.
  absl::Status OnChunkOver(uint64_t index);

  // What the rank has posted, once it has joined.
  const CallPost& post(uint32_t local) const { return posts_[local]; }

  // How far each rank here is.
  struct Progress {
    enum class State : uint8_t { kAway, kJoined, kTold };
    State state = State::kAway;
    bool failed = false;
    uint64_t next = 0;  // the chunk that it starts next
    uint64_t done = 0;
  };
  bool waits_for(uint32_t local) const { return ranks[local].state == Progress::State::kJoined; }
  std::vector<Progress> ranks;   // by local index
  uint64_t finished_chunks = 0;  // whose slots are free again

 private:
  bool RootTells() const;
  void SetSizes(const BlockList& list);
  void Cut();
  void CutPairs();
  bool PairsBounded() const;
  // Of an alltoallv: ranks here agree on what they send one another.
  absl::Status CheckOwnBlocks() const;
  schedule::BlockCall View();

  const schedule::ShapeIndex* const shape_;
  const schedule::Plan* const plan_;
  const PlanIndex* const index_;
  const NodeIndex self_;
  const CallSeq first_;
  const Collective regular_;
  const bool folds_;                            // in order of ranks
  std::vector<schedule::RankBuffers> buffers_;  // by local index
  std::vector<CallPost> posts_;                 // likewise; all have the call's arguments
  std::optional<schedule::BlockSizes> sizes_;
  std::optional<schedule::Cutting> cutting_;
  std::optional<schedule::FoldSchedule> fold_;
  std::vector<uint8_t> notes_;
  uint64_t chunk_bytes_ = 0;  // of what is cut into bytes: messages and counts
  uint64_t pair_bytes_max_ = 0;
  uint64_t own_pair_bytes_max_ = 0;  // alltoallv: of a stream from, to or within this node
  uint64_t notes_chunks_ = 0;
  uint64_t data_chunks_ = 0;
  bool complete_ = false;
  bool is_compared_late_ = false;  // an alltoallv's first chunk is not over, though all know how long it is
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_LONG_CALL_H_
