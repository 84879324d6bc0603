// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
#define COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/shared.h"
#include "planner/coordinator/coordinator.h"
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

// A BriefRegistrations completes registrations that name the contents of their teams (rpc/team_content.h). It asks one
// of the daemons that name a content for it, and another one after kPatience without an answer; the others wait. Teams
// that daemons report alike share one layout. Thread-compatible; it calls `*sink`, which must outlive it, from its
// member functions.
class BriefRegistrations {
 public:
  static constexpr absl::Duration kPatience = absl::Milliseconds(500);

  explicit BriefRegistrations(BriefSink* sink, BriefLimits limits = {}) : sink_(sink), limits_(limits) {}

  // Takes a session's first message.
  void Take(coordinator::SessionId session, v1::Register message);
  bool IsWaiting(coordinator::SessionId session) const { return waiting_.contains(session); }
  // Keeps a message of a session that waits, of `bytes`. A session whose messages are too many fails.
  void Keep(coordinator::SessionId session, schedule::FromDaemon message, uint64_t bytes = 0);
  // Takes the answer to AskForContent. One that was not asked for, or has come before, is ignored.
  void OnContent(coordinator::SessionId session, const v1::TeamContent& content);
  void OnClosed(coordinator::SessionId session);
  // Must be called after every other call, and at NextDeadline: it asks again. Daemons have kPatience from the first
  // Tick after they were asked.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return due_.empty() ? absl::InfiniteFuture() : due_.front().time; }

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
  struct Question {
    coordinator::SessionId asked = 0;          // the last one that was asked
    bool is_overdue = true;                    // whoever names the content next is asked
    std::set<coordinator::SessionId> waiting;  // with those that were asked
    std::set<coordinator::SessionId> unasked;  // of `waiting`
  };
  struct Due {
    absl::Time time;
    std::string sha256;
    coordinator::SessionId asked = 0;
  };
  struct Reported {
    Shared<schedule::TeamLayout> layout;
    Shared<std::vector<std::string>> plans;
  };

  void Ask(const std::string& sha256, Question* question);
  // Passes the registration on if it lacks nothing.
  void Complete(coordinator::SessionId session);
  absl::StatusOr<schedule::FromDaemon> Whole(schedule::FromDaemon whole, Teams teams);
  // Adds to `*bytes` if the report was not known.
  absl::StatusOr<Reported> Expand(const v1::RunningTeam& team, uint64_t* bytes);
  void Fail(coordinator::SessionId session, const absl::Status& why);
  // Forgets what is kept beyond the limits.
  void Forget();

  BriefSink* const sink_;
  const BriefLimits limits_;
  std::map<coordinator::SessionId, Waiting> waiting_;
  std::map<std::string, Question> questions_;        // by content
  std::vector<Due> asked_;                           // since the last Tick, without a time
  std::deque<Due> due_;                              // by time; of questions that may have been answered
  std::map<std::string, v1::TeamContent> contents_;  // by name
  std::map<std::string, Reported> reported_;         // by the encoded report, without what differs between daemons
  uint64_t kept_bytes_ = 0;                          // of contents_, and of reports with their contents
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_BRIEF_REGISTRATIONS_H_
