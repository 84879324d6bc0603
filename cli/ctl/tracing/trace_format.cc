// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_format.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/client/style.h"

namespace copse::ctl {
namespace {

constexpr size_t kErrorsMax = 20;

using Thread = std::pair<int64_t, int64_t>;  // pid, tid

class Checker {
 public:
  std::vector<std::string> Check(const std::string& text) {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return {"not JSON"};
    if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array()) {
      return {"no object with an array traceEvents"};
    }
    for (const Json& event : json["traceEvents"]) CheckEvent(event);
    for (const auto& [thread, stack] : begun_) {
      if (!stack.empty()) Error("B without E", thread);
    }
    CheckFlows();
    for (const Thread& thread : used_) {
      if (processes_.count(thread.first) == 0) Error("process without a name", thread);
      if (threads_.count(thread) == 0) Error("thread without a name", thread);
    }
    return errors_;
  }

 private:
  struct Slice {
    int64_t begin;
    int64_t end;
  };
  struct FlowEnd {
    Thread thread;
    int64_t ts;
    size_t index;
  };

  void Error(const std::string& what, const Thread& thread) {
    if (errors_.size() < kErrorsMax) {
      errors_.push_back(
          absl::StrCat("event ", index_, ": ", what, " (pid=", thread.first, ", tid=", thread.second, ")"));
    }
  }

  // Converts the value of `key`, microseconds with decimals, to nanoseconds. Returns false if there is none, or if it
  // is negative.
  static bool Nanoseconds(const Json& event, const char* key, int64_t* ns) {
    if (!event.contains(key) || !event[key].is_number()) return false;
    const double us = event[key].get<double>();
    *ns = std::llround(us * 1000);
    return us >= 0;
  }

  void CheckEvent(const Json& event) {
    ++index_;
    Thread thread{-1, -1};
    if (!event.is_object()) return Error("no object", thread);
    for (const char* const key : {"pid", "tid"}) {
      if (!event.contains(key) || !event[key].is_number_integer()) return Error(absl::StrCat("no ", key), thread);
    }
    thread = {event["pid"].get<int64_t>(), event["tid"].get<int64_t>()};
    for (const char* const key : {"ph", "name"}) {
      if (!event.contains(key) || !event[key].is_string() || event[key].get<std::string>().empty()) {
        return Error(absl::StrCat("no ", key), thread);
      }
    }
    const std::string phase = event["ph"];
    if (phase == "M") return CheckMeta(event, thread);
    used_.insert(thread);
    int64_t ts = 0;
    if (!Nanoseconds(event, "ts", &ts)) return Error("no ts", thread);
    if (ts < last_ts_) Error("ts goes back", thread);
    last_ts_ = ts;
    if (phase == "X") return CheckComplete(event, thread, ts);
    if (phase == "B" || phase == "E") return CheckPair(event, thread, phase == "B");
    if (phase == "i") {
      const std::string scope = event.value("s", "t");
      if (scope != "g" && scope != "p" && scope != "t") Error("scope of an instant", thread);
      return;
    }
    if (phase == "s" || phase == "f") {
      if (!event.contains("id") || !event.contains("cat")) return Error("flow without id or cat", thread);
      auto& ends = phase == "s" ? starts_ : finishes_;
      const std::string key = absl::StrCat(event["cat"].dump(), event["name"].dump(), event["id"].dump());
      if (!ends.emplace(key, FlowEnd{thread, ts, index_}).second) Error("flow id used twice", thread);
      return;
    }
    Error("unknown phase " + phase, thread);
  }

  void CheckMeta(const Json& event, const Thread& thread) {
    const std::string name = event["name"];
    const Json args = event.value("args", Json::object());
    const bool sorts = name == "process_sort_index" || name == "thread_sort_index";
    if (sorts) {
      if (!args.contains("sort_index") || !args["sort_index"].is_number_integer()) Error(name + " without one", thread);
    } else if (name == "process_name" || name == "thread_name") {
      if (!args.contains("name") || !args["name"].is_string()) return Error(name + " without one", thread);
      if (name == "process_name") {
        processes_.insert(thread.first);
      } else {
        threads_.insert(thread);
      }
    } else {
      Error("unknown metadata " + name, thread);
    }
  }

  void CheckComplete(const Json& event, const Thread& thread, int64_t ts) {
    int64_t duration = 0;
    if (!Nanoseconds(event, "dur", &duration)) return Error("X without dur", thread);
    std::vector<Slice>& stack = open_[thread];
    while (!stack.empty() && stack.back().end <= ts) stack.pop_back();
    if (!stack.empty() && stack.back().end < ts + duration) Error("X that does not nest", thread);
    stack.push_back({ts, ts + duration});
    slices_[thread].push_back({ts, ts + duration});
  }

  void CheckPair(const Json& event, const Thread& thread, bool begin) {
    std::vector<std::string>& stack = begun_[thread];
    if (begin) {
      stack.push_back(event["name"]);
    } else if (stack.empty() || stack.back() != event["name"]) {
      Error("E without its B", thread);
    } else {
      stack.pop_back();
    }
  }

  bool InSlice(const FlowEnd& end) const {
    const auto it = slices_.find(end.thread);
    if (it == slices_.end()) return false;
    for (const Slice& slice : it->second) {
      if (slice.begin <= end.ts && end.ts <= slice.end) return true;
      if (slice.begin > end.ts) break;
    }
    return false;
  }

  void CheckFlows() {
    for (const auto& [key, finish] : finishes_) {
      index_ = finish.index;
      const auto start = starts_.find(key);
      if (start == starts_.end()) {
        Error("flow ends without a start", finish.thread);
        continue;
      }
      if (start->second.ts > finish.ts || start->second.index > finish.index) {
        Error("flow ends before its start", finish.thread);
      }
      if (!InSlice(finish)) Error("flow ends outside of slices", finish.thread);
    }
    for (const auto& [key, start] : starts_) {
      index_ = start.index;
      if (finishes_.count(key) == 0) Error("flow without an end", start.thread);
      if (!InSlice(start)) Error("flow starts outside of slices", start.thread);
    }
  }

  std::vector<std::string> errors_;
  size_t index_ = 0;
  int64_t last_ts_ = 0;
  std::map<Thread, std::vector<Slice>> open_;
  std::map<Thread, std::vector<Slice>> slices_;
  std::map<Thread, std::vector<std::string>> begun_;
  std::map<std::string, FlowEnd> starts_;
  std::map<std::string, FlowEnd> finishes_;
  std::set<Thread> used_;
  std::set<Thread> threads_;
  std::set<int64_t> processes_;
};

}  // namespace

std::vector<std::string> TraceFormatErrors(const std::string& text) { return Checker().Check(text); }

}  // namespace copse::ctl
