// SPDX-License-Identifier: Apache-2.0
//
// Operations of the application. The daemon cannot run them: contributions travel as they are, and each rank that gets
// a result combines them itself.
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

// Returns a number that is not used twice in a process. Thread-safe.
copse_op_t AddUserOp(const UserOp& op);
// Returns false if there is no such operation. Calls that were made with it go on.
bool RemoveUserOp(copse_op_t op);
// Returns null if there is no such operation.
std::shared_ptr<const UserOp> FindUserOp(copse_op_t op);

// The ordered reduction of the contributions that one call has brought.
class Fold {
 public:
  // `operands` ranks contribute `bytes` each; the first `combined` count. A null `result`: this rank has none.
  Fold(std::shared_ptr<const UserOp> op, copse_collective_t collective, copse_datatype_t type, uint64_t bytes,
       uint32_t operands, uint32_t combined, uint8_t* result);

  uint8_t* scratch() { return scratch_.data(); }
  // The collective that the application called.
  copse_collective_t collective() const { return collective_; }
  // Called once a round, when the scratch has what it brought.
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

// Plans a call like PlanCall, also with an operation of the application. Errors also come from the collective that
// brings the contributions, whose blocks together are as many times longer as there are ranks.
copse_status_t PlanAnyCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                           CallPlan* plan);

// Returns the name of the collective that the application called.
const char* NameOf(const CallPlan& plan);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_USER_OP_H_
