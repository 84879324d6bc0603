// SPDX-License-Identifier: Apache-2.0

#include "client/arguments.h"

#include <utility>

#include "base/element_types.h"
#include "client/error.h"

namespace copse::client {
namespace {

using Kind = BufferPlan::Kind;
using Nesting = CallPlan::Nesting;
using Number = unsigned long long;

constexpr int kCollectiveCount = 16;
constexpr uint64_t kArgsFields = COPSE_COLL_ARGS_FIELD_FLAGS | COPSE_COLL_ARGS_FIELD_SEND_COUNTS |
                                 COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS |
                                 COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
constexpr uint64_t kFlags = COPSE_COLL_FLAG_COUNTS_KNOWN | COPSE_COLL_FLAG_REPRODUCIBLE;

// What the buffers hold, and who has them.
enum class Who : uint8_t { kNobody, kRoot, kAllButRoot, kAllButFirst, kAll };
struct Traits {
  const char* name;
  bool has_op;
  bool has_root;
  bool is_irregular;
  Kind send;
  Who sends;
  Kind receive;
  Who receives;
  Nesting nesting;  // of a rank that has both
};
constexpr Traits kTraits[kCollectiveCount] = {
    {"barrier", false, false, false, Kind::kNone, Who::kNobody, Kind::kNone, Who::kNobody, Nesting::kNone},
    {"bcast", false, true, false, Kind::kOne, Who::kRoot, Kind::kOne, Who::kAllButRoot, Nesting::kNone},
    {"reduce", true, true, false, Kind::kOne, Who::kAll, Kind::kOne, Who::kRoot, Nesting::kSendInReceive},
    {"allreduce", true, false, false, Kind::kOne, Who::kAll, Kind::kOne, Who::kAll, Nesting::kSendInReceive},
    {"gather", false, true, false, Kind::kOne, Who::kAll, Kind::kBlocks, Who::kRoot, Nesting::kSendInReceive},
    {"scatter", false, true, false, Kind::kBlocks, Who::kRoot, Kind::kOne, Who::kAll, Nesting::kReceiveInSend},
    {"allgather", false, false, false, Kind::kOne, Who::kAll, Kind::kBlocks, Who::kAll, Nesting::kSendInReceive},
    {"alltoall", false, false, false, Kind::kBlocks, Who::kAll, Kind::kBlocks, Who::kAll, Nesting::kNone},
    {"reduce_scatter", true, false, false, Kind::kBlocks, Who::kAll, Kind::kOne, Who::kAll, Nesting::kNone},
    {"scan", true, false, false, Kind::kOne, Who::kAll, Kind::kOne, Who::kAll, Nesting::kSendInReceive},
    {"exscan", true, false, false, Kind::kOne, Who::kAll, Kind::kOne, Who::kAllButFirst, Nesting::kSendInReceive},
    {"gatherv", false, true, true, Kind::kOne, Who::kAll, Kind::kBlocks, Who::kRoot, Nesting::kSendInReceive},
    {"scatterv", false, true, true, Kind::kBlocks, Who::kRoot, Kind::kOne, Who::kAll, Nesting::kReceiveInSend},
    {"allgatherv", false, false, true, Kind::kOne, Who::kAll, Kind::kBlocks, Who::kAll, Nesting::kSendInReceive},
    {"alltoallv", false, false, true, Kind::kBlocks, Who::kAll, Kind::kBlocks, Who::kAll, Nesting::kNone},
    {"reduce_scatterv", true, false, true, Kind::kBlocks, Who::kAll, Kind::kOne, Who::kAll, Nesting::kNone},
};

static_assert(COPSE_DT_SHORT_INT == kElementTypeCount - 1 && COPSE_OP_MAXLOC == kElementOpCount - 1);

bool Is(Who who, uint32_t rank, uint32_t root) {
  switch (who) {
    case Who::kNobody:
      return false;
    case Who::kRoot:
      return rank == root;
    case Who::kAllButRoot:
      return rank != root;
    case Who::kAllButFirst:
      return rank != 0;
    case Who::kAll:
      return true;
  }
  return false;
}

// The caller's arguments with what was found out about them.
class Planner {
 public:
  Planner(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max)
      : args_(args), rank_(rank), size_(size), bytes_max_(message_bytes_max) {}

  copse_status_t Plan(CallPlan* plan);

 private:
  bool Has(uint64_t field) const { return (args_.mask & field) != 0; }

  copse_status_t PlanValues();
  copse_status_t PlanLengths();
  copse_status_t PlanIrregular();
  copse_status_t PlanList(bool sends);
  copse_status_t CheckOwnCount(const Blocks& blocks, uint64_t* count) const;
  copse_status_t PlanInPlace();
  copse_status_t PlanAddresses();
  copse_status_t CheckOverlap() const;
  copse_status_t FailNull(const char* name, const BufferPlan& buffer) const;

