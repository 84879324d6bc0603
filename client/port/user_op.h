// SPDX-License-Identifier: Apache-2.0
//
// Implements operations of the application. The daemon cannot run them, so each rank that gets a result receives all
// contributions and reduces them itself.
#ifndef COPSE_CLIENT_PORT_USER_OP_H_
#define COPSE_CLIENT_PORT_USER_OP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client/copse.h"
#include "client/port/arguments.h"

namespace copse::client {

struct UserOp {
  copse_op_function_t function = nullptr;
  void* argument = nullptr;
};

// Adds an operation and returns its number, which no other operation of the process gets. Thread-safe.
copse_op_t AddUserOp(const UserOp& op);
// Removes an operation. Returns false if there is no such operation. Calls that were planned with it may still run it.
// Thread-safe.
bool RemoveUserOp(copse_op_t op);
// Returns null if there is no such operation. Thread-safe.
std::shared_ptr<const UserOp> FindUserOp(copse_op_t op);

// A Fold is the ordered reduction of the contributions that a call receives. It belongs to the call's plan, and its
// buffer is reused in every round.
class Fold {
 public:
  // The call receives `bytes` bytes from each of `operands` ranks, of which the first `combined` are reduced. `result`
  // is null on a rank without a result.
  Fold(std::shared_ptr<const UserOp> op, copse_collective_t collective, copse_datatype_t type, uint64_t bytes,
       uint32_t operands, uint32_t combined, uint8_t* result);

  uint8_t* scratch() { return scratch_.data(); }
  // Returns the collective that the application called.
  copse_collective_t collective() const { return collective_; }
  // Reduces the contributions in scratch() to the result. It is called once per round, after the round has succeeded.
  void Run();

 private:
  const std::shared_ptr<const UserOp> op_;
  const copse_collective_t collective_;
  const copse_datatype_t type_;
  const uint64_t bytes_;
  const uint32_t combined_;
  uint8_t* const result_;
  std::vector<uint8_t> scratch_;
};

// Plans a call like PlanCall, also with a user-defined operation. Such a call is planned as the collective that
// brings all contributions. Errors are those of PlanCall; INVALID_ARGUMENT if the operation was freed; NOT_SUPPORTED
// and NO_RESOURCE if all contributions together exceed `message_bytes_max` or Staging::kBounceBytesMax.
copse_status_t PlanAnyCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                           CallPlan* plan);

// Returns the name of the collective that the application called.
const char* NameOf(const CallPlan& plan);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_USER_OP_H_
