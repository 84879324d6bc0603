// SPDX-License-Identifier: Apache-2.0
//
// Defines the calls and events that clients and the daemon's core exchange, through shared memory or the simulator.
#ifndef COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_
#define COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "protocol/control.h"

namespace copse::daemon {

// Limits an inline contribution, in bytes.
inline constexpr uint32_t kInlineBytesMax = 64;

// A ClientId identifies a client of this daemon, which is one attached process. Numbers are not reused.
using ClientId = uint64_t;

struct ClientHello {
  uint32_t uid = 0;           // from the kernel
  int64_t pid = 0;            // from the kernel
  std::string job;            // as the client claims
  std::string account_job;    // as its control group says (JobOfCgroup)
  std::set<uint32_t> groups;  // of the process, from the kernel
  uint32_t eq_entries = 256;
  uint32_t dq_entries = 256;
};

// A CallPost is a call as one rank has posted it in the client's submission queue. It was copied out of the client's
// memory and checked (collectives/call_check.h).
struct CallPost {
  uint32_t team = 0;  // handle
  CallArguments arguments;
  // These are the buffers of the contribution and the result. Either is null if it is unused or empty. They stay mapped
  // until the event.
  const uint8_t* send = nullptr;
  uint8_t* receive = nullptr;
  uint64_t send_bytes = 0;     // bytes mapped at `send`: at least the message if the buffer is used
  uint64_t receive_bytes = 0;  // bytes mapped at `receive`: at least the message if the buffer is used
  // If set, the contribution is the first `send_bytes` bytes of `inline_data`, and `send` is ignored.
  bool send_is_inline = false;
  std::array<uint8_t, kInlineBytesMax> inline_data{};
  // These list the offset and size of each rank's block in `send` and `receive`, for buffers of blocks that are not all
  // equal: send of scatterv (at the root), alltoallv, reduce_scatterv; receive of gatherv (at the root), allgatherv,
  // alltoallv. Null: blocks of arguments.bytes() each, or one block, of exactly send_bytes or receive_bytes, such as
  // the contribution to a gatherv. With kCountsKnown all ranks give the lists; where the buffer itself is not used,
  // only the sizes matter. The lists are shared, since all chunks of the call use them.
  std::shared_ptr<const BlockList> send_blocks;
  std::shared_ptr<const BlockList> receive_blocks;
  // The call starts only when at most this many of the rank's calls in this team, including this one, are in flight;
  // 0: no limit. Such limits give the network to the first calls, while the next ones wait (Li et al., T-NBC:
  // priorities). Later calls of the rank wait behind it. Calls of another collective class are not counted.
  uint32_t under_way_max = 0;
  uint64_t value = 0;  // returned in the event
  absl::Time posted;   // set by the core when the team accepts the call
};

struct ClientEvent {
  uint64_t value = 0;
  CallSeq sequence{0};
  schedule::FailureReport failure;  // kNone: success
};

// A ClientSink receives a client's events. The core calls it from within its own functions, on its thread; a sink must
// not call the core.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  virtual void OnEvent(const ClientEvent& event) = 0;
  virtual void OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout& layout) = 0;
  virtual void OnTeamFailed(uint64_t request, const schedule::FailureReport& why) = 0;
  virtual void OnTeamDestroyed(uint64_t request, const schedule::FailureReport& why) = 0;
  // The daemon accepts no new teams from now on, for the reason `why`.
  virtual void OnClosing(const std::string& why) = 0;
};

struct TeamRequest {
  uint64_t request = 0;  // client's number for the request, repeated in the answer
  uint32_t parent = 0;   // handle; 0: none
  uint64_t nonce = 0;
  std::string name;
  Rank rank{0};
  uint32_t size = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CLIENT_INTERFACE_H_