  const copse_coll_args_t& args_;
  const uint32_t rank_;
  const uint32_t size_;
  const uint64_t bytes_max_;
  const Traits* traits_ = nullptr;
  uint64_t type_bytes_ = 0;
  CallPlan plan_;
  const void* send_ = nullptr;  // what the caller gave, without COPSE_IN_PLACE
  void* recv_ = nullptr;
};

copse_status_t Planner::PlanValues() {
  if ((args_.mask & ~kArgsFields) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_coll_args_t (mask=0x%llx, known=0x%llx)",
                static_cast<Number>(args_.mask), static_cast<Number>(kArgsFields));
  }
  if (args_.collective < 0 || args_.collective >= kCollectiveCount) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown collective (collective=%d, limit=%d)",
                static_cast<int>(args_.collective), kCollectiveCount - 1);
  }
  traits_ = &kTraits[args_.collective];
  plan_.collective = args_.collective;
  if (Has(COPSE_COLL_ARGS_FIELD_FLAGS)) {
    if ((args_.flags & ~kFlags) != 0) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown flags (flags=0x%llx, known=0x%llx)",
                  static_cast<Number>(args_.flags), static_cast<Number>(kFlags));
    }
    plan_.flags = args_.flags;
  }
  if (args_.collective != COPSE_COLL_GATHERV && args_.collective != COPSE_COLL_SCATTERV) {
    plan_.flags &= ~uint64_t{COPSE_COLL_FLAG_COUNTS_KNOWN};
  }
  if (!traits_->has_op) plan_.flags &= ~uint64_t{COPSE_COLL_FLAG_REPRODUCIBLE};
  if (traits_->has_root) {
    if (args_.root >= size_) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "no such root (root=%u, size=%u)", args_.root, size_);
    }
    plan_.root = args_.root;
  }
  if (args_.collective == COPSE_COLL_BARRIER) return COPSE_OK;
  type_bytes_ = DatatypeBytes(args_.type);
  if (type_bytes_ == 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown datatype (type=%d, limit=%d)", static_cast<int>(args_.type),
                kElementTypeCount - 1);
  }
  plan_.type = args_.type;
  if (!traits_->has_op) return COPSE_OK;
  if (args_.op >= kFirstUserOp) {
    plan_.op = args_.op;
    return COPSE_OK;
  }
  if (args_.op < 0 || args_.op >= kElementOpCount) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown operation (op=%d, limit=%d)", static_cast<int>(args_.op),
                kElementOpCount - 1);
  }
  if (!IsDefined(static_cast<ElementOp>(args_.op), static_cast<ElementType>(args_.type))) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the operation is not defined on the type (op=%s, type=%s)",
                kElementOpNames[args_.op].data(), kElementTypes[args_.type].name.data());
  }
  plan_.op = args_.op;
  return COPSE_OK;
}

// Who is in place, and where the caller's buffers are.
copse_status_t Planner::PlanInPlace() {
  const bool is_scatter = traits_->nesting == Nesting::kReceiveInSend;
  send_ = args_.send;
  recv_ = args_.recv;
  if (args_.recv == COPSE_IN_PLACE) {
    if (!is_scatter) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT,
                  "COPSE_IN_PLACE is given as receive buffer; it stands for the send buffer");
    }
    if (rank_ != args_.root) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "in place is for the root only (rank=%u, root=%u)", rank_, args_.root);
    }
    plan_.in_place = true;
    recv_ = nullptr;
  }
  if (args_.collective == COPSE_COLL_BCAST) {
    if (args_.send != nullptr && args_.send != COPSE_IN_PLACE && args_.send != args_.recv) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "bcast has one buffer, recv; send must be NULL or COPSE_IN_PLACE");
    }
    send_ = args_.recv;
    return COPSE_OK;
  }
  if (args_.send != COPSE_IN_PLACE) return COPSE_OK;
  if (is_scatter) {
    if (rank_ != args_.root) return COPSE_OK;  // not looked at
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "COPSE_IN_PLACE stands for the receive buffer of a %s's root",
                traits_->name);
  }
  if (traits_->receives == Who::kRoot && rank_ != args_.root) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "in place is for the root only (rank=%u, root=%u)", rank_, args_.root);
  }
  plan_.in_place = true;
  send_ = args_.recv;
  return COPSE_OK;
}

