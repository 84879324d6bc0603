// SPDX-License-Identifier: Apache-2.0
//
// Implements the C API: each function checks its handles and pointers, and lets no exception out.

#include "client/copse.h"

#include <cxxabi.h>

#include <cmath>
#include <cstring>
#include <new>

#include "client/context/context.h"
#include "client/context/request.h"
#include "client/context/team.h"
#include "client/port/deadline.h"
#include "client/port/error.h"
#include "client/port/user_op.h"

namespace {

using copse::client::CallPlan;
using copse::client::Check;
using copse::client::DeadlineAfter;
using copse::client::Fail;
using copse::client::Handle;

constexpr uint64_t kAttrFields = COPSE_CONTEXT_ATTR_FIELD_NODE | COPSE_CONTEXT_ATTR_FIELD_INCARNATION |
                                 COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX | COPSE_CONTEXT_ATTR_FIELD_DQ_ENTRIES |
                                 COPSE_CONTEXT_ATTR_FIELD_EQ_ENTRIES | COPSE_CONTEXT_ATTR_FIELD_DATA_BYTES;

template <typename Body>
copse_status_t Api(const char* name, Body body) {
  copse::client::CallScope scope(name);
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being canceled
  } catch (const std::bad_alloc&) {
    return Fail(COPSE_ERR_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return Fail(COPSE_ERR_INTERNAL, "%s", error.what());
  } catch (...) {
    return Fail(COPSE_ERR_INTERNAL, "an unknown exception");
  }
}

// Runs a function like Api, but checks the handle on which it works first.
template <typename T, typename Body>
copse_status_t ApiOn(const char* name, T* handle, Body body) {
  return Api(name, [&] {
    const copse_status_t status = Check(handle);
    return status == COPSE_OK ? body() : status;
  });
}

copse_status_t FailNull(const char* what) { return Fail(COPSE_ERR_INVALID_ARGUMENT, "%s is NULL", what); }

copse_status_t Blocking(const char* name, copse_team_t* team, const copse_coll_args_t& args) {
  return ApiOn(name, team, [&] {
    copse_context_t* context = team->context;
    CallPlan plan;
    if (const auto status = PlanAnyCall(args, team->rank, team->size, context->message_bytes_max(), &plan);
        status != COPSE_OK) {
      return status;
    }
    return context->completion().Call(team->member(), team->name, plan, DeadlineAfter(context->timeout_s()));
  });
}

copse_coll_args_t Args(copse_collective_t collective, const void* send, void* recv, uint64_t count,
                       copse_datatype_t type, copse_op_t op = COPSE_OP_SUM, uint32_t root = 0) {
  copse_coll_args_t args{};
  args.collective = collective;
  args.send = send;
  args.recv = recv;
  args.count = count;
  args.type = type;
  args.op = op;
  args.root = root;
  return args;
}

void SetSendBlocks(const uint64_t* counts, const uint64_t* displacements, copse_coll_args_t* args) {
  args->mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
  args->send_counts = counts;
  args->send_displacements = displacements;
}

void SetReceiveBlocks(const uint64_t* counts, const uint64_t* displacements, copse_coll_args_t* args) {
  args->mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args->recv_counts = counts;
  args->recv_displacements = displacements;
}

}  // namespace

