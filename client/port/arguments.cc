// SPDX-License-Identifier: Apache-2.0

#include "client/port/arguments.h"

#include <utility>

#include "base/element_types.h"
#include "client/port/error.h"
#include "collectives/call_check.h"

namespace copse::client {
namespace {

using Kind = BufferKind;
using Number = unsigned long long;

constexpr uint64_t kArgsFields = COPSE_COLL_ARGS_FIELD_FLAGS | COPSE_COLL_ARGS_FIELD_SEND_COUNTS |
                                 COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS |
                                 COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
constexpr uint64_t kFlags = COPSE_COLL_FLAG_COUNTS_KNOWN | COPSE_COLL_FLAG_REPRODUCIBLE;

static_assert(COPSE_DT_SHORT_INT == kElementTypeCount - 1 && COPSE_OP_MAXLOC == kElementOpCount - 1);

copse_status_t FailWith(const CallDefect& defect) {
  return Fail(static_cast<copse_status_t>(-static_cast<int>(defect.failure)), "%s", defect.text.c_str());
}

// A Planner checks the arguments of one call and makes the plan from them. It is used once.
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
  copse_status_t PlanOwnCount(const Blocks& blocks, uint64_t* count) const;
  copse_status_t PlanInPlace();
  copse_status_t PlanAddresses();
  copse_status_t CheckOverlap() const;
  copse_status_t FailNull(const BufferPlan& buffer) const;

  const copse_coll_args_t& args_;
  const uint32_t rank_;
  const uint32_t size_;
  const uint64_t bytes_max_;
  CallArguments arguments_;
  const CollectiveTraits* traits_ = nullptr;
  uint64_t type_bytes_ = 0;
  CallPlan plan_;
  const void* send_ = nullptr;  // the caller's buffers, without COPSE_IN_PLACE
  void* recv_ = nullptr;
};

copse_status_t Planner::PlanValues() {
  if ((args_.mask & ~kArgsFields) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_coll_args_t (mask=0x%llx, known=0x%llx)",
                static_cast<Number>(args_.mask), static_cast<Number>(kArgsFields));
  }
  const uint64_t flags = Has(COPSE_COLL_ARGS_FIELD_FLAGS) ? args_.flags : 0;
  if ((flags & ~kFlags) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown flags (flags=0x%llx, known=0x%llx)", static_cast<Number>(flags),
                static_cast<Number>(kFlags));
  }
  RawArguments raw{.collective = args_.collective,
                   .type = args_.type,
                   .op = args_.op,
                   .has_own_op = args_.op >= kFirstUserOp,
                   .count = args_.count,
                   .root = args_.root};
  if ((flags & COPSE_COLL_FLAG_COUNTS_KNOWN) != 0) raw.options |= kCountsKnown;
  if ((flags & COPSE_COLL_FLAG_REPRODUCIBLE) != 0) raw.options |= kReproducible;
  if (const CallDefect defect = CheckArguments(raw, size_, bytes_max_, &arguments_)) return FailWith(defect);
  traits_ = &TraitsOf(arguments_.collective);
  plan_.collective = args_.collective;
  plan_.root = arguments_.root;
  if ((arguments_.options & kCountsKnown) != 0) plan_.flags |= COPSE_COLL_FLAG_COUNTS_KNOWN;
  if ((arguments_.options & kReproducible) != 0) plan_.flags |= COPSE_COLL_FLAG_REPRODUCIBLE;
  if (!HasData(arguments_.collective)) return COPSE_OK;
  plan_.type = args_.type;
  type_bytes_ = ElementBytes(arguments_.type);
  if (Reduces(arguments_.collective)) plan_.op = args_.op;
  return COPSE_OK;
}

// Sets in_place, and the caller's buffers without COPSE_IN_PLACE.
copse_status_t Planner::PlanInPlace() {
  const bool is_scatter = traits_->nesting == Nesting::kReceiveInSend;
  send_ = args_.send;
  recv_ = args_.recv;
  if (args_.recv == COPSE_IN_PLACE) {
    if (!is_scatter) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT,
                  "what is in place is the send buffer, not the other (recv=COPSE_IN_PLACE)");
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
    if (rank_ != args_.root) return COPSE_OK;  // the argument is ignored
    return Fail(COPSE_ERR_INVALID_ARGUMENT,
                "what is in place at a %s's root is the receive buffer (send=COPSE_IN_PLACE)",
                CollectiveName(args_.collective));
  }
  if (traits_->receivers == Holders::kRoot && rank_ != args_.root) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "in place is for the root only (rank=%u, root=%u)", rank_, args_.root);
  }
  plan_.in_place = true;
  send_ = args_.recv;
  return COPSE_OK;
}