// What the list of the send or the receive side says. In place, an alltoallv sends what it receives.
copse_status_t Planner::PlanList(bool sends) {
  const bool shared = sends && plan_.in_place && args_.collective == COPSE_COLL_ALLTOALLV;
  // The slices of a reduce_scatterv are by rank, as long as the results.
  const bool by_receive = shared || args_.collective == COPSE_COLL_REDUCE_SCATTERV;
  const bool uses_send_fields = sends && !by_receive;
  const uint64_t* counts = nullptr;
  const uint64_t* displacements = nullptr;
  if (uses_send_fields) {
    if (Has(COPSE_COLL_ARGS_FIELD_SEND_COUNTS)) counts = args_.send_counts;
    if (Has(COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS)) displacements = args_.send_displacements;
  } else {
    if (Has(COPSE_COLL_ARGS_FIELD_RECV_COUNTS)) counts = args_.recv_counts;
    if (Has(COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS) && args_.collective != COPSE_COLL_REDUCE_SCATTERV) {
      displacements = args_.recv_displacements;
    }
  }
  auto blocks = std::make_shared<Blocks>();
  if (const auto status = Blocks::Make(uses_send_fields ? "send" : "recv", counts, displacements, size_, type_bytes_,
                                       bytes_max_, blocks.get());
      status != COPSE_OK) {
    return status;
  }
  BufferPlan& buffer = sends ? plan_.send : plan_.receive;
  if (buffer.kind == Kind::kBlocks) {
    if (!sends) {
      if (const auto status = blocks->CheckDisjoint(); status != COPSE_OK) return status;
    }
    buffer.bytes = blocks->bytes();
    buffer.span = blocks->span();
  }
  buffer.blocks = std::move(blocks);
  return COPSE_OK;
}

// The rank's own count, which the counts must not contradict. Sets *count in place.
copse_status_t Planner::CheckOwnCount(const Blocks& blocks, uint64_t* count) const {
  const uint64_t counted = blocks.list()[rank_].bytes / type_bytes_;
  if (plan_.in_place || args_.collective == COPSE_COLL_REDUCE_SCATTERV) {
    *count = counted;
    return COPSE_OK;
  }
  if (*count == counted) return COPSE_OK;
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "count is not what the counts say of this rank (count=%llu, counts[%u]=%llu)",
              static_cast<Number>(*count), rank_, static_cast<Number>(counted));
}

copse_status_t Planner::PlanIrregular() {
  const bool known = (plan_.flags & COPSE_COLL_FLAG_COUNTS_KNOWN) != 0;
  for (const bool sends : {true, false}) {
    const Kind kind = sends ? traits_->send : traits_->receive;
    const BufferPlan& buffer = sends ? plan_.send : plan_.receive;
    if (kind != Kind::kBlocks || (buffer.kind != Kind::kBlocks && !known)) continue;
    if (const auto status = PlanList(sends); status != COPSE_OK) return status;
  }
  if (args_.collective == COPSE_COLL_ALLTOALLV) return COPSE_OK;
  BufferPlan& one = traits_->send == Kind::kOne ? plan_.send : plan_.receive;
  const BufferPlan& other = traits_->send == Kind::kOne ? plan_.receive : plan_.send;
  uint64_t count = args_.count;
  if (other.blocks != nullptr) {
    if (const auto status = CheckOwnCount(*other.blocks, &count); status != COPSE_OK) return status;
    plan_.own_offset = other.blocks->list()[rank_].offset;
    plan_.own_packed_offset = other.blocks->PackedOffset(rank_);
  }
  if (count > bytes_max_ / type_bytes_) {
    return Fail(COPSE_ERR_NOT_SUPPORTED, "the message is too long (count=%llu, type_bytes=%llu, limit=%llu bytes)",
                static_cast<Number>(count), static_cast<Number>(type_bytes_), static_cast<Number>(bytes_max_));
  }
  plan_.count = count;
  one.bytes = one.span = count * type_bytes_;
  return COPSE_OK;
}

// Counts, bytes and lists.
copse_status_t Planner::PlanLengths() {
  if (Is(traits_->sends, rank_, args_.root)) plan_.send.kind = traits_->send;
  if (Is(traits_->receives, rank_, args_.root)) plan_.receive.kind = traits_->receive;
  if (plan_.send.kind != Kind::kNone && plan_.receive.kind != Kind::kNone) plan_.nesting = traits_->nesting;
  if (traits_->is_irregular) return PlanIrregular();
  // What any rank may not have, all may not: then all hear of it.
  const bool has_blocks = traits_->send == Kind::kBlocks || traits_->receive == Kind::kBlocks;
  const uint64_t blocks = has_blocks ? size_ : 1;
  if (args_.count > bytes_max_ / type_bytes_ / blocks) {
    if (!has_blocks) {
      return Fail(COPSE_ERR_NOT_SUPPORTED, "the message is too long (count=%llu, type_bytes=%llu, limit=%llu bytes)",
                  static_cast<Number>(args_.count), static_cast<Number>(type_bytes_), static_cast<Number>(bytes_max_));
    }
    return Fail(COPSE_ERR_NOT_SUPPORTED,
                "the message is too long (count=%llu, type_bytes=%llu, blocks=%llu, limit=%llu bytes)",
                static_cast<Number>(args_.count), static_cast<Number>(type_bytes_), static_cast<Number>(blocks),
                static_cast<Number>(bytes_max_));
  }
  plan_.count = args_.count;
  const uint64_t bytes = args_.count * type_bytes_;
  for (BufferPlan* buffer : {&plan_.send, &plan_.receive}) {
    if (buffer->kind == Kind::kNone) continue;
    buffer->bytes = buffer->span = buffer->kind == Kind::kBlocks ? bytes * size_ : bytes;
  }
  if (has_blocks) plan_.own_offset = plan_.own_packed_offset = bytes * rank_;
  return COPSE_OK;
}

