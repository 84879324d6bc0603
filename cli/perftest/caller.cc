// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/caller.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/perftest/clock.h"

namespace copse::perftest {

Caller::Caller(Session* session, const Options* options, const Collective* collective, uint64_t count)
    : session_(session),
      options_(options),
      collective_(collective),
      count_(count),
      bytes_(count * options->type->bytes),
      pattern_(options->type, options->operation, options->ranks, options->seed) {
  args_.collective = collective->id;
  args_.type = options->type->id;
  args_.op = options->operation->id;
  args_.count = count;
}

Caller::~Caller() {
  // What fails here is in progress, after an error: the context's end takes it.
  for (const auto& [root, request] : kept_) copse_finalize(request);
  for (void* buffer : {send_, recv_}) {
    if (buffer == nullptr) continue;
    if (options_->memory == Memory::kCopse) {
      copse_free(session_->context(), buffer);
    } else {
      munmap(buffer, bytes_);
    }
  }
}

absl::Status Caller::AllocateBuffer(void** buffer) {
  if (options_->memory == Memory::kCopse) return ToStatus(copse_alloc(session_->context(), bytes_, buffer));
  // Not touched yet: a size that is refused may be larger than the memory.
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return absl::AbortedError(absl::StrCat("out of memory (bytes=", bytes_, ")"));
  *buffer = memory;
  return absl::OkStatus();
}

absl::Status Caller::Allocate() {
  if (collective_->has_data() && bytes_ > 0) {
    RETURN_IF_ERROR(AllocateBuffer(&send_));
    RETURN_IF_ERROR(AllocateBuffer(&recv_));
  }
  args_.root = options_->RootOf(0);
  copse_request_t* request;
  RETURN_IF_ERROR(Initialise(&request));
  RETURN_IF_ERROR(ToStatus(copse_finalize(request)));
  if (send_ == nullptr) return absl::OkStatus();
  pattern_.Contribution(0, session_->rank(), count_, send_);
  pattern_.Contribution(0, session_->rank(), count_, recv_);
  if (options_->check) expected_.resize(bytes_);
  return absl::OkStatus();
}

bool Caller::in_place() const {
  if (!options_->in_place) return false;
  return collective_->result == Result::kReduction ||
         (collective_->result == Result::kReductionAtRoot && args_.root == session_->rank());
}

absl::Status Caller::Initialise(copse_request_t** request) {
  args_.recv = recv_;
  args_.send = nullptr;
  if (collective_->reduces()) args_.send = in_place() ? COPSE_IN_PLACE : send_;
  return ToStatus(copse_collective_init(session_->team(), &args_, request));
}

absl::Status Caller::Prepare(uint64_t call) {
  args_.root = options_->RootOf(call);
  if (collective_->reduces()) args_.send = in_place() ? COPSE_IN_PLACE : send_;
  if (options_->persistent) {
    copse_request_t*& kept = kept_[collective_->has_root() ? args_.root : 0];
    if (kept == nullptr) RETURN_IF_ERROR(Initialise(&kept));
    kept_request_ = kept;
  }
  if (options_->check && send_ != nullptr) {
    std::memset(recv_, 0xa5, bytes_);
    if (collective_->reduces()) {
      pattern_.Contribution(call, session_->rank(), count_, in_place() ? recv_ : send_);
    } else if (args_.root == session_->rank()) {
      pattern_.RootsData(call, args_.root, count_, recv_);
    }
  }
  if (options_->back_to_back) return absl::OkStatus();
  return ToStatus(copse_barrier(session_->team()));
}

absl::Status Caller::Call(Computation* computation, uint64_t rounds, CallTime* time) {
  time->compute_ns = 0;
  const int64_t start = NowNs();
  if (options_->mode == Mode::kBlocking) {
    const copse_status_t status = collective_->call(session_->team(), args_);
    time->overall_ns = NowNs() - start;
    return ToStatus(status);
  }
  copse_request_t* request = kept_request_;
  copse_status_t status = COPSE_OK;
  if (!options_->persistent) status = copse_collective_init(session_->team(), &args_, &request);
  if (status == COPSE_OK) status = copse_post(request);
  if (status == COPSE_OK && rounds > 0) status = Compute(computation, rounds, request, time);
  if (status == COPSE_OK) status = Complete(request);
  // A request that failed is the context's to end.
  if (status == COPSE_OK && !options_->persistent) status = copse_finalize(request);
  time->overall_ns = NowNs() - start;
  return ToStatus(status);
}

copse_status_t Caller::Compute(Computation* computation, uint64_t rounds, copse_request_t* request,
                               CallTime* time) const {
  const uint64_t parts = uint64_t{options_->tests} + 1;
  for (uint64_t part = 0; part < parts; ++part) {
    if (part > 0) {
      const copse_status_t status = copse_test(request);
      if (status < COPSE_OK) return status;
    }
    const int64_t start = NowNs();
    computation->Run(rounds * (part + 1) / parts - rounds * part / parts);
    time->compute_ns += NowNs() - start;
  }
  return COPSE_OK;
}

copse_status_t Caller::Complete(copse_request_t* request) const {
  const double seconds = options_->timeout_s.value_or(-1);
  if (options_->completion == Completion::kWait) return copse_wait(request, seconds);
  const int64_t end = seconds < 0 ? INT64_MAX : NowNs() + static_cast<int64_t>(seconds * 1e9);
  copse_status_t status;
  while ((status = copse_test(request)) == COPSE_INPROGRESS) {
    if (NowNs() > end) return copse_wait(request, 1e-9);  // to fail with the library's words
  }
  return status;
}

uint64_t Caller::Verify(uint64_t call) {
  if (expected_.empty()) return 0;
  if (collective_->result == Result::kReductionAtRoot && args_.root != session_->rank()) return 0;
  if (collective_->reduces()) {
    pattern_.Reduction(call, count_, expected_.data());
  } else {
    pattern_.RootsData(call, args_.root, count_, expected_.data());
  }
  return CountDifferences(expected_.data(), recv_, count_, options_->type->bytes);
}

}  // namespace copse::perftest
