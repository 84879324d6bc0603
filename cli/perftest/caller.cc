// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/caller.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/perftest/block_counts.h"
#include "cli/perftest/clock.h"

namespace copse::perftest {

namespace {

// Limits one buffer. Above it, sums of sizes in bytes could overflow.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 62;

// Returns how many bytes of the node's memory its ranks may fill together. Above this limit, the OOM killer might end
// them or another process.
uint64_t NodeBytesMax() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) / 4 * 3 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Caller::Caller(Session* session, const Options* options, Collective collective, uint64_t count)
    : session_(session),
      options_(options),
      collective_(collective),
      traits_(TraitsOf(collective)),
      count_(count),
      pattern_(options->type, options->operation, options->member.ranks, options->seed) {
  args_.collective = static_cast<copse_collective_t>(collective);
  args_.type = static_cast<copse_datatype_t>(options->type);
  args_.op = static_cast<copse_op_t>(options->operation);
  if (HasCountsAtRoot(collective) && options->counts_known) args_.flags |= COPSE_COLL_FLAG_COUNTS_KNOWN;
  if (Reduces(collective) && options->reproducible) args_.flags |= COPSE_COLL_FLAG_REPRODUCIBLE;
  if (args_.flags != 0) args_.mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
}

Caller::~Caller() {
  // copse_finalize refuses a request that is still in progress after an error; copse_fini releases it later.
  for (const auto& [root, request] : kept_) copse_finalize(request);
  for (const Allocation& allocation : {send_, recv_}) {
    if (allocation.data == nullptr) continue;
    if (options_->memory == Memory::kCopse) {
      copse_free(session_->context(), allocation.data);
    } else {
      munmap(allocation.data, allocation.bytes);
    }
  }
}

uint64_t Caller::LengthOf(uint32_t from, uint32_t to) const {
  if (!IsIrregular(collective_)) return count_;
  // The matrix is symmetric, so that recv_counts_ equals send_counts_, and each row has every length once.
  if (HasPairSizes(collective_)) return lengths_[(uint64_t{from} + to) % session_->ranks()];
  return lengths_[traits_.send == BufferKind::kBlocks ? to : from];
}

absl::Status Caller::CountBlocks() {
  const uint32_t ranks = session_->ranks(), rank = session_->rank();
  const uint64_t blocks = HoldsBlocks(collective_) ? ranks : 1;
  if (count_ > kBufferBytesMax / blocks / ElementBytes(options_->type)) {
    return absl::InvalidArgumentError(absl::StrCat("the blocks of all ranks are too long (count=", count_, ", limit=",
                                                   kBufferBytesMax / blocks / ElementBytes(options_->type), ")"));
  }
  blocks_count_ = count_ * ranks;
  own_count_ = count_;
  if (!IsIrregular(collective_)) return absl::OkStatus();
  lengths_ = BlockCounts(options_->counts_kind, count_, ranks);
  own_count_ = lengths_[rank];
  if (HasPairSizes(collective_)) {
    for (uint32_t other = 0; other < ranks; ++other) send_counts_.push_back(LengthOf(rank, other));
    recv_counts_ = send_counts_;
  } else if (is_scatter()) {
    send_counts_ = lengths_;
  } else {
    recv_counts_ = lengths_;
  }
  return absl::OkStatus();
}

absl::Status Caller::AllocateBuffer(uint64_t count, Allocation* allocation) {
  allocation->count = count;
  allocation->bytes = count * ElementBytes(options_->type);
  if (allocation->bytes == 0) return absl::OkStatus();
  if (options_->memory == Memory::kCopse) {
    return ToStatus(copse_alloc(session_->context(), allocation->bytes, &allocation->data));
  }
  // MAP_NORESERVE: the size may exceed the machine's memory, since the call may yet be refused before any access.
  void* data =
      mmap(nullptr, allocation->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return absl::AbortedError(absl::StrCat("out of memory (bytes=", allocation->bytes, ")"));
  allocation->data = data;
  return absl::OkStatus();
}

absl::Status Caller::Allocate() {
  RETURN_IF_ERROR(CountBlocks());
  const bool may_be_root = options_->roots.shift > 0 || options_->roots.first == session_->rank();
  const auto count_of = [&](BufferKind buffer, bool at_root) {
    if (buffer == BufferKind::kNone || (at_root && !may_be_root)) return uint64_t{0};
    return buffer == BufferKind::kBlocks ? blocks_count_ : own_count_;
  };
  const uint64_t sent = count_of(traits_.send, traits_.senders == Holders::kRoot);
  uint64_t received = count_of(traits_.receive, traits_.receivers == Holders::kRoot);
  // In place, the data to send is in the receive buffer.
  if (options_->in_place && !is_scatter()) received = std::max(received, sent);
  if (collective_ != Collective::kBcast) RETURN_IF_ERROR(AllocateBuffer(sent, &send_));
  RETURN_IF_ERROR(AllocateBuffer(received, &recv_));
  const uint64_t elements =
      (collective_ == Collective::kBcast ? 0 : sent) + received + (options_->check ? received : 0);
  const uint64_t ranks = session_->ranks_per_node(), most = NodeBytesMax();
  if (elements > most / ranks / ElementBytes(options_->type)) {
    return absl::AbortedError(absl::StrCat("more memory than this machine has to give (elements=", elements,
                                           ", type_bytes=", ElementBytes(options_->type), ", ranks_on_node=", ranks,
                                           ", limit=", most, " bytes)"));
  }
  SetArguments(0);
  copse_request_t* request;
  RETURN_IF_ERROR(Initialize(&request));
  RETURN_IF_ERROR(ToStatus(copse_finalize(request)));
  for (const Allocation& allocation : {send_, recv_}) {
    if (allocation.data == nullptr) continue;
    pattern_.Contribution(0, session_->rank(), allocation.count, allocation.data);
  }
  if (options_->check) expected_.resize(recv_.bytes);
  return absl::OkStatus();
}

bool Caller::in_place() const {
  return options_->in_place && CanBeInPlace(collective_) && (!HasRoot(collective_) || is_root());
}

bool Caller::has_sent() const {
  return traits_.send != BufferKind::kNone && (traits_.senders != Holders::kRoot || is_root());
}

bool Caller::has_received() const {
  if (traits_.operands == Operands::kBeforeOwn && session_->rank() == 0) return false;
  return traits_.receive != BufferKind::kNone && (traits_.receivers != Holders::kRoot || is_root());
}

void Caller::SetArguments(uint64_t call) {
  args_.root = options_->RootOf(call);
  args_.count = own_count_;
  args_.send = send_.data;
  args_.recv = recv_.data;
  if (in_place()) (is_scatter() ? args_.recv : const_cast<void*&>(args_.send)) = COPSE_IN_PLACE;
  if (!IsIrregular(collective_)) return;
  args_.mask &= ~uint64_t{COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS};
  args_.send_counts = args_.recv_counts = nullptr;
  if (HasCountsAtRoot(collective_) && !options_->counts_known && !is_root()) return;
  if (!send_counts_.empty()) {
    args_.mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS;
    args_.send_counts = send_counts_.data();
  }
  if (!recv_counts_.empty()) {
    args_.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
    args_.recv_counts = recv_counts_.data();
  }
}

absl::Status Caller::Initialize(copse_request_t** request) {
  return ToStatus(copse_collective_init(session_->team(), &args_, request));
}

void Caller::PutContribution(uint64_t call) {
  const uint32_t rank = session_->rank();
  const uint32_t bytes = ElementBytes(options_->type);
  const bool in_recv = collective_ == Collective::kBcast || (in_place() && !is_scatter());
  auto* to = static_cast<uint8_t*>((in_recv ? recv_ : send_).data);
  if (Reduces(collective_)) {
    pattern_.Contribution(call, rank, traits_.send == BufferKind::kBlocks ? blocks_count_ : own_count_, to);
  } else if (traits_.send == BufferKind::kBlocks) {
    for (uint32_t other = 0; other < session_->ranks(); ++other) {
      pattern_.Moved(call, rank, other, LengthOf(rank, other), to);
      to += LengthOf(rank, other) * bytes;
    }
  } else {
    // In place, the contribution is in this rank's block of the receive buffer.
    for (uint32_t other = 0; in_recv && traits_.receive == BufferKind::kBlocks && other < rank; ++other) {
      to += LengthOf(other, rank) * bytes;
    }
    pattern_.Moved(call, rank, rank, own_count_, to);
  }
}

absl::Status Caller::Prepare(uint64_t call) {
  SetArguments(call);
  if (options_->request.persistent) {
    copse_request_t*& kept = kept_[HasRoot(collective_) ? args_.root : 0];
    if (kept == nullptr) RETURN_IF_ERROR(Initialize(&kept));
    kept_request_ = kept;
  }
  if (options_->check) {
    if (recv_.data != nullptr) std::memset(recv_.data, 0xa5, recv_.bytes);
    if (has_sent()) PutContribution(call);
  }
  if (options_->back_to_back) return absl::OkStatus();
  return ToStatus(copse_barrier(session_->team()));
}

absl::Status Caller::Call(Computation* computation, uint64_t rounds, CallTime* time) {
  time->compute_ns = 0;
  const int64_t start = NowNs();
  // The blocking functions have no flags, so a call with flags is made by a request.
  if (options_->mode == Mode::kBlocking && args_.flags == 0 && HasBlockingCall(collective_)) {
    const copse_status_t status = CallBlocking(session_->team(), args_);
    time->overall_ns = NowNs() - start;
    return ToStatus(status);
  }
  copse_request_t* request = kept_request_;
  copse_status_t status = COPSE_OK;
  if (!options_->request.persistent) status = copse_collective_init(session_->team(), &args_, &request);
  if (status == COPSE_OK) status = copse_post(request);
  if (status == COPSE_OK && rounds > 0) status = Compute(computation, rounds, request, time);
  if (status == COPSE_OK) status = Complete(request);
  // After an error the request may be in progress; copse_fini releases it.
  if (status == COPSE_OK && !options_->request.persistent) status = copse_finalize(request);
  time->overall_ns = NowNs() - start;
  return ToStatus(status);
}

copse_status_t Caller::Compute(Computation* computation, uint64_t rounds, copse_request_t* request,
                               CallTime* time) const {
  const uint64_t parts = uint64_t{options_->request.tests} + 1;
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
  const double seconds = options_->member.timeout_s.value_or(-1);
  if (options_->request.completion == Completion::kWait) return copse_wait(request, seconds);
  const int64_t end = seconds < 0 ? INT64_MAX : NowNs() + static_cast<int64_t>(seconds * 1e9);
  copse_status_t status;
  while ((status = copse_test(request)) == COPSE_INPROGRESS) {
    if (NowNs() > end) return copse_wait(request, 1e-9);  // sets the library's message for a time-out
  }
  return status;
}

uint64_t Caller::Verify(uint64_t call) {
  if (expected_.empty() || !has_received() || (in_place() && is_scatter())) return 0;
  const uint32_t ranks = session_->ranks(), rank = session_->rank();
  const uint32_t bytes = ElementBytes(options_->type);
  uint64_t count = own_count_;
  if (Reduces(collective_)) {
    uint64_t first = 0;
    for (uint32_t other = 0; traits_.send == BufferKind::kBlocks && other < rank; ++other) {
      first += LengthOf(rank, other);
    }
    pattern_.Reduction(call, OperandCount(collective_, rank, ranks), first, count, expected_.data());
  } else {
    const bool receives_blocks = traits_.receive == BufferKind::kBlocks;
    if (receives_blocks) count = blocks_count_;
    uint8_t* to = expected_.data();
    for (uint32_t index = 0; index < (receives_blocks ? ranks : 1); ++index) {
      const uint32_t from = SourceOf(collective_, index, rank, ranks, args_.root);
      pattern_.Moved(call, from, traits_.send == BufferKind::kBlocks ? rank : from, LengthOf(from, rank), to);
      to += LengthOf(from, rank) * bytes;
    }
  }
  return CountDifferences(expected_.data(), recv_.data, count, bytes);
}

}  // namespace copse::perftest