extern "C" {

const char* copse_status_string(copse_status_t status) { return copse::client::StatusString(status); }

const char* copse_last_error(void) { return copse::client::LastError(); }

copse_status_t copse_last_failure(copse_failure_t* failure) {
  constexpr uint64_t kFields = COPSE_FAILURE_FIELD_STATUS | COPSE_FAILURE_FIELD_CAUSE | COPSE_FAILURE_FIELD_NODE |
                               COPSE_FAILURE_FIELD_RANK | COPSE_FAILURE_FIELD_LIMIT;
  if (failure == nullptr || (failure->mask & ~kFields) != 0) return COPSE_ERR_INVALID_ARGUMENT;
  copse::FailureFacts facts;
  const copse_status_t status = copse::client::LastFailure(&facts);
  const auto wants = [&](uint64_t field) { return (failure->mask & field) != 0; };
  if (wants(COPSE_FAILURE_FIELD_STATUS)) failure->status = status;
  if (wants(COPSE_FAILURE_FIELD_CAUSE)) {
    failure->cause =
        facts.cause < copse::kFailureCauseCount ? static_cast<copse_cause_t>(facts.cause) : COPSE_CAUSE_UNKNOWN;
  }
  static_assert(sizeof(failure->node) == sizeof(facts.node));
  if (wants(COPSE_FAILURE_FIELD_NODE)) memcpy(failure->node, facts.node, sizeof(failure->node));
  if (wants(COPSE_FAILURE_FIELD_RANK)) failure->rank = facts.has_rank != 0 ? int64_t{facts.rank} : -1;
  if (wants(COPSE_FAILURE_FIELD_LIMIT)) failure->limit = facts.limit;
  return COPSE_OK;
}

const char* copse_cause_string(copse_cause_t cause) {
  const bool is_known = cause >= 0 && static_cast<unsigned>(cause) < copse::kFailureCauseCount;
  return copse::FailureCauseName(is_known ? static_cast<copse::FailureCause>(cause) : copse::FailureCause::kUnknown);
}

void copse_get_version(unsigned* major, unsigned* minor, unsigned* patch) {
  if (major != nullptr) *major = COPSE_VERSION_MAJOR;
  if (minor != nullptr) *minor = COPSE_VERSION_MINOR;
  if (patch != nullptr) *patch = COPSE_VERSION_PATCH;
}

copse_status_t copse_init(const copse_init_params_t* params, copse_context_t** context) {
  return Api("init", [&] {
    if (context == nullptr) return FailNull("context");
    *context = nullptr;
    auto result = std::make_unique<copse_context>();
    const copse_status_t status = result->Attach(params != nullptr ? *params : copse_init_params_t{});
    if (status == COPSE_OK) *context = result.release();
    return status;
  });
}

copse_status_t copse_fini(copse_context_t* context) {
  return Api("fini", [&] {
    if (context != nullptr && context->Is(Handle::Kind::kContext) && context->forked()) {
      context->DropInChild();
      Handle::Abandon(std::unique_ptr<Handle>(context));
      return COPSE_OK;
    }
    if (const auto status = Check(context); status != COPSE_OK) return status;
    context->Detach();
    Handle::Retire(std::unique_ptr<Handle>(context));
    return COPSE_OK;
  });
}

copse_status_t copse_context_get_attr(copse_context_t* context, copse_context_attr_t* attr) {
  return ApiOn("context_get_attr", context, [&] {
    if (attr == nullptr) return FailNull("attr");
    const uint64_t mask = attr->mask;
    if ((mask & ~kAttrFields) != 0) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_context_attr_t (mask=0x%llx, known=0x%llx)",
                  static_cast<unsigned long long>(mask), static_cast<unsigned long long>(kAttrFields));
    }
    const copse_context_attr_t& own = context->attachment().attr();
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_NODE) != 0) memcpy(attr->node, own.node, sizeof(own.node));
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_INCARNATION) != 0) attr->incarnation = own.incarnation;
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX) != 0) attr->message_bytes_max = own.message_bytes_max;
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_DQ_ENTRIES) != 0) attr->dq_entries = own.dq_entries;
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_EQ_ENTRIES) != 0) attr->eq_entries = own.eq_entries;
    if ((mask & COPSE_CONTEXT_ATTR_FIELD_DATA_BYTES) != 0) attr->data_bytes = own.data_bytes;
    return COPSE_OK;
  });
}

copse_status_t copse_ping(copse_context_t* context, double seconds) {
  return ApiOn("ping", context, [&] {
    if (std::isnan(seconds)) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the time is not a number");
    return context->completion().Ping(DeadlineAfter(seconds));
  });
}

copse_status_t copse_team_create(copse_context_t* context, const copse_team_params_t* params, copse_team_t** team) {
  return ApiOn("team_create", context, [&] {
    if (team == nullptr) return FailNull("team");
    *team = nullptr;
    if (params == nullptr) return FailNull("params");
    return copse::client::CreateTeam(context, *params, team);
  });
}

