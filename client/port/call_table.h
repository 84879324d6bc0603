// SPDX-License-Identifier: Apache-2.0
//
// Finds the calls in flight by the value that their completion event returns.
#ifndef COPSE_CLIENT_PORT_CALL_TABLE_H_
#define COPSE_CLIENT_PORT_CALL_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "client/copse.h"
#include "client/port/blocks.h"
#include "client/port/staging.h"
#include "client/port/user_memory.h"

namespace copse::client {

class Fold;

// A Round is one post of a request, or one blocking call. Its owner polls `state` to see whether it is complete.
struct Round {
  enum class State { kIdle, kInProgress, kComplete };
  State state = State::kIdle;
  copse_status_t status = COPSE_OK;  // when complete
  std::string text;                  // reason of a failure
  FailureFacts facts;                // facts of a failure
  uint64_t value = 0;                // value of its call in the call table, while in progress
  uint32_t* running = nullptr;       // its team's number of rounds in progress
  std::shared_ptr<Fold> fold;        // reduction to run once if the round succeeds; may be null

  // Makes the round complete. `why` and `what` are kept only if it has failed.
  void End(copse_status_t how, std::string_view why, const FailureFacts& what);
};

// A CallInFlight holds what the handling of the call's completion event needs. It stays in the table after its round
// was canceled, until the event comes.
struct CallInFlight {
  Round* round = nullptr;  // null: the call was canceled
  uint32_t team = 0;       // handle of the team; 0: none
  Staging::Allocation staging;
  // These describe the copy of the result out of `staging`, where blocks lie one after another. If there is no copy,
  // copy_to is null.
  uint8_t* copy_to = nullptr;
  const uint8_t* copy_from = nullptr;
  uint64_t copy_bytes = 0;
  std::shared_ptr<const Blocks> copy_blocks;
  UserMemory::UserRange* send_range = nullptr;
  UserMemory::UserRange* receive_range = nullptr;

  uint32_t generation = 0;
  bool in_use = false;
};

// A CallTable has as many entries as the completion queue, so that queue cannot overflow. `value` identifies a call in
// its completion event; an entry's next call has another value, so a stale event is ignored. Thread-compatible.
class CallTable {
 public:
  explicit CallTable(uint32_t entries);

  // Takes a free entry and sets *value. Returns null if all are in use.
  CallInFlight* Take(uint64_t* value);
  // Returns the call of `value`; null if it was released or never existed.
  CallInFlight* Find(uint64_t value);
  void Release(CallInFlight* call);

  uint32_t in_use() const { return static_cast<uint32_t>(calls_.size() - free_.size()); }
  std::vector<CallInFlight>& calls() { return calls_; }
  const std::vector<CallInFlight>& calls() const { return calls_; }

 private:
  std::vector<CallInFlight> calls_;
  std::vector<uint32_t> free_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_CALL_TABLE_H_
