// SPDX-License-Identifier: Apache-2.0
#include "rpc/testing/recorded_stream.h"

#include <google/protobuf/text_format.h>

#include <fstream>
#include <sstream>

#include "base/check.h"

namespace copse::rpc {
namespace {

using google::protobuf::TextFormat;

constexpr std::string_view kDaemon = "== daemon ";
constexpr std::string_view kPlanner = "== planner ";
constexpr std::string_view kNext = "\n== ";

template <typename Message>
Message Parsed(const std::string& text) {
  Message message;
  CHECK(TextFormat::ParseFromString(text, &message));
  return message;
}

}  // namespace

std::string RecordingOf(const RecordedMessage& recorded) {
  std::string text;
  const bool is_daemon = std::holds_alternative<v1::FromDaemon>(recorded.message);
  CHECK(std::visit([&text](const auto& m) { return TextFormat::PrintToString(m, &text); }, recorded.message));
  return std::string(is_daemon ? kDaemon : kPlanner) + recorded.node + "\n" + text;
}

std::vector<RecordedMessage> ParseRecording(std::string_view text) {
  std::vector<RecordedMessage> messages;
  while (!text.empty()) {
    const bool is_daemon = text.starts_with(kDaemon);
    CHECK(is_daemon || text.starts_with(kPlanner));
    text.remove_prefix(is_daemon ? kDaemon.size() : kPlanner.size());
    const std::string node(text.substr(0, text.find('\n')));
    text.remove_prefix(node.size());
    // No line of a message begins like this: its strings are in quotation marks, behind their names.
    const size_t next = text.find(kNext);
    const size_t end = next == std::string_view::npos ? text.size() : next + 1;
    const std::string body(text.substr(0, end));
    text.remove_prefix(end);
    if (is_daemon) {
      messages.push_back({node, Parsed<v1::FromDaemon>(body)});
    } else {
      messages.push_back({node, Parsed<v1::ToDaemon>(body)});
    }
  }
  return messages;
}

std::vector<RecordedMessage> ReadRecording(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(file.good() && !text.str().empty());
  return ParseRecording(text.str());
}

}  // namespace copse::rpc
