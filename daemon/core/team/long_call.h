// SPDX-License-Identifier: Apache-2.0
//
// A call at one node that takes several calls of the port, or whose ranks' data lies in blocks.
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

// Indices that the expansions of block collectives need, made once for each plan.
struct PlanIndex {
  PlanIndex(const schedule::ShapeIndex& shape, const schedule::Plan& plan) : tree(plan), order(shape, plan, tree) {}
  schedule::TreeIndex tree;
  schedule::PackedOrder order;
};

// A chunk is the part of a call that one call of the port carries.
struct Chunk {
  bool notes = false;    // metadata: the root sends all counts
  bool results = false;  // results of the ordered reduction, which are in the metadata's memory
  // Range of bytes in the message (bcast, reduce, allreduce), or in the metadata; `offset` of results in the latter.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // Block collectives: the segments of the chunk.
  uint64_t first_segment = 0;
  uint32_t segments = 0;
};

// A LongCall divides its call into chunks and records each local rank's progress. All nodes divide it in the same way,
// so their chunks have the same numbers. All chunks run by the plan of the first one.
//
// Stages: where only the root knows the counts, chunks of metadata come first. The first chunk of an alltoallv says how
// many follow, unless all ranks know it (kPairsBounded). Chunks of an ordered reduction wait for earlier ones. Until
// all chunks may start, chunk_count() is the number of those that may, and complete() is false.
//
// Order of calls: Join for each rank here; for each chunk SequencesOf, once all ranks have joined, then OnChunkOver.
class LongCall {
 public:
  // Whether a call must run as a LongCall.
  static bool Needed(const CallArguments& arguments);

  // `*shape`, `*plan` and `*index` outlive it. `*plan`: PlanExpansions::PlanFor's for the call. `first`: number of its
  // first chunk.
  LongCall(const schedule::ShapeIndex* shape, const schedule::Plan* plan, const PlanIndex* index, NodeIndex self,
           CallSeq first, const CallArguments& arguments);

  CallSeq first() const { return first_; }
  const schedule::Plan& plan() const { return *plan_; }
  const CallArguments& arguments() const { return posts_.front().arguments; }
  // Whether all ranks here take part in each chunk, with buffers that are bound as a whole.
  bool blocks() const { return folds_ || HasBlocks(arguments().collective); }

  // Local rank `local` has posted the call. Its counts are used if none are known yet.
  void Join(uint32_t local, const CallPost& post);

  uint64_t chunk_count() const { return fold_ ? fold_->chunk_count() : notes_chunks_ + data_chunks_; }
  bool complete() const { return fold_ ? fold_->complete() : complete_; }
  // Whether it is complete, and nodes have compared the counts that not all of them know. No rank is notified before.
  bool agreed() const { return complete() && !is_compared_late_; }
  Chunk ChunkAt(uint64_t index) const;

  // Whether the chunk has no data for or from this node. All ranks here have joined.
  bool PassesBy(uint64_t index) const;
  // Returns the node's sequences for a chunk, one for each segment. All ranks here have joined.
  absl::StatusOr<std::vector<schedule::NodeSequence>> SequencesOf(uint64_t index);
  // The daemon's own memory for the call's metadata; empty if it has none.
  std::vector<uint8_t>& notes() { return notes_; }

  // The chunk is over here, without failure. More chunks may become known. INVALID_ARGUMENT: the counts of this node's
  // ranks differ from other nodes'; the text names both.
  absl::Status OnChunkOver(uint64_t index);

  // The rank's post, once it has joined.
  const CallPost& post(uint32_t local) const { return posts_[local]; }

  // The progress of one rank here.
  struct Progress {
    enum class State : uint8_t { kAway, kJoined, kNotified };
    State state = State::kAway;
    bool failed = false;
    uint64_t next = 0;  // the next chunk to start
    uint64_t done = 0;  // chunks
  };
  bool waits_for(uint32_t local) const { return ranks[local].state == Progress::State::kJoined; }
  std::vector<Progress> ranks;   // by local index
  uint64_t finished_chunks = 0;  // chunks whose slots are free again

 private:
  bool RootTells() const;
  void SetSizes(const BlockList& list);
  void Cut();
  void CutPairs();
  bool PairsBounded() const;
  // alltoallv: compares the counts that ranks here give for one another.
  absl::Status CheckOwnBlocks() const;
  schedule::BlockCall View();

  const schedule::ShapeIndex* const shape_;
  const schedule::Plan* const plan_;
  const PlanIndex* const index_;
  const NodeIndex self_;
  const CallSeq first_;
  const Collective regular_;
  const bool folds_;                            // the call is an ordered reduction
  std::vector<schedule::RankBuffers> buffers_;  // by local index
  std::vector<CallPost> posts_;                 // by local index; all have the call's arguments
  std::optional<schedule::BlockSizes> sizes_;
  std::optional<schedule::Cutting> cutting_;
  std::optional<schedule::FoldSchedule> fold_;
  std::vector<uint8_t> notes_;
  uint64_t chunk_bytes_ = 0;  // chunk size of messages and of counts
  uint64_t pair_bytes_max_ = 0;
  uint64_t own_pair_bytes_max_ = 0;  // alltoallv: the longest stream from, to or within this node
  uint64_t notes_chunks_ = 0;
  uint64_t data_chunks_ = 0;
  bool complete_ = false;
  bool is_compared_late_ = false;  // an alltoallv of known length, whose first chunk is not over yet
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_LONG_CALL_H_
