// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface by which the coordinator's messages leave it.
#ifndef COPSE_PLANNER_COORDINATOR_INTERFACES_SESSION_SINK_H_
#define COPSE_PLANNER_COORDINATOR_INTERFACES_SESSION_SINK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A SessionId identifies a daemon's connection. The caller chooses the numbers, which are not 0, and never reuses one.
using SessionId = uint64_t;

// A PrepareMember is a daemon that is sent a Prepare, and its joins that the team answers.
struct PrepareMember {
  SessionId session = 0;
  NodeIndex node{0};
  std::vector<std::pair<uint64_t, Rank>> requests;
};

// A SessionSink sends to the daemons. The coordinator calls it from its member functions; implementations must not call
// the coordinator.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  // Sends a message. Messages are delivered in order, or the session ends with OnDisconnected.
  virtual void Send(SessionId session, const schedule::ToDaemon& message) = 0;
  // Sends `prepare`, which has no joins, with those of each member. All that the members share may be large: a sink
  // that encodes messages does so once.
  virtual void SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare);
  // Ends a session after the messages that were sent before. The coordinator ignores a later OnDisconnected.
  virtual void Close(SessionId session, const std::string& why) = 0;
};

inline void SessionSink::SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) {
  schedule::ToDaemon message = std::move(prepare);
  for (const PrepareMember& member : members) {
    std::get<schedule::Prepare>(message).requests = member.requests;
    Send(member.session, message);
  }
}

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INTERFACES_SESSION_SINK_H_