// Reads the list of blocks of the send or the receive buffer. An alltoallv in place uses one list for both.
copse_status_t Planner::PlanList(bool sends) {
  const bool shared = sends && plan_.in_place && args_.collective == COPSE_COLL_ALLTOALLV;
  // The send blocks of a reduce_scatterv have the lengths of the ranks' results, which are the receive counts.
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

// Checks the rank's own count against the list. A call in place and a reduce_scatterv have none, so *count is set from
// the list.
copse_status_t Planner::PlanOwnCount(const Blocks& blocks, uint64_t* count) const {
  const Block own{blocks.list()[rank_].offset, blocks.list()[rank_].bytes};
  if (plan_.in_place || args_.collective == COPSE_COLL_REDUCE_SCATTERV) {
    *count = own.bytes / type_bytes_;
    return COPSE_OK;
  }
  const CallDefect defect = CheckOwnCount(rank_, *count, own, arguments_.type);
  return defect ? FailWith(defect) : COPSE_OK;
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
    if (const auto status = PlanOwnCount(*other.blocks, &count); status != COPSE_OK) return status;
    plan_.own_offset = other.blocks->list()[rank_].offset;
    plan_.own_packed_offset = other.blocks->PackedOffset(rank_);
  }
  if (const CallDefect defect = CheckCount(arguments_, count, size_, bytes_max_)) return FailWith(defect);
  plan_.count = count;
  one.bytes = one.span = count * type_bytes_;
  return COPSE_OK;
}

// Sets counts, lengths and lists of blocks.
copse_status_t Planner::PlanLengths() {
  plan_.send.kind = SendBuffer(arguments_.collective, rank_, args_.root);
  plan_.receive.kind = ReceiveBuffer(arguments_.collective, rank_, args_.root);
  if (plan_.send.kind != Kind::kNone && plan_.receive.kind != Kind::kNone) plan_.nesting = traits_->nesting;
  if (IsIrregular(arguments_.collective)) return PlanIrregular();
  plan_.count = args_.count;
  const uint64_t bytes = args_.count * type_bytes_;
  for (BufferPlan* buffer : {&plan_.send, &plan_.receive}) {
    if (buffer->kind == Kind::kNone) continue;
    buffer->bytes = buffer->span = buffer->kind == Kind::kBlocks ? bytes * size_ : bytes;
  }
  if (HoldsBlocks(arguments_.collective)) plan_.own_offset = plan_.own_packed_offset = bytes * rank_;
  return COPSE_OK;
}

copse_status_t Planner::FailNull(const BufferPlan& buffer) const {
  const char* name = args_.collective == COPSE_COLL_BCAST ? "bcast" : &buffer == &plan_.send ? "send" : "receive";
  if (IsIrregular(arguments_.collective)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "a buffer is NULL (buffer=%s, bytes=%llu)", name,
                static_cast<Number>(buffer.bytes));
  }
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "a buffer is NULL (buffer=%s, count=%llu)", name,
              static_cast<Number>(args_.count));
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
  // In place, the address of the inner buffer is that of its block in the outer one.
  if (receive.bytes > 0 && !(plan_.in_place && plan_.nesting == Nesting::kReceiveInSend)) {
    if (recv_ == nullptr) return FailNull(receive);
    receive.address = static_cast<uint8_t*>(recv_);
  }
  if (send.bytes > 0) {
    if (send_ == nullptr) return FailNull(send);
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
  if (HasData(arguments_.collective)) {
    if (const auto status = PlanInPlace(); status != COPSE_OK) return status;
    if (const auto status = PlanLengths(); status != COPSE_OK) return status;
    if (const auto status = PlanAddresses(); status != COPSE_OK) return status;
  }
  *plan = std::move(plan_);
  return COPSE_OK;
}

}  // namespace

uint32_t DatatypeBytes(copse_datatype_t type) {
  return type >= 0 && type < kElementTypeCount ? ElementBytes(static_cast<ElementType>(type)) : 0;
}

const char* CollectiveName(copse_collective_t collective) {
  if (collective < 0 || collective >= kCollectiveCount) return "unknown";
  return copse::CollectiveName(static_cast<Collective>(collective)).data();
}

copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan) {
  return Planner(args, rank, size, message_bytes_max).Plan(plan);
}

}  // namespace copse::client
