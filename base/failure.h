// SPDX-License-Identifier: Apache-2.0
//
// Defines the reasons why a call, a team or its formation failed, in the numbers that planner, daemons, libcopse and
// the MPI library share. It needs no library, since it is loaded into users' processes. The values are part of the
// protocols: never renumber.
#ifndef COPSE_BASE_FAILURE_H_
#define COPSE_BASE_FAILURE_H_

#include <cstdint>

namespace copse {

// A Failure is the code of a failure, on which a program acts. The values are those of copse_status_t, negated.
enum class Failure : uint8_t {
  kNone = 0,
  kInvalidArgument = 1,
  kNoDaemon = 2,
  kVersion = 3,
  kNoResource = 4,
  kTimedOut = 5,
  kMemberLost = 6,
  kMismatch = 7,
  kCanceled = 8,
  kNotSupported = 9,
  kNoMemory = 10,
  kPermission = 11,
  kInternal = 12
};
inline constexpr int kFailureCount = 13;

// A FailureCause says more exactly than the code why something failed. The values are those of copse_cause_t.
enum class FailureCause : uint8_t {
  kUnknown = 0,
  kProcessDied = 1,       // a member's process ended without leaving its team
  kMemberLeft = 2,        // a member left the team, and others made further calls
  kNodeRestarted = 3,     // the node's daemon has a new incarnation
  kConnectionLost = 4,    // the connection to the node was reset or refused
  kNodeSilent = 5,        // no message from the node for `limit` milliseconds
  kNodeRemoved = 6,       // an administrator removed the node
  kTeamBroken = 7,        // an administrator broke the team
  kNodeDraining = 8,      // the node takes no new teams, or its daemon ends
  kBadArgument = 9,       // an argument that can never be right
  kRanksDiffer = 10,      // ranks gave arguments that do not fit each other
  kNotFormedInTime = 11,  // ranks or nodes were missing after `limit` milliseconds
  kCallerTimeOut = 12,    // the caller's own limit of `limit` milliseconds has passed
  kQuota = 13,            // more than `limit` of something; 0: the limit is not a number
  kNoPlanner = 14,        // the node's daemon has no planner at the moment
  kCanceledByCaller = 15,
  kVersionsDiffer = 16,
  kNotPermitted = 17,
  kDaemonGone = 18,  // the process's own daemon ended or was restarted
  kNotSupported = 19,
  kOutOfMemory = 20,
  kFault = 21  // an internal error of Copse
};
inline constexpr int kFailureCauseCount = 22;

inline constexpr uint32_t kFailureNodeBytes = 128;

// FailureFacts are the facts beside code and text, as a daemon sends them to its clients. Zeros mean that none is
// known.
struct FailureFacts {
  uint8_t cause = 0;  // FailureCause; a reader maps an unknown one to kUnknown
  uint8_t has_rank = 0;
  uint8_t reserved[2] = {};
  uint32_t rank = 0;                  // if has_rank: the rank in the team that caused the failure
  uint64_t limit = 0;                 // milliseconds for a time, else the bound of the exceeded amount; 0: none
  char node[kFailureNodeBytes] = {};  // the node of the failure, NUL-terminated; empty: no single node
};
static_assert(sizeof(FailureFacts) == 16 + kFailureNodeBytes);

// Returns the cause of a failure that is known by its code only.
constexpr FailureCause UsualCause(Failure failure) {
  switch (failure) {
    case Failure::kNone:
    case Failure::kMemberLost:
      return FailureCause::kUnknown;
    case Failure::kInvalidArgument:
      return FailureCause::kBadArgument;
    case Failure::kNoDaemon:
      return FailureCause::kDaemonGone;
    case Failure::kVersion:
      return FailureCause::kVersionsDiffer;
    case Failure::kNoResource:
      return FailureCause::kQuota;
    case Failure::kTimedOut:
      return FailureCause::kCallerTimeOut;
    case Failure::kMismatch:
      return FailureCause::kRanksDiffer;
    case Failure::kCanceled:
      return FailureCause::kCanceledByCaller;
    case Failure::kNotSupported:
      return FailureCause::kNotSupported;
    case Failure::kNoMemory:
      return FailureCause::kOutOfMemory;
    case Failure::kPermission:
      return FailureCause::kNotPermitted;
    case Failure::kInternal:
      return FailureCause::kFault;
  }
  return FailureCause::kUnknown;
}

// Returns one word, such as "process-died", for messages and JSON; "unknown" for other numbers than FailureCause's.
constexpr const char* FailureCauseName(FailureCause cause) {
  constexpr const char* kNames[kFailureCauseCount] = {
      "unknown",         "process-died",  "member-left",  "node-restarted",
      "connection-lost", "node-silent",   "node-removed", "team-broken",
      "node-draining",   "bad-argument",  "ranks-differ", "not-formed-in-time",
      "caller-time-out", "quota",         "no-planner",   "canceled-by-caller",
      "versions-differ", "not-permitted", "daemon-gone",  "not-supported",
      "out-of-memory",   "fault"};
  const auto index = static_cast<unsigned>(cause);
  return index < kFailureCauseCount ? kNames[index] : kNames[0];
}

}  // namespace copse

#endif  // COPSE_BASE_FAILURE_H_
