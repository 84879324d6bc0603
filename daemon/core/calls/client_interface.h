// SPDX-License-Identifier: Apache-2.0
//
// What passes between a client and the daemon's core, whatever carries it: shared memory, or the simulator.
#ifndef COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_
#define COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "protocol/control.h"

namespace copse::daemon {

// An inline contribution is at most this long.
inline constexpr uint32_t kInlineBytesMax = 64;

// A client of this daemon: one attached process. Numbers are not reused.
using ClientId = uint64_t;

struct ClientHello {
  uint32_t uid = 0;  // from the kernel
  int64_t pid = 0;   // likewise
  std::string job;
  uint32_t eq_entries = 256;
  uint32_t dq_entries = 256;
};

// A call as one rank posts it, from the client's submission queue until the engine has it: copied out of the client's
// memory and checked against its rules.
struct CallPost {
  uint32_t team = 0;  // handle
  CallArguments arguments;
  // Memory of the call: contribution and result. Either may be null if unused or empty. Mapped until the event.
  const uint8_t* send = nullptr;
  uint8_t* receive = nullptr;
  uint64_t send_bytes = 0;     // what is mapped behind `send`, at least the message if it is used
  uint64_t receive_bytes = 0;  // what is mapped behind `receive`, likewise
  // The contribution is the first `send_bytes` of `inline_data`, and `send` has no meaning.
  bool send_is_inline = false;
  std::array<uint8_t, kInlineBytesMax> inline_data{};
  // Where in `send` and `receive` each rank's block lies, where a buffer has one for each rank and they are not simply
  // equal blocks by rank: send of scatterv (at the root), alltoallv, reduce_scatterv; receive of gatherv (at the root),
  // allgatherv, alltoallv. Null: equal blocks of arguments.bytes(), or the buffer is one block (then its bytes are
  // exactly send_bytes or receive_bytes, as the contribution to a gatherv). With kCountsKnown all ranks give them, of
  // which only the sizes matter where the buffer itself is not used. Shared, as all chunks of the call use it.
  std::shared_ptr<const BlockList> send_blocks;
  std::shared_ptr<const BlockList> receive_blocks;
  // The call begins while at most so many of the rank's calls of this team, with it, are under way; 0: no limit. Calls
  // of several such limits are a schedule: the first ones have the network, the next ones wait (Li et al., T-NBC:
  // priorities). Calls behind it wait with it. A team's calls of another collective class do not count.
  uint32_t under_way_max = 0;
  uint64_t value = 0;  // comes back in the event
  absl::Time posted;   // when the team got it; the core's
};

struct ClientEvent {
  uint64_t value = 0;
  CallSeq sequence{0};
  schedule::FailureReport failure;  // kNone: success
};

// Receives what the core has for a client. Called from within the core's own calls, on its thread; must not call back.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  virtual void OnEvent(const ClientEvent& event) = 0;
  virtual void OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout& layout) = 0;
  virtual void OnTeamFailed(uint64_t request, const schedule::FailureReport& why) = 0;
  virtual void OnTeamDestroyed(uint64_t request, const schedule::FailureReport& why) = 0;
  virtual void OnClosing(const std::string& why) = 0;  // the daemon drains
};

struct TeamRequest {
  uint64_t request = 0;  // the client's own number
  uint32_t parent = 0;   // handle; 0: none
  uint64_t nonce = 0;
  std::string name;
  Rank rank{0};
  uint32_t size = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_
