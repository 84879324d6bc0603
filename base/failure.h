// SPDX-License-Identifier: Apache-2.0
//
// Why a call, a team or its formation failed, in the numbers that every side uses: planner, daemons, libcopse and the
// MPI library. C++ without any library, as it is loaded into users' processes. The values travel: never renumber.
#ifndef COPSE_BASE_FAILURE_H_
#define COPSE_BASE_FAILURE_H_

#include <cstdint>

namespace copse {

// What a program can do about a failure. The values are those of copse_status_t, negated.
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

// What happened. The values are those of copse_cause_t.
enum class FailureCause : uint8_t {
  kUnknown = 0,
  kProcessDied = 1,       // a member's process ended without leaving its team
  kMemberLeft = 2,        // a member left the team, and others called on
  kNodeRestarted = 3,     // the node's daemon has a new incarnation
  kConnectionLost = 4,    // the connection to the node was reset or refused
  kNodeSilent = 5,        // nothing heard from the node for `limit` milliseconds
  kNodeRemoved = 6,       // by an administrator
  kTeamBroken = 7,        // by an administrator
  kNodeDraining = 8,      // the node takes no new teams, or its daemon ends
  kBadArgument = 9,       // an argument that can never be right
  kRanksDiffer = 10,      // ranks gave arguments that do not fit each other
  kNotFormedInTime = 11,  // ranks or nodes missing after `limit` milliseconds
  kCallerTimeOut = 12,    // the caller's own limit, in milliseconds
  kQuota = 13,            // more than `limit` of something; 0: whose limit is not a number
  kNoPlanner = 14,        // the node's daemon has no planner at the moment
  kCanceledByCaller = 15,
  kVersionsDiffer = 16,
  kNotPermitted = 17,
  kDaemonGone = 18,  // the process's own daemon ended or was restarted
  kNotSupported = 19,
  kOutOfMemory = 20,
  kFault = 21  // of Copse's own
};
inline constexpr int kFailureCauseCount = 22;

inline constexpr uint32_t kFailureNodeBytes = 128;
inline constexpr int32_t kNoRank = -1;

// What is known beside code and text, as it passes between a daemon and its clients. All zero: nothing.
struct FailureFacts {
  uint8_t cause = 0;  // FailureCause; a reader takes one that it does not know for kUnknown
  uint8_t has_rank = 0;
  uint8_t reserved[2] = {};
  uint32_t rank = 0;                  // in the team, if has_rank: which one brought it about
  uint64_t limit = 0;                 // of a time, in milliseconds; else of what there was too much of; 0: none
  char node[kFailureNodeBytes] = {};  // where it happened, NUL-terminated; empty: no single node
};
static_assert(sizeof(FailureFacts) == 16 + kFailureNodeBytes);

// The cause where a failure is decided without saying more than its code.
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

// "process-died": one word, for people and JSON.
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