copse_status_t Planner::FailNull(const char* name, const BufferPlan& buffer) const {
  if (traits_->is_irregular) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the %s buffer is NULL (bytes=%llu)", name,
                static_cast<Number>(buffer.bytes));
  }
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "the %s buffer is NULL (count=%llu)", name, static_cast<Number>(args_.count));
}

copse_status_t Planner::CheckOverlap() const {
  const BufferPlan& send = plan_.send;
  const BufferPlan& receive = plan_.receive;
  const auto start = [](const BufferPlan& buffer) { return reinterpret_cast<uintptr_t>(buffer.address); };
  if (send.bytes == 0 || receive.bytes == 0) return COPSE_OK;
  if (start(send) < start(receive) ? start(receive) - start(send) >= send.span
                                   : start(send) - start(receive) >= receive.span) {
    return COPSE_OK;
  }
  const bool has_send_list = send.kind == Kind::kBlocks && send.blocks != nullptr;
  const bool has_receive_list = receive.kind == Kind::kBlocks && receive.blocks != nullptr;
  bool overlap = true;
  if (has_send_list && has_receive_list) {
    overlap = Overlap(*send.blocks, send.address, *receive.blocks, receive.address);
  } else if (has_send_list) {
    overlap = send.blocks->Touches(send.address, receive.address, receive.bytes);
  } else if (has_receive_list) {
    overlap = receive.blocks->Touches(receive.address, send.address, send.bytes);
  }
  if (!overlap) return COPSE_OK;
  return Fail(COPSE_ERR_INVALID_ARGUMENT,
              "the buffers overlap; COPSE_IN_PLACE as send buffer may be meant (bytes=%llu)",
              static_cast<Number>(receive.bytes));
}

copse_status_t Planner::PlanAddresses() {
  BufferPlan& send = plan_.send;
  BufferPlan& receive = plan_.receive;
  // In place, the one is where its block of the other is.
  if (receive.bytes > 0 && !(plan_.in_place && plan_.nesting == Nesting::kReceiveInSend)) {
    if (recv_ == nullptr) return FailNull(args_.collective == COPSE_COLL_BCAST ? "bcast" : "receive", receive);
    receive.address = static_cast<uint8_t*>(recv_);
  }
  if (send.bytes > 0) {
    if (send_ == nullptr) return FailNull(args_.collective == COPSE_COLL_BCAST ? "bcast" : "send", send);
    send.address = static_cast<uint8_t*>(const_cast<void*>(send_));
  }
  if (!plan_.in_place) return CheckOverlap();
  const bool is_nested_block = traits_->receive == Kind::kBlocks || traits_->send == Kind::kBlocks;
  if (!is_nested_block || plan_.nesting == Nesting::kNone) return COPSE_OK;
  if (plan_.nesting == Nesting::kSendInReceive && send.address != nullptr) send.address += plan_.own_offset;
  if (plan_.nesting == Nesting::kReceiveInSend && send.address != nullptr && receive.bytes > 0) {
    receive.address = send.address + plan_.own_offset;
  }
  return COPSE_OK;
}

copse_status_t Planner::Plan(CallPlan* plan) {
  if (const auto status = PlanValues(); status != COPSE_OK) return status;
  if (args_.collective != COPSE_COLL_BARRIER) {
    if (const auto status = PlanInPlace(); status != COPSE_OK) return status;
    if (const auto status = PlanLengths(); status != COPSE_OK) return status;
    if (const auto status = PlanAddresses(); status != COPSE_OK) return status;
  }
  *plan = std::move(plan_);
  return COPSE_OK;
}

}  // namespace

const char* CollectiveName(copse_collective_t collective) {
  return collective >= 0 && collective < kCollectiveCount ? kTraits[collective].name : "unknown";
}

bool IsIrregular(copse_collective_t collective) {
  return collective >= 0 && collective < kCollectiveCount && kTraits[collective].is_irregular;
}

uint32_t DatatypeBytes(copse_datatype_t type) {
  return type >= 0 && type < kElementTypeCount ? kElementTypes[type].bytes : 0;
}

copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan) {
  return Planner(args, rank, size, message_bytes_max).Plan(plan);
}

}  // namespace copse::client
