// SPDX-License-Identifier: Apache-2.0
//
// Converts the messages of planner and daemons (protocol/control.h) to protocol buffers and back.
#ifndef COPSE_RPC_CONTROL_CONVERSION_H_
#define COPSE_RPC_CONTROL_CONVERSION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "protocol/control.h"

namespace copse::v1 {
class FromDaemon;
class RunningTeam;
class ToDaemon;
}  // namespace copse::v1

namespace copse::rpc {

// These limit a peer's messages. A longer list or text is INVALID_ARGUMENT, unless its line says otherwise.
inline constexpr uint32_t kTeamSizeMax = 1u << 20;
inline constexpr uint32_t kPlansMax = 1024;            // limit of one team
inline constexpr uint32_t kRunningTeamsMax = 65536;    // limit of one Register message
inline constexpr uint32_t kFeaturesMax = 256;          // unknown ones are kept
inline constexpr uint64_t kSilenceMsMax = 86'400'000;  // one day; longer times are reduced to it
inline constexpr uint32_t kCallsMax = 1u << 20;        // calls, ranks or counters of one status
inline constexpr uint32_t kLatenciesMax = 4096;        // rows of one status, each of at most kLatencyBucketsMax buckets
inline constexpr uint32_t kLatencyBucketsMax = 1024;
inline constexpr uint32_t kPlanCallsMax = 65536;    // of one status
inline constexpr uint32_t kAccountsMax = 1u << 17;  // of one status; also what the clients of one claim
inline constexpr uint32_t kHoldingsMax = 64;        // of one account
inline constexpr uint32_t kWindowMax = 4096;
inline constexpr uint32_t kJobBytesMax = 64;
inline constexpr uint32_t kNameBytesMax = 128;
inline constexpr uint32_t kNodeNameBytesMax = 253;
inline constexpr uint32_t kAddressBytesMax = 64 * 1024;
inline constexpr uint32_t kTextBytesMax = 4096;    // longer texts are truncated
inline constexpr int kMessageBytesMax = 64 << 20;  // limit of a message on a stream, which gRPC has, too

void ToProto(const schedule::FromDaemon& message, v1::FromDaemon* proto);
void ToProto(const schedule::ToDaemon& message, v1::ToDaemon* proto);

// Returns what a daemon says of a running team, without layout and plans.
schedule::RunningTeam StandingOf(const v1::RunningTeam& proto);

// Checks that fields are in range and refer to each other properly (ranks to nodes of the layout); the receiver checks
// their meaning. Errors: INVALID_ARGUMENT names message and field: "prepare_reply: incoming: 9 labels (limit 4)".
absl::StatusOr<schedule::FromDaemon> FromProto(const v1::FromDaemon& proto);
absl::StatusOr<schedule::ToDaemon> FromProto(const v1::ToDaemon& proto);

}  // namespace copse::rpc

#endif  // COPSE_RPC_CONTROL_CONVERSION_H_
