// SPDX-License-Identifier: Apache-2.0
//
// Keeps one client's teams, and its requests to form and to destroy teams.
#ifndef COPSE_DAEMON_SHM_CLIENT_TEAMS_H_
#define COPSE_DAEMON_SHM_CLIENT_TEAMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/shm/client_calls.h"
#include "protocol/attach_protocol.h"

namespace copse::daemon {

// A ClientTeams maps requests to the core to those of the client. They have numbers of their own, since a client's
// numbers need not differ. Thread-compatible.
class ClientTeams {
 public:
  // A Formation is a request to form a team that the core has not answered.
  struct Formation {
    uint64_t client_request;
    TeamMember member;
    absl::Duration timeout;
    absl::Time deadline;
  };

  // At most `requests_max` requests may be unanswered.
  explicit ClientTeams(uint32_t requests_max) : requests_max_(requests_max) {}

  // Returns the client's live teams.
  const MemberOfTeam& members() const { return members_; }
  // Returns whether the client has a live team, or waits for one.
  bool any() const { return !members_.empty() || !formations_.empty(); }

  // INVALID_ARGUMENT: rank, parent or time-out are impossible. RESOURCE_EXHAUSTED: too many requests are unanswered.
  absl::Status Check(const attach::TeamCreate& message) const;
  // Returns the number of the request for the core.
  uint64_t Form(const Formation& formation);
  // The core has formed the team, or has failed to. They return the client's request, unless that was answered before.
  // A team that is formed after that is unwanted.
  std::optional<uint64_t> OnFormed(uint64_t request, uint32_t handle);
  std::optional<uint64_t> OnFailed(uint64_t request);
  // Returns the requests to form a team, by number, of which the deadline has come.
  std::map<uint64_t, Formation> Late(absl::Time now) const;
  absl::Time NextDeadline() const;

  // Returns the number of the request for the core to destroy the team; nothing if the client has no such team.
  std::optional<uint64_t> Destroy(uint64_t client_request, uint32_t handle);
  // The core has destroyed the team, or has not, since it has calls in flight: then it stays. Returns the client's
  // request; nothing for an unwanted team.
  std::optional<uint64_t> OnDestroyed(uint64_t request, bool is_destroyed);

  // An Unwanted is a request for the core to destroy a team that was formed too late.
  struct Unwanted {
    uint64_t request;
    uint32_t handle;
  };
  // Returns the next one; nothing if there is none.
  std::optional<Unwanted> TakeUnwanted();

 private:
  struct Destruction {
    uint64_t client_request;
    uint32_t handle;
    TeamMember member;
  };

  const uint32_t requests_max_;
  MemberOfTeam members_;
  uint64_t next_request_ = 1;
  std::map<uint64_t, Formation> formations_;
  std::map<uint64_t, Destruction> destructions_;
  std::vector<uint32_t> unwanted_;  // handles
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CLIENT_TEAMS_H_
