// SPDX-License-Identifier: Apache-2.0
//
// Divides a call that is too long for one call of the port, or whose ranks' data lies in blocks, into chunks.
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
#include "daemon/core/team/chunk_progress.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/folds.h"
#include "schedule/plan.h"

namespace copse::daemon {

// A PlanIndex holds the indices that the expansions of block collectives need. It is made once for each plan.
struct PlanIndex {
  PlanIndex(const schedule::ShapeIndex& shape, const schedule::Plan& plan) : tree(plan), order(shape, plan, tree) {}
  schedule::TreeIndex tree;
  schedule::PackedOrder order;
};

// A chunk is the part of a call that one call of the port carries.
struct Chunk {
  bool notes = false;    // metadata, by which the root sends all counts
  bool results = false;  // results of an ordered reduction, which are in the metadata's memory
  // The chunk has this range of bytes in the message (bcast, reduce, allreduce), or in the metadata. In an ordered
  // reduction, `offset` is in the metadata, and `bytes` is 0.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // In a block collective the chunk has these segments.
  uint64_t first_segment = 0;
  uint32_t segments = 0;
};

// A LongCall divides its call into chunks and records each local rank's progress. All nodes divide it in the same way,
// so their chunks have the same numbers. All chunks use the plan of the first one. Thread-compatible.
//
// Stages: where only the root knows the counts, chunks of metadata come first. The metadata in the first chunk of an
// alltoallv gives the number of the others, unless all ranks know it (kPairsBounded). Chunks of an ordered reduction
// wait for earlier ones. Until all chunks may start, chunk_count() is the number of those that may, and complete() is
// false.
//
// Order of calls: Join for each rank here; for each chunk SequencesOf, if the call has blocks() and all ranks have
// joined, then OnChunkOver until agreed().
class LongCall {
 public:
  // Returns whether a call must run as a LongCall.
  static bool Needed(const CallArguments& arguments);

  // `*shape`, `*plan` and `*index` must outlive this object. `*plan` is PlanExpansions::PlanFor's for the call. `first`
  // is the number of its first chunk.
  LongCall(const schedule::ShapeIndex* shape, const schedule::Plan* plan, const PlanIndex* index, NodeIndex self,
           CallSeq first, const CallArguments& arguments);

  CallSeq first() const { return first_; }
  const schedule::Plan& plan() const { return *plan_; }
  const CallArguments& arguments() const { return posts_.front().arguments; }
  // Returns whether the data lies in blocks: all ranks here take part in each chunk, and their buffers are bound as a
  // whole.
  bool blocks() const { return folds_ || HasBlocks(arguments().collective); }

  // Local rank `local` has posted the call, with the same arguments as the others. Its counts are used if those of an
  // irregular collective are not known yet.
  void Join(uint32_t local, const CallPost& post);

  uint64_t chunk_count() const { return fold_ ? fold_->chunk_count() : notes_chunks_ + data_chunks_; }
  bool complete() const { return fold_ ? fold_->complete() : cutting_ || !blocks(); }
  // Returns whether the call is complete(), and this node has compared the counts that only some ranks know. No rank is
  // notified before.
  bool agreed() const { return complete() && !is_compared_late_; }
  // Requires index < chunk_count().
  Chunk ChunkAt(uint64_t index) const;

  // Returns whether this node neither sends nor receives anything in the chunk. Requires that all ranks here have
  // joined.
  bool PassesBy(uint64_t index) const;
  // Returns the node's sequences for a chunk, one for each segment. Requires that all ranks here have joined.
  // INVALID_ARGUMENT: the root gave no counts, or more bytes pass between two nodes than the ranks said; other errors
  // are those of the expansion.
  absl::StatusOr<std::vector<schedule::NodeSequence>> SequencesOf(uint64_t index);
  // Returns the daemon's own memory for the call's metadata; empty if there is none.
  std::vector<uint8_t>& notes() { return notes_; }

  // The chunk is over here, without failure. More chunks may become known. INVALID_ARGUMENT: counts that ranks gave for
  // each other differ, or are beyond schedule::kCallBytesMax; the text names the ranks.
  absl::Status OnChunkOver(uint64_t index);

  // Returns the rank's post, once it has joined.
  const CallPost& post(uint32_t local) const { return posts_[local]; }

  ChunkProgress& progress() { return progress_; }
  const ChunkProgress& progress() const { return progress_; }

 private:
  bool RootTells() const;
  void SetSizes(const BlockList& list);
  void Cut();
  void CutPairs();
  bool PairsBounded() const;
  // Compares the counts that this node's ranks give for each other in an alltoallv. INVALID_ARGUMENT if two differ.
  absl::Status CheckOwnBlocks() const;
  schedule::BlockCall View();

  const schedule::ShapeIndex* const shape_;
  const schedule::Plan* const plan_;
  const PlanIndex* const index_;
  const NodeIndex self_;
  const CallSeq first_;
  const Collective regular_;
  const bool folds_;  // the call is an ordered reduction
  ChunkProgress progress_;
  std::vector<schedule::RankBuffers> buffers_;  // by local index
  std::vector<CallPost> posts_;                 // by local index; all have the call's arguments
  std::optional<schedule::BlockSizes> sizes_;
  std::optional<schedule::Cutting> cutting_;
  std::optional<schedule::FoldSchedule> fold_;
  std::vector<uint8_t> notes_;
  uint64_t chunk_bytes_ = 0;         // length of a chunk of the message or of the root's metadata
  uint64_t pair_bytes_max_ = 0;      // alltoall(v): most bytes, or a bound of them, from one node to another
  uint64_t own_pair_bytes_max_ = 0;  // alltoallv: most bytes from this node to one node, or from one node to this one
  uint64_t notes_chunks_ = 0;
  uint64_t data_chunks_ = 0;
  bool is_compared_late_ = false;  // set until the first chunk of an alltoallv with kPairsBounded is over
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_LONG_CALL_H_
