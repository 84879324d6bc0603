// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/offload.h"

#include <time.h>

#include <algorithm>
#include <climits>

namespace copse::mpi {
namespace {

// How long a call waits before it first gives MPI a turn, and how seldom at least it does.
constexpr double kFirstSlice = 100e-6;
constexpr double kLongestSlice = 1e-3;

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The element nearest to the front: Copse's displacements are not negative.
int64_t FirstElement(const MpiBlocks& blocks) {
  int64_t first = INT64_MAX;
  for (int i = 0; i < blocks.count; ++i) {
    if (blocks.counts[i] > 0) first = std::min<int64_t>(first, blocks.displacements[i]);
  }
  return first == INT64_MAX ? 0 : first;
}

uint64_t CountBytes(const MpiBlocks& blocks, const Type& type, std::vector<uint64_t>* counts) {
  uint64_t total = 0;
  for (int i = 0; i < blocks.count; ++i) {
    counts->push_back(static_cast<uint64_t>(blocks.counts[i]) * type.bytes);
    total += counts->back();
  }
  return total;
}

// Where each block of a plain type begins, from the one at `first` on.
void PlaceBlocks(const MpiBlocks& blocks, const Type& type, int64_t first, std::vector<uint64_t>* displacements) {
  for (int i = 0; i < blocks.count; ++i) {
    const int64_t element = blocks.counts[i] > 0 ? blocks.displacements[i] - first : 0;
    displacements->push_back(static_cast<uint64_t>(element) * type.bytes);
  }
}

// Elements that MPI_Pack, which counts bytes by int, takes at once.
int64_t PieceMax(const Type& type) { return std::max<int64_t>(1, INT_MAX / 2 / static_cast<int64_t>(type.bytes)); }

}  // namespace

char* Offload::Allocate(uint64_t bytes) {
  staging_.push_back(std::make_unique_for_overwrite<char[]>(std::max<uint64_t>(bytes, 1)));
  return staging_.back().get();
}

void Offload::Pack(const char* buffer, ElementRun run, const Type& type, char* bytes) {
  if (type.bytes == 0) return;
  while (run.count > 0) {
    const int64_t piece = std::min(run.count, PieceMax(type));
    const auto piece_bytes = static_cast<int>(piece * static_cast<int64_t>(type.bytes));
    int position = 0;
    if (Mpi().Pack(buffer + run.first * type.extent, static_cast<int>(piece), type.handle, bytes, piece_bytes,
                   &position, comm_) != MPI_SUCCESS) {
      packing_failed_ = true;
    }
    bytes += piece_bytes;
    run = {run.first + piece, run.count - piece};
  }
}

void Offload::Send(const void* buffer, int64_t count, const Type& type) {
  args.send = buffer;
  if (type.plain) return;
  char* bytes = Allocate(static_cast<uint64_t>(count) * type.bytes);
  Pack(static_cast<const char*>(buffer), {0, count}, type, bytes);
  args.send = bytes;
}

void Offload::Receive(void* buffer, int64_t count, const Type& type) {
  args.recv = buffer;
  if (type.plain) return;
  char* bytes = Allocate(static_cast<uint64_t>(count) * type.bytes);
  unpackings_.push_back({bytes, static_cast<char*>(buffer), {0, count}, type});
  args.recv = bytes;
}

void Offload::SendBlocks(const void* buffer, const MpiBlocks& blocks, const Type& type) {
  const uint64_t total = CountBytes(blocks, type, &send_counts_);
  args.mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS;
  args.send_counts = send_counts_.data();
  const char* begin = static_cast<const char*>(buffer);
  if (type.plain) {
    const int64_t first = FirstElement(blocks);
    PlaceBlocks(blocks, type, first, &send_displacements_);
    args.mask |= COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
    args.send_displacements = send_displacements_.data();
    args.send = begin + first * type.extent;
    return;
  }
  char* bytes = Allocate(total);
  args.send = bytes;
  for (int i = 0; i < blocks.count; ++i) {
    Pack(begin, {blocks.displacements[i], blocks.counts[i]}, type, bytes);
    bytes += send_counts_[i];
  }
}

void Offload::ReceiveBlocks(void* buffer, const MpiBlocks& blocks, const Type& type) {
  const uint64_t total = CountBytes(blocks, type, &recv_counts_);
  args.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
  args.recv_counts = recv_counts_.data();
  char* begin = static_cast<char*>(buffer);
  if (type.plain) {
    const int64_t first = FirstElement(blocks);
    PlaceBlocks(blocks, type, first, &recv_displacements_);
    args.mask |= COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
    args.recv_displacements = recv_displacements_.data();
    args.recv = begin + first * type.extent;
    return;
  }
  char* bytes = Allocate(total);
  args.recv = bytes;
  for (int i = 0; i < blocks.count; ++i) {
    unpackings_.push_back({bytes, begin, {blocks.displacements[i], blocks.counts[i]}, type});
    bytes += recv_counts_[i];
  }
}

void Offload::Broadcast(void* buffer, int64_t count, const Type& type, bool is_root) {
  if (type.plain || !is_root) {
    Receive(buffer, count, type);
    return;
  }
  Send(buffer, count, type);
  args.recv = const_cast<void*>(args.send);
  args.send = nullptr;
}

bool Offload::IsOver(double since) const { return session_->timeout_s >= 0 && Now() - since > session_->timeout_s; }

// A full queue has room again once calls that are under way have ended.
copse_status_t Offload::Post(copse_request_t* request) {
  const double since = Now();
  for (;;) {
    const copse_status_t status = copse_post(request);
    if (status != COPSE_ERR_NO_RESOURCE || IsOver(since)) return status;
    session_->Progress();
  }
}

copse_status_t Offload::Await(copse_request_t* request) {
  const double since = Now();
  double slice = kFirstSlice;
  for (;;) {
    copse_wait(request, slice);
    const copse_status_t status = copse_test(request);
    if (status != COPSE_INPROGRESS) return status;
    if (IsOver(since)) {
      copse_cancel(request);
      return COPSE_ERR_TIMED_OUT;
    }
    session_->Progress();
    slice = std::min(2 * slice, kLongestSlice);
  }
}

copse_status_t Offload::Unpack() {
  for (Unpacking& unpacking : unpackings_) {
    const Type& type = unpacking.type;
    if (type.bytes == 0) continue;
    for (ElementRun run = unpacking.run; run.count > 0;) {
      const int64_t piece = std::min(run.count, PieceMax(type));
      const auto bytes = static_cast<int>(piece * static_cast<int64_t>(type.bytes));
      int position = 0;
      if (Mpi().Unpack(unpacking.bytes, bytes, &position, unpacking.buffer + run.first * type.extent,
                       static_cast<int>(piece), type.handle, comm_) != MPI_SUCCESS) {
        error_ = "MPI_Unpack failed";
        return COPSE_ERR_INVALID_ARGUMENT;
      }
      unpacking.bytes += bytes;
      run = {run.first + piece, run.count - piece};
    }
  }
  return COPSE_OK;
}

copse_status_t Offload::Run() {
  if (packing_failed_) {
    error_ = "MPI_Pack failed";
    return COPSE_ERR_INVALID_ARGUMENT;
  }
  copse_request_t* request = nullptr;
  copse_status_t status = copse_collective_init(team_, &args, &request);
  if (status == COPSE_OK) {
    status = Post(request);
    if (status == COPSE_OK) status = Await(request);
    if (status != COPSE_OK) error_ = copse_last_error();
    if (status == COPSE_ERR_TIMED_OUT) error_ = "the time of COPSE_TIMEOUT is over";
    copse_finalize(request);
  } else {
    error_ = copse_last_error();
  }
  return status == COPSE_OK ? Unpack() : status;
}

}  // namespace copse::mpi
