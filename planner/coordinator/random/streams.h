// SPDX-License-Identifier: Apache-2.0
//
// Carries messages between the daemons and planners of a random run, on streams that end with messages on the way.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_STREAMS_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_STREAMS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/coordinator/interfaces/session_sink.h"
#include "protocol/control.h"

namespace copse::coordinator {

class FakeDaemon;
struct Planner;
struct World;

class Streams {
 public:
  // `*world` must outlive this object.
  explicit Streams(World* world) : world_(world) {}

  // Connects the daemon to some planner, unless it is connected or that planner is paused.
  void Connect(FakeDaemon& daemon);
  // Ends the stream; messages on the way are lost, or arrive before the planner notices.
  void Cut(FakeDaemon& daemon);
  // The planner's process has ended. Daemons receive some of what it had sent.
  void PlannerEnded(const Planner& planner);

  void SendToPlanner(SessionId session, const schedule::FromDaemon& message);
  // These do nothing for a stream that has ended.
  void Send(SessionId session, const schedule::ToDaemon& message);
  void Close(SessionId session, const std::string& why);

  // Moves one message, or a commit of the planners. Returns false if there is none.
  bool Deliver();

 private:
  struct Link {
    std::string daemon;
    Planner* planner = nullptr;  // null: it has ended
    bool is_cut = false;         // the daemon has lost the stream, and the planner is yet to notice
    std::deque<schedule::FromDaemon> to_planner;
    std::deque<schedule::ToDaemon> to_daemon;
    std::optional<std::string> closed;  // set when the planner closes, after to_daemon
  };
  // A Ready is a stream that has a message, or its end, for one of its ends.
  struct Ready {
    SessionId session = 0;
    bool to_planner = false;
  };

  std::vector<Ready> AllReady() const;
  void DeliverToPlanner(SessionId session);
  void DeliverToDaemon(SessionId session);
  void Disconnect(SessionId session);

  World* const world_;
  std::map<SessionId, Link> links_;
  uint64_t sessions_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_STREAMS_H_