copse_status_t copse_team_create_from_parent(copse_team_t* parent, const copse_subteam_params_t* params,
                                             copse_team_t** team) {
  return ApiOn("team_create_from_parent", parent, [&] {
    if (team == nullptr) return FailNull("team");
    *team = nullptr;
    if (params == nullptr) return FailNull("params");
    return copse::client::CreateSubteam(parent, *params, team);
  });
}

copse_status_t copse_team_destroy(copse_team_t* team) {
  return ApiOn("team_destroy", team, [&] { return copse::client::DestroyTeam(team); });
}

copse_status_t copse_team_rank(copse_team_t* team, uint32_t* rank) {
  return ApiOn("team_rank", team, [&] {
    if (rank == nullptr) return FailNull("rank");
    *rank = team->rank;
    return COPSE_OK;
  });
}

copse_status_t copse_team_size(copse_team_t* team, uint32_t* size) {
  return ApiOn("team_size", team, [&] {
    if (size == nullptr) return FailNull("size");
    *size = team->size;
    return COPSE_OK;
  });
}

copse_status_t copse_collective_init(copse_team_t* team, const copse_coll_args_t* args, copse_request_t** request) {
  return ApiOn("collective_init", team, [&] {
    if (request == nullptr) return FailNull("request");
    *request = nullptr;
    if (args == nullptr) return FailNull("args");
    return copse::client::CreateRequest(team, *args, request);
  });
}

copse_status_t copse_post(copse_request_t* request) {
  return ApiOn("post", request, [&] { return copse::client::PostRequest(request); });
}

copse_status_t copse_test(copse_request_t* request) {
  return ApiOn("test", request, [&] { return copse::client::TestRequest(request); });
}

copse_status_t copse_wait(copse_request_t* request, double seconds) {
  return ApiOn("wait", request, [&] {
    if (std::isnan(seconds)) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the time is not a number");
    return copse::client::WaitForRequest(request, seconds);
  });
}

copse_status_t copse_cancel(copse_request_t* request) {
  return ApiOn("cancel", request, [&] { return copse::client::CancelRequest(request); });
}

copse_status_t copse_finalize(copse_request_t* request) {
  return ApiOn("finalize", request, [&] { return copse::client::DestroyRequest(request); });
}

copse_status_t copse_barrier(copse_team_t* team) {
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BARRIER;
  return Blocking("barrier", team, args);
}

copse_status_t copse_bcast(copse_team_t* team, void* buffer, uint64_t count, copse_datatype_t type, uint32_t root) {
  return Blocking("bcast", team, Args(COPSE_COLL_BCAST, nullptr, buffer, count, type, COPSE_OP_SUM, root));
}

copse_status_t copse_reduce(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                            copse_op_t op, uint32_t root) {
  return Blocking("reduce", team, Args(COPSE_COLL_REDUCE, send, recv, count, type, op, root));
}

copse_status_t copse_allreduce(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                               copse_op_t op) {
  return Blocking("allreduce", team, Args(COPSE_COLL_ALLREDUCE, send, recv, count, type, op));
}

copse_status_t copse_scan(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                          copse_op_t op) {
  return Blocking("scan", team, Args(COPSE_COLL_SCAN, send, recv, count, type, op));
}

copse_status_t copse_exscan(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                            copse_op_t op) {
  return Blocking("exscan", team, Args(COPSE_COLL_EXSCAN, send, recv, count, type, op));
}

copse_status_t copse_reduce_scatter_block(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                          copse_datatype_t type, copse_op_t op) {
  return Blocking("reduce_scatter_block", team, Args(COPSE_COLL_REDUCE_SCATTER, send, recv, count, type, op));
}

copse_status_t copse_reduce_scatter(copse_team_t* team, const void* send, void* recv, const uint64_t* recv_counts,
                                    copse_datatype_t type, copse_op_t op) {
  copse_coll_args_t args = Args(COPSE_COLL_REDUCE_SCATTERV, send, recv, 0, type, op);
  SetReceiveBlocks(recv_counts, nullptr, &args);
  return Blocking("reduce_scatter", team, args);
}

copse_status_t copse_gather(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                            uint32_t root) {
  return Blocking("gather", team, Args(COPSE_COLL_GATHER, send, recv, count, type, COPSE_OP_SUM, root));
}

