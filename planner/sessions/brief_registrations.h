// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
#define COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/coordinator/coordinator.h"
#include "planner/sessions/content_questions.h"
#include "planner/sessions/report_cache.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"

namespace copse::planner {

// BriefSink receives what a BriefRegistrations has to say to daemons, and of them.
class BriefSink {
 public:
  virtual ~BriefSink() = default;
  // Returns whether a daemon of this announcement may register, whatever its teams are.
  virtual bool Admits(coordinator::SessionId session, const schedule::NodeAnnouncement& node) = 0;
  virtual void AskForContent(coordinator::SessionId session, const std::string& sha256) = 0;
  // The registration is complete, or an error says why it never will be. `later` are the messages that came behind it.
  // One of a daemon that is not admitted has no teams.
  virtual void OnWhole(coordinator::SessionId session, absl::StatusOr<schedule::FromDaemon> registration,
                       std::vector<schedule::FromDaemon> later) = 0;
};

// These bytes are of compressed contents, and of reports that are expanded by them.
struct BriefLimits {
  // More is forgotten once nobody waits. Daemons that connect later are asked again.
  uint64_t kept = 64 << 20;
  // While somebody waits: reports and contents that no waiting registration names are forgotten beyond this; if what
  // they name is longer, the daemon fails that sends more.
  uint64_t kept_while_waiting = 512 << 20;
  // One registration may be the first to bring reports of so many bytes.
  uint64_t expanded = 512 << 20;
};

// A BriefRegistrations completes registrations that name the contents of their teams (rpc/team_content.h): it asks
// daemons for those that it does not have. Thread-compatible; it calls `*sink`, which must outlive it, from its member
// functions.
class BriefRegistrations {
 public:
  explicit BriefRegistrations(BriefSink* sink, BriefLimits limits = {})
      : sink_(sink), limits_(limits), questions_([this](coordinator::SessionId session, const std::string& content) {
          sink_->AskForContent(session, content);
        }) {}

  // Takes a session's first message.
  void Take(coordinator::SessionId session, v1::Register message);
  bool IsWaiting(coordinator::SessionId session) const { return waiting_.contains(session); }
  // Keeps a message of a session that waits, of `bytes`. A session whose messages are too many fails.
  void Keep(coordinator::SessionId session, schedule::FromDaemon message, uint64_t bytes = 0);
  // Takes the answer to AskForContent. One that was not asked for, or has come before, is ignored.
  void OnContent(coordinator::SessionId session, const v1::TeamContent& content);
  void OnClosed(coordinator::SessionId session);
  // Must be called after every other call, and at NextDeadline: it asks again.
  void Tick(absl::Time now) { questions_.Tick(now); }
  absl::Time NextDeadline() const { return questions_.NextDeadline(); }

 private:
  using Teams = google::protobuf::RepeatedPtrField<v1::RunningTeam>;
  struct Waiting {
    schedule::FromDaemon registration;  // without teams
    Teams teams;
    std::set<std::string> lacking;  // contents
    std::vector<schedule::FromDaemon> later;
    uint64_t later_bytes = 0;    // of the messages of `later`
    uint64_t content_bytes = 0;  // of the contents that this session has sent
  };
  // Passes the registration on if it lacks nothing.
  void Complete(coordinator::SessionId session);
  absl::StatusOr<schedule::FromDaemon> Whole(schedule::FromDaemon whole, Teams teams);
  void Fail(coordinator::SessionId session, const absl::Status& why);
  // Forgets what is kept beyond the limits.
  void Forget();

  BriefSink* const sink_;
  const BriefLimits limits_;
  std::map<coordinator::SessionId, Waiting> waiting_;
  ContentQuestions questions_;
  ReportCache reports_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
