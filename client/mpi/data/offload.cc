// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/offload.h"

#include <algorithm>
#include <utility>

#include "client/mpi/data/packing.h"
#include "client/port/arguments.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::mpi {
namespace {

bool ArePlain(std::span<const ElementRun> blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [](const ElementRun& run) { return run.type.plain; });
}

// Returns the lowest address of a non-empty block; null if there is none. Displacements count from it, since Copse's
// are not negative.
char* FrontOf(std::span<const ElementRun> blocks) {
  char* front = nullptr;
  for (const ElementRun& run : blocks) {
    if (run.bytes() > 0 && (front == nullptr || run.address < front)) front = run.address;
  }
  return front;
}

}  // namespace

Offload::~Offload() {
  if (request_ != nullptr) {
    const tnbc::HeldSignals held;
    copse_finalize(request_);
  }
  for (MPI_Datatype& type : kept_types_) Mpi().Type_free(&type);
}

char* Offload::Stage(const ElementRun& run, std::vector<Copy>* copies) {
  staging_.push_back(std::make_unique_for_overwrite<char[]>(std::max<uint64_t>(run.bytes(), 1)));
  copies->push_back({run, staging_.back().get()});
  return staging_.back().get();
}

void Offload::Send(const void* buffer, int64_t count, const Datatype& type) {
  char* address = const_cast<char*>(static_cast<const char*>(buffer));
  args.send = type.plain ? address : Stage({address, count, type}, &packings_);
}

void Offload::Receive(void* buffer, int64_t count, const Datatype& type) {
  args.recv = type.plain ? buffer : Stage({static_cast<char*>(buffer), count, type}, &unpackings_);
}

char* Offload::List(std::span<const ElementRun> blocks, BlockLists* lists, std::vector<Copy>* copies) {
  const bool plain = ArePlain(blocks);
  char* const front = plain ? FrontOf(blocks) : nullptr;
  uint64_t total = 0;
  for (const ElementRun& run : blocks) {
    lists->counts.push_back(run.bytes());
    lists->displacements.push_back(!plain ? total : run.bytes() == 0 ? 0 : static_cast<uint64_t>(run.address - front));
    total += run.bytes();
  }
  if (plain) return front;
  staging_.push_back(std::make_unique_for_overwrite<char[]>(std::max<uint64_t>(total, 1)));
  char* const bytes = staging_.back().get();
  for (size_t i = 0; i < blocks.size(); ++i) copies->push_back({blocks[i], bytes + lists->displacements[i]});
  return bytes;
}

void Offload::SendBlocks(std::span<const ElementRun> blocks) {
  args.send = List(blocks, &send_blocks_, &packings_);
  args.mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
  args.send_counts = send_blocks_.counts.data();
  args.send_displacements = send_blocks_.displacements.data();
}

void Offload::ReceiveBlocks(std::span<const ElementRun> blocks) {
  args.recv = List(blocks, &recv_blocks_, &unpackings_);
  args.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args.recv_counts = recv_blocks_.counts.data();
  args.recv_displacements = recv_blocks_.displacements.data();
}

void Offload::Broadcast(void* buffer, int64_t count, const Datatype& type, bool is_root) {
  if (type.plain || !is_root) {
    Receive(buffer, count, type);
    return;
  }
  Send(buffer, count, type);
  args.recv = const_cast<void*>(args.send);
  args.send = nullptr;
}

void Offload::SetReceiveCounts(std::vector<uint64_t> counts) {
  recv_blocks_.counts = std::move(counts);
  args.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
  args.recv_counts = recv_blocks_.counts.data();
}

void Offload::CombineLocally(MPI_Op op, const Datatype& type) {
  combination_ = std::make_unique<LocalCombination>(op, type, options_.own);
  args.type = COPSE_DT_BYTE;
  args.op = combination_->op();
}

void Offload::CombineInOrder(MPI_Op op, const Datatype& type, int64_t count, void* result, int ranks) {
  in_order_.emplace(op, type, count, result, ranks);
  args.collective = args.collective == COPSE_COLL_REDUCE ? COPSE_COLL_GATHER : COPSE_COLL_ALLGATHER;
  args.type = COPSE_DT_BYTE;
  args.count = in_order_->bytes();
  // In place, the contribution lies in the receive buffer.
  if (args.send == COPSE_IN_PLACE) args.send = result;
  if (result != nullptr) args.recv = in_order_->contributions();
}

int Offload::RunInOrderByMpi(MPI_Comm comm) {
  const int bytes = static_cast<int>(args.count);
  const int error =
      args.collective == COPSE_COLL_GATHER
          ? Mpi().Gather(args.send, bytes, MPI_BYTE, args.recv, bytes, MPI_BYTE, static_cast<int>(args.root), comm)
          : Mpi().Allgather(args.send, bytes, MPI_BYTE, args.recv, bytes, MPI_BYTE, comm);
  return error == MPI_SUCCESS ? in_order_->Run() : error;
}

void Offload::KeepTypes(std::vector<Copy>* copies) {
  MPI_Datatype last = MPI_DATATYPE_NULL, kept = MPI_DATATYPE_NULL;
  for (Copy& copy : *copies) {  // successive blocks of one type share a duplicate
    if (copy.run.type.handle != last) {
      last = copy.run.type.handle;
      Mpi().Type_dup(last, &kept);
      kept_types_.push_back(kept);
    }
    copy.run.type.handle = kept;
  }
}

copse_status_t Offload::Init(copse_team_t* team) {
  if (outlives_call_) {
    KeepTypes(&packings_);
    KeepTypes(&unpackings_);
  }
  const tnbc::HeldSignals held;
  return Call().Note(copse_collective_init(team, &args, &request_));
}

copse_status_t Offload::Pack() {
  for (const Copy& copy : packings_) {
    if (mpi::Pack(copy.run.address, copy.run.count, copy.run.type, copy.bytes, options_.own)) continue;
    error_ = "MPI_Pack failed";
    return COPSE_ERR_INVALID_ARGUMENT;
  }
  return COPSE_OK;
}

copse_status_t Offload::GiveUp(const char* why) {
  return Call().GiveUp(std::string(client::CollectiveName(args.collective)) + " (count=" + std::to_string(args.count) +
                       ", root=" + std::to_string(args.root) + "): " + why);
}

copse_status_t Offload::Lose(const char* why) {
  error_ = why;
  return COPSE_ERR_CANCELED;
}

copse_status_t Offload::Unpack() {
  if (in_order_.has_value() && in_order_->Run() != MPI_SUCCESS) {
    error_ = "MPI_Reduce_local failed";
    return COPSE_ERR_INVALID_ARGUMENT;
  }
  bool ok = combination_ == nullptr || !combination_->has_failed();
  for (const Copy& copy : unpackings_) {
    ok = ok && mpi::Unpack(copy.bytes, copy.run.address, copy.run.count, copy.run.type, options_.own);
  }
  if (ok) return COPSE_OK;
  error_ = "MPI_Unpack or MPI_Reduce_local failed";
  return COPSE_ERR_INVALID_ARGUMENT;
}

}  // namespace copse::mpi
