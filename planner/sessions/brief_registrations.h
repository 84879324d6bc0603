// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
#define COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/shared.h"
#include "planner/coordinator/coordinator.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"

namespace copse::planner {

// BriefSink receives what a BriefRegistrations has to say to daemons, and of them.
class BriefSink {
 public:
  virtual ~BriefSink() = default;
  virtual void AskForContent(coordinator::SessionId session, const std::string& sha256) = 0;
  // The registration is complete, or an error says why it never will be. `later` are the messages that came behind it.
  virtual void OnWhole(coordinator::SessionId session, absl::StatusOr<schedule::FromDaemon> registration,
                       std::vector<schedule::FromDaemon> later) = 0;
};

// A BriefRegistrations completes registrations that name the contents of their teams (rpc/team_content.h). It asks one
// of the daemons that name a content for it, and the others wait. Teams that daemons report alike share one layout.
// Thread-compatible; it calls `*sink`, which must outlive it, from its member functions.
class BriefRegistrations {
 public:
  explicit BriefRegistrations(BriefSink* sink) : sink_(sink) {}

  // Takes a session's first message.
  void Take(coordinator::SessionId session, v1::Register message);
  bool IsWaiting(coordinator::SessionId session) const { return waiting_.contains(session); }
  // Keeps a message of a session that waits, of `bytes`. A session whose messages are too many fails.
  void Keep(coordinator::SessionId session, schedule::FromDaemon message, uint64_t bytes = 0);
  // Takes the answer to AskForContent. One that was not asked for, or has come before, is ignored.
  void OnContent(coordinator::SessionId session, const v1::TeamContent& content);
  void OnClosed(coordinator::SessionId session);

 private:
  struct Waiting {
    v1::Register message;
    std::set<std::string> lacking;  // contents
    std::vector<schedule::FromDaemon> later;
    uint64_t later_bytes = 0;    // of the messages of `later`
    uint64_t content_bytes = 0;  // of the contents that this session has sent
  };
  struct Question {
    coordinator::SessionId asked = 0;
    std::set<coordinator::SessionId> waiting;  // with the one that was asked
  };
  struct Reported {
    Shared<schedule::TeamLayout> layout;
    Shared<std::vector<std::string>> plans;
  };

  void Ask(const std::string& sha256, Question* question);
  // Passes the registration on if it lacks nothing.
  void Complete(coordinator::SessionId session);
  absl::StatusOr<schedule::FromDaemon> Whole(v1::Register message);
  absl::StatusOr<Reported> Expand(const v1::RunningTeam& team);
  void Fail(coordinator::SessionId session, const absl::Status& why);

  BriefSink* const sink_;
  std::map<coordinator::SessionId, Waiting> waiting_;
  std::map<std::string, Question> questions_;        // by content
  std::map<std::string, v1::TeamContent> contents_;  // by name
  std::map<std::string, Reported> reported_;         // by the encoded report, without what differs between daemons
  uint64_t kept_bytes_ = 0;                          // of contents_, and of reports with their contents
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
