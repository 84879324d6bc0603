// SPDX-License-Identifier: Apache-2.0
//
// Recordings of the streams between daemons and a planner, as text.
//
// A recording has the messages in the order in which they passed. Each is a FromDaemon or a ToDaemon in protobuf's text
// format, after a line "== daemon NODE" or "== planner NODE", which names the sender, and the node of the stream.
#ifndef COPSE_RPC_TESTING_RECORDED_STREAM_H_
#define COPSE_RPC_TESTING_RECORDED_STREAM_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/copse/v1/control.pb.h"

namespace copse::rpc {

struct RecordedMessage {
  std::string node;
  std::variant<v1::FromDaemon, v1::ToDaemon> message;
};

// Returns the message as a recording has it.
std::string RecordingOf(const RecordedMessage& message);
// Returns the messages of a recording. Dies if it is none.
std::vector<RecordedMessage> ParseRecording(std::string_view text);
// Returns the recording with this path below the repository, which must be data of the test.
std::vector<RecordedMessage> ReadRecording(const std::string& path);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TESTING_RECORDED_STREAM_H_