copse_status_t copse_scatter(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type,
                             uint32_t root) {
  return Blocking("scatter", team, Args(COPSE_COLL_SCATTER, send, recv, count, type, COPSE_OP_SUM, root));
}

copse_status_t copse_allgather(copse_team_t* team, const void* send, void* recv, uint64_t count,
                               copse_datatype_t type) {
  return Blocking("allgather", team, Args(COPSE_COLL_ALLGATHER, send, recv, count, type));
}

copse_status_t copse_alltoall(copse_team_t* team, const void* send, void* recv, uint64_t count, copse_datatype_t type) {
  return Blocking("alltoall", team, Args(COPSE_COLL_ALLTOALL, send, recv, count, type));
}

copse_status_t copse_gatherv(copse_team_t* team, const void* send, uint64_t count, void* recv,
                             const uint64_t* recv_counts, const uint64_t* recv_displacements, copse_datatype_t type,
                             uint32_t root) {
  copse_coll_args_t args = Args(COPSE_COLL_GATHERV, send, recv, count, type, COPSE_OP_SUM, root);
  SetReceiveBlocks(recv_counts, recv_displacements, &args);
  return Blocking("gatherv", team, args);
}

copse_status_t copse_scatterv(copse_team_t* team, const void* send, const uint64_t* send_counts,
                              const uint64_t* send_displacements, void* recv, uint64_t count, copse_datatype_t type,
                              uint32_t root) {
  copse_coll_args_t args = Args(COPSE_COLL_SCATTERV, send, recv, count, type, COPSE_OP_SUM, root);
  SetSendBlocks(send_counts, send_displacements, &args);
  return Blocking("scatterv", team, args);
}

copse_status_t copse_allgatherv(copse_team_t* team, const void* send, uint64_t count, void* recv,
                                const uint64_t* recv_counts, const uint64_t* recv_displacements,
                                copse_datatype_t type) {
  copse_coll_args_t args = Args(COPSE_COLL_ALLGATHERV, send, recv, count, type);
  SetReceiveBlocks(recv_counts, recv_displacements, &args);
  return Blocking("allgatherv", team, args);
}

copse_status_t copse_alltoallv(copse_team_t* team, const void* send, const uint64_t* send_counts,
                               const uint64_t* send_displacements, void* recv, const uint64_t* recv_counts,
                               const uint64_t* recv_displacements, copse_datatype_t type) {
  copse_coll_args_t args = Args(COPSE_COLL_ALLTOALLV, send, recv, 0, type);
  SetSendBlocks(send_counts, send_displacements, &args);
  SetReceiveBlocks(recv_counts, recv_displacements, &args);
  return Blocking("alltoallv", team, args);
}

copse_status_t copse_op_create(copse_op_function_t function, void* argument, int commutes, copse_op_t* op) {
  return Api("op_create", [&] {
    if (op == nullptr) return FailNull("op");
    if (function == nullptr) return FailNull("function");
    static_cast<void>(commutes);  // operands are in order of rank in any case
    *op = copse::client::AddUserOp({function, argument});
    return COPSE_OK;
  });
}

copse_status_t copse_op_free(copse_op_t op) {
  return Api("op_free", [&] {
    if (copse::client::RemoveUserOp(op)) return COPSE_OK;
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "no operation of copse_op_create (op=%d)", static_cast<int>(op));
  });
}

copse_status_t copse_alloc(copse_context_t* context, uint64_t bytes, void** memory) {
  return ApiOn("alloc", context, [&] {
    if (memory == nullptr) return FailNull("memory");
    *memory = nullptr;
    return context->memory().Allocate(bytes, memory);
  });
}

copse_status_t copse_free(copse_context_t* context, void* memory) {
  return ApiOn("free", context, [&] { return context->memory().Free(memory); });
}

copse_status_t copse_register(copse_context_t* context, void* memory, uint64_t bytes) {
  return ApiOn("register", context, [&] { return context->memory().Register(memory, bytes); });
}

copse_status_t copse_deregister(copse_context_t* context, void* memory) {
  return ApiOn("deregister", context, [&] { return context->memory().Deregister(memory); });
}

}  // extern "C"
