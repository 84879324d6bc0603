// SPDX-License-Identifier: Apache-2.0

#include "client/port/user_op.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "client/port/error.h"
#include "client/port/staging.h"
#include "collectives/collective.h"

namespace copse::client {
namespace {

struct UserOpTable {
  std::mutex mutex;
  std::map<int, std::shared_ptr<const UserOp>> ops;
  int next = kFirstUserOp;
};

// The table is never destroyed, since threads may outlive static objects.
UserOpTable& TheTable() {
  static auto* table = new UserOpTable;
  return *table;
}

// Returns the collective that sends a rank all contributions to its result.
copse_collective_t CarrierOf(copse_collective_t collective) {
  switch (collective) {
    case COPSE_COLL_REDUCE:
      return COPSE_COLL_GATHER;
    case COPSE_COLL_REDUCE_SCATTER:
      return COPSE_COLL_ALLTOALL;
    case COPSE_COLL_REDUCE_SCATTERV:
      return COPSE_COLL_ALLTOALLV;
    default:
      return COPSE_COLL_ALLGATHER;
  }
}

}  // namespace

copse_op_t AddUserOp(const UserOp& op) {
  UserOpTable& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  table.ops[table.next] = std::make_shared<const UserOp>(op);
  return static_cast<copse_op_t>(table.next++);
}

bool RemoveUserOp(copse_op_t op) {
  UserOpTable& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  return table.ops.erase(op) == 1;
}

std::shared_ptr<const UserOp> FindUserOp(copse_op_t op) {
  UserOpTable& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  const auto found = table.ops.find(op);
  return found == table.ops.end() ? nullptr : found->second;
}

Fold::Fold(std::shared_ptr<const UserOp> op, copse_collective_t collective, copse_datatype_t type, uint64_t bytes,
           uint32_t operands, uint32_t combined, uint8_t* result)
    : op_(std::move(op)),
      collective_(collective),
      type_(type),
      bytes_(bytes),
      combined_(combined),
      result_(result),
      scratch_(bytes * operands) {}

void Fold::Run() {
  if (result_ == nullptr || bytes_ == 0 || combined_ == 0) return;
  // The function leaves its result in the later operand.
  for (uint32_t rank = 1; rank < combined_; ++rank) {
    uint8_t* later = scratch_.data() + rank * bytes_;
    op_->function(later - bytes_, later, bytes_ / DatatypeBytes(type_), type_, op_->argument);
  }
  memcpy(result_, scratch_.data() + (combined_ - 1) * bytes_, bytes_);
}

copse_status_t PlanAnyCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                           CallPlan* plan) {
  if (args.op < kFirstUserOp) return PlanCall(args, rank, size, message_bytes_max, plan);
  CallPlan outer;
  if (const auto status = PlanCall(args, rank, size, message_bytes_max, &outer); status != COPSE_OK) return status;
  if (outer.op < kFirstUserOp) {  // the collective does not reduce
    *plan = std::move(outer);
    return COPSE_OK;
  }
  auto op = FindUserOp(outer.op);
  if (op == nullptr) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the operation was freed, or this is none (op=%d)",
                static_cast<int>(outer.op));
  }
  copse_coll_args_t carried{};
  carried.collective = CarrierOf(args.collective);
  carried.type = args.type;
  carried.root = outer.root;
  carried.send = outer.send.address;
  carried.count = outer.count;
  const uint64_t bytes = outer.count * DatatypeBytes(args.type);
  // The length is checked before the scratch is allocated.
  if (outer.count > message_bytes_max / DatatypeBytes(args.type) / size) {
    return Fail(COPSE_ERR_NOT_SUPPORTED,
                "the message is too long for an operation of the application's (count=%llu, type_bytes=%u, ranks=%u, "
                "limit=%llu bytes)",
                static_cast<unsigned long long>(outer.count), DatatypeBytes(args.type), size,
                static_cast<unsigned long long>(message_bytes_max));
  }
  if (bytes * size > Staging::kBounceBytesMax) {
    return Fail(
        COPSE_ERR_NO_RESOURCE,
        "an operation of the application's copies all ranks' contributions, more than a context may (count=%llu, "
        "type_bytes=%u, ranks=%u, limit=%llu bytes)",
        static_cast<unsigned long long>(outer.count), DatatypeBytes(args.type), size,
        static_cast<unsigned long long>(Staging::kBounceBytesMax));
  }
  const bool receives = args.collective != COPSE_COLL_REDUCE || rank == outer.root;
  auto fold =
      std::make_shared<Fold>(std::move(op), args.collective, args.type, bytes, receives ? size : 0,
                             OperandCount(static_cast<Collective>(args.collective), rank, size), outer.receive.address);
  carried.recv = fold->scratch();
  std::vector<uint64_t> receive_counts;
  if (carried.collective == COPSE_COLL_ALLTOALLV) {
    receive_counts.assign(size, outer.count);
    carried.mask = COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
    carried.send_counts = args.recv_counts;
    carried.recv_counts = receive_counts.data();
  }
  CallPlan inner;
  if (const auto status = PlanCall(carried, rank, size, message_bytes_max, &inner); status != COPSE_OK) return status;
  inner.fold = std::move(fold);
  *plan = std::move(inner);
  return COPSE_OK;
}

const char* NameOf(const CallPlan& plan) {
  return CollectiveName(plan.fold != nullptr ? plan.fold->collective() : plan.collective);
}

}  // namespace copse::client
