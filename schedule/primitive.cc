// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitive.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace copse::schedule {
namespace {

std::string BufferName(const Buffer& buffer) {
  constexpr const char* kNames[] = {"nothing", "scratch", "cell", "send", "recv", "notes"};
  const bool is_one_of_many =
      buffer.place == Place::kCell || buffer.place == Place::kRankSend || buffer.place == Place::kRankRecv;
  const char* const name = kNames[static_cast<int>(buffer.place)];
  return is_one_of_many ? absl::StrCat(name, buffer.index) : name;
}

}  // namespace

std::string DescribePrimitive(const Primitive& p) {
  std::vector<std::string> names;
  for (const Buffer& buffer : p.operands) names.push_back(BufferName(buffer));
  const std::string operands = absl::StrJoin(names, " + ");
  constexpr const char* kNames[] = {"Start",    "RecvFrom", "RecvLocal", "Wait",    "Reduce", "Copy",
                                    "CopyRuns", "SendTo",   "Deliver",   "Release", "End"};
  const char* const name = kNames[static_cast<int>(p.step)];
  const char* const when = p.lands ? " on arrival" : "";
  switch (p.step) {
    case Step::kStart:
    case Step::kEnd:
      return name;
    case Step::kRecvFrom:
    case Step::kRecvLocal:
      return absl::StrCat(name, "(", p.peer, ") phase ", p.phase);
    case Step::kWait:
      return absl::StrCat(name, " phase ", p.phase);
    case Step::kReduce:
    case Step::kCopy:
      return absl::StrCat(name, "(", BufferName(p.target), " = ", operands, ")");
    case Step::kCopyRuns:
      return absl::StrCat(name, "(", p.runs.size(), ")", when);
    case Step::kSendTo:
      return absl::StrCat(name, "(", p.peer, ") phase ", p.phase, " from ", operands);
    case Step::kDeliver:
      return absl::StrCat(name, "(", p.peer, ") from ", operands, when);
    case Step::kRelease:
      return absl::StrCat(name, "(", p.peer, ")");
  }
  return "?";
}

}  // namespace copse::schedule
