// SPDX-License-Identifier: Apache-2.0

#include "client/arguments.h"

#include "base/element_types.h"
#include "client/error.h"

namespace copse::client {
namespace {

constexpr int kCollectiveCount = 4;

struct Traits {
  const char* name;
  bool has_data;
  bool has_op;
  bool has_root;
};
constexpr Traits kTraits[kCollectiveCount] = {
    {"barrier", false, false, false},
    {"bcast", true, false, true},
    {"reduce", true, true, true},
    {"allreduce", true, true, false},
};

static_assert(COPSE_DT_SHORT_INT == kElementTypeCount - 1 && COPSE_OP_MAXLOC == kElementOpCount - 1);

bool Overlap(const void* a, const void* b, uint64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first < second ? second - first < bytes : first - second < bytes;
}

copse_status_t FailNull(const char* name, const copse_coll_args_t& args) {
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "the %s buffer is NULL (count=%llu)", name,
              static_cast<unsigned long long>(args.count));
}

// Sets plan->send and plan->receive; `plan->bytes` is not 0.
copse_status_t PlanBuffers(const copse_coll_args_t& args, uint32_t rank, CallPlan* plan) {
  if (args.recv == COPSE_IN_PLACE) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "COPSE_IN_PLACE is given as receive buffer; it stands for the send buffer");
  }
  if (args.collective == COPSE_COLL_BCAST) {
    if (args.send != nullptr && args.send != COPSE_IN_PLACE && args.send != args.recv) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "bcast has one buffer, recv; send must be NULL or COPSE_IN_PLACE");
    }
    if (args.recv == nullptr) return FailNull("bcast", args);
    if (rank == args.root) {
      plan->send = args.recv;
    } else {
      plan->receive = args.recv;
    }
    return COPSE_OK;
  }
  const bool receives = args.collective == COPSE_COLL_ALLREDUCE || rank == args.root;
  if (receives && args.recv == nullptr) return FailNull("receive", args);
  if (args.send == nullptr) return FailNull("send", args);
  if (args.send == COPSE_IN_PLACE) {
    if (!receives) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "only the root reduces in place (rank=%u, root=%u)", rank, args.root);
    }
    plan->send = plan->receive = args.recv;
    return COPSE_OK;
  }
  if (receives && Overlap(args.send, args.recv, plan->bytes)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT,
                "the buffers overlap; COPSE_IN_PLACE as send buffer may be meant (bytes=%llu)",
                static_cast<unsigned long long>(plan->bytes));
  }
  plan->send = args.send;
  if (receives) plan->receive = args.recv;
  return COPSE_OK;
}

}  // namespace

const char* CollectiveName(copse_collective_t collective) {
  return collective >= 0 && collective < kCollectiveCount ? kTraits[collective].name : "unknown";
}

uint32_t DatatypeBytes(copse_datatype_t type) {
  return type >= 0 && type < kElementTypeCount ? kElementTypes[type].bytes : 0;
}

copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan) {
  if (args.mask != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_coll_args_t (mask=0x%llx, known=0x0)",
                static_cast<unsigned long long>(args.mask));
  }
  if (args.collective < 0 || args.collective >= kCollectiveCount) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown collective (collective=%d, limit=%d)",
                static_cast<int>(args.collective), kCollectiveCount - 1);
  }
  const Traits& traits = kTraits[args.collective];
  CallPlan result;
  result.collective = args.collective;
  if (traits.has_root) {
    if (args.root >= size) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "no such root (root=%u, size=%u)", args.root, size);
    }
    result.root = args.root;
  }
  if (traits.has_data) {
    const uint32_t type_bytes = DatatypeBytes(args.type);
    if (type_bytes == 0) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown datatype (type=%d, limit=%d)", static_cast<int>(args.type),
                  kElementTypeCount - 1);
    }
    if (args.count > message_bytes_max / type_bytes) {
      return Fail(COPSE_ERR_NOT_SUPPORTED, "the message is too long (count=%llu, type_bytes=%u, limit=%llu bytes)",
                  static_cast<unsigned long long>(args.count), type_bytes,
                  static_cast<unsigned long long>(message_bytes_max));
    }
    result.type = args.type;
    result.count = args.count;
    result.bytes = args.count * type_bytes;
  }
  if (traits.has_op) {
    if (args.op < 0 || args.op >= kElementOpCount) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown operation (op=%d, limit=%d)", static_cast<int>(args.op),
                  kElementOpCount - 1);
    }
    if (!IsDefined(static_cast<ElementOp>(args.op), static_cast<ElementType>(args.type))) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the operation is not defined on the type (op=%s, type=%s)",
                  kElementOpNames[args.op].data(), kElementTypes[args.type].name.data());
    }
    result.op = args.op;
  }
  if (result.bytes > 0) {
    const copse_status_t status = PlanBuffers(args, rank, &result);
    if (status != COPSE_OK) return status;
  }
  *plan = result;
  return COPSE_OK;
}

}  // namespace copse::client
