// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/client/style.h"
#include "cli/ctl/tracing/trace_calls.h"
#include "cli/ctl/tracing/trace_clocks.h"
#include "collectives/collective.h"

namespace copse::ctl {
namespace {

using enum TraceRecord::Kind;

constexpr int kLoopThread = 1;
constexpr int kEngineThread = 2;
constexpr int kFirstClientThread = 10;
// A packet's handling is drawn until the next record, but no longer than this, since the engine may have been idle in
// between.
constexpr int64_t kHandlingMaxNs = 2000;

std::string CollectiveText(uint16_t collective) {
  if (collective < kCollectiveCount) return std::string(CollectiveName(static_cast<Collective>(collective)));
  return absl::StrCat("collective ", collective);
}

std::string Quoted(const std::string& text) { return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace); }

// An EventList collects events and writes them in the order of their times. Among those that begin at the same time,
// the longest is first, as nesting requires.
class EventList {
 public:
  void AddMeta(const char* what, size_t pid, int tid, const std::string& args) {
    meta_.push_back(
        absl::StrFormat(R"({"ph":"M","name":"%s","pid":%u,"tid":%d,"ts":0,"args":{%s}})", what, pid, tid, args));
  }
  // Adds an event. `rest` has further JSON fields, each with a comma before it.
  void Add(char phase, size_t pid, int tid, int64_t ts_ns, int64_t duration_ns, const std::string& name,
           const char* category, const std::string& rest) {
    const std::string duration =
        phase == 'X' ? absl::StrFormat(R"(,"dur":%d.%03d)", duration_ns / 1000, duration_ns % 1000) : "";
    first_ns_ = std::min(first_ns_, ts_ns);
    events_.push_back({ts_ns, duration_ns,
                       absl::StrFormat(R"("ph":"%c","name":%s,"cat":"%s","pid":%u,"tid":%d%s%s})", phase, Quoted(name),
                                       category, pid, tid, duration, rest)});
  }

  uint64_t count() const { return meta_.size() + events_.size(); }

  std::string Write(const std::string& other_data) {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : a.duration_ns > b.duration_ns;
    });
    std::string out = absl::StrCat("{\"displayTimeUnit\":\"ns\",\"otherData\":{", other_data, "},\"traceEvents\":[");
    const char* separator = "\n";
    for (const std::string& meta : meta_) {
      absl::StrAppend(&out, separator, meta);
      separator = ",\n";
    }
    for (const Event& event : events_) {
      const int64_t ts = event.ts_ns - first_ns_;
      absl::StrAppendFormat(&out, "%s{\"ts\":%d.%03d,%s", separator, ts / 1000, ts % 1000, event.text);
      separator = ",\n";
    }
    out += "\n]}\n";
    return out;
  }

 private:
  struct Event {
    int64_t ts_ns;
    int64_t duration_ns;
    std::string text;  // JSON fields after "ts"
  };
  std::vector<std::string> meta_;
  std::vector<Event> events_;
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
};

// A NodePicture converts one node's records to events.
class NodePicture {
 public:
  NodePicture(const NodeTrace& node, size_t pid, int64_t offset_ns, const std::map<uint32_t, std::string>& names,
              std::optional<uint64_t> team, EventList* events)
      : node_(node),
        pid_(pid),
        offset_ns_(offset_ns),
        names_(names),
        team_(team),
        events_(events),
        calls_(node, team) {}

  bool Wanted(const TraceRecord& r) const {
    if (!team_.has_value()) return true;
    if (r.kind == kClientWoken) return calls_.clients.count(r.subject) != 0;
    return !r.has_team() || (r.kind != kFramesSent && r.team == static_cast<uint32_t>(*team_));
  }

  void Draw() {
    events_->AddMeta("process_name", pid_, 0, absl::StrCat("\"name\":", Quoted("node " + node_.name)));
    events_->AddMeta("process_sort_index", pid_, 0, absl::StrCat("\"sort_index\":", pid_));
    NameThread(kLoopThread, "loop");
    NameThread(kEngineThread, "engine");
    DrawCalls();
    for (size_t i = 0; i < node_.records.size(); ++i) {
      if (Wanted(node_.records[i])) DrawRecord(i);
    }
    if (!node_.records.empty()) EndLoopSlice(node_.records.back().time_ns);
  }

 private:
  void NameThread(int tid, const std::string& name) {
    events_->AddMeta("thread_name", pid_, tid, absl::StrCat("\"name\":", Quoted(name)));
    events_->AddMeta("thread_sort_index", pid_, tid, absl::StrCat("\"sort_index\":", tid));
  }

  // Draws each call in the first thread of its client that is free, and adds a thread if none is.
  void DrawCalls() {
    std::map<uint32_t, std::vector<std::pair<int, int64_t>>> lanes;  // by client: its threads, and when each is free
    int next_thread = kFirstClientThread;
    for (const auto& [client, ranks] : calls_.clients) {
      client_threads_[client] = next_thread;
      lanes[client].push_back({next_thread++, 0});
      NameThread(client_threads_[client], calls_.NameOf(client));
    }
    for (const NodeCalls::Call& call : calls_.calls) {
      std::vector<std::pair<int, int64_t>>& mine = lanes[call.client];
      auto lane = std::find_if(mine.begin(), mine.end(), [&](const auto& l) { return l.second <= call.begin; });
      if (lane == mine.end()) {
        NameThread(next_thread, absl::StrCat(calls_.NameOf(call.client), " (", mine.size() + 1, ")"));
        mine.push_back({next_thread++, 0});
        lane = mine.end() - 1;
      }
      const int64_t end = call.end >= 0 ? call.end : node_.records.back().time_ns + 1;
      lane->second = end;
      DrawCall(call, lane->first, end);
    }
  }

  void DrawCall(const NodeCalls::Call& call, int tid, int64_t end) {
    std::string name = CollectiveText(call.collective);
    if (call.bytes > 0) absl::StrAppend(&name, " ", call.bytes, " B");
    const char* const how = call.failed ? " failed" : call.end < 0 ? " unfinished" : "";
    const std::string args = absl::StrFormat(R"(,"args":{"team":%u,"call":%u,"rank":%u,"bytes":%u})", call.team,
                                             call.call, call.rank, call.bytes);
    Slice(tid, call.begin, end, name + how, "call", args);
    const auto arrived = calls_.arrived_ns.find({call.team, call.call});
    int64_t all_here = arrived == calls_.arrived_ns.end() ? end : std::clamp(arrived->second, call.begin, end);
    // Records with the same reading of the clock are 1 ns apart, so this rank was the last one to arrive and did not
    // wait.
    if (all_here - call.begin == 1) all_here = call.begin;
    if (all_here > call.begin) Slice(tid, call.begin, all_here, "waits for ranks of this node", "wait", args);
    if (end > all_here) Slice(tid, all_here, end, "network and other nodes", "network", args);
  }

  void Slice(int tid, int64_t begin, int64_t end, const std::string& name, const char* category,
             const std::string& rest) {
    events_->Add('X', pid_, tid, begin + offset_ns_, end - begin, name, category, rest);
  }
  void Instant(int tid, const TraceRecord& r, const std::string& name, char scope) {
    events_->Add('i', pid_, tid, r.time_ns + offset_ns_, 0, name, "engine",
                 absl::StrFormat(R"(,"s":"%c","args":{"team":%u,"call":%u})", scope, r.team, r.call));
  }

  // Returns the time until which the record's event is drawn: that of the next record, but at most kHandlingMaxNs
  // later.
  int64_t HandledBy(size_t i) const {
    const int64_t begin = node_.records[i].time_ns;
    const int64_t next = i + 1 < node_.records.size() ? node_.records[i + 1].time_ns : begin + 1;
    return std::min(next, begin + kHandlingMaxNs);
  }

  std::string PeerName(uint32_t tag) const {
    const auto it = names_.find(tag);
    return it == names_.end() ? absl::StrFormat("daemon %08x", tag) : it->second;
  }

  void DrawPacket(size_t i, const char* verb, const char* preposition, const char* category) {
    const TraceRecord& r = node_.records[i];
    Slice(kEngineThread, r.time_ns, HandledBy(i),
          absl::StrCat(verb, r.failed() ? " an error" : "", " ", r.bytes, " B ", preposition, " ", PeerName(r.peer)),
          category,
          absl::StrFormat(R"(,"args":{"team":%u,"call":%u,"phase":%u,"label":%u,"bytes":%u})", r.team, r.call, r.phase,
                          r.subject, r.bytes));
  }

  void DrawWork(const TraceRecord& r, std::optional<TraceRecord>* begun, const char* what) {
    if (!begun->has_value()) return;
    Slice(kEngineThread, (*begun)->time_ns, r.time_ns, absl::StrCat(what, " ", r.bytes, " B"), what,
          absl::StrFormat(R"(,"args":{"team":%u,"call":%u,"bytes":%u})", r.team, r.call, r.bytes));
    begun->reset();
  }

  void EndLoopSlice(int64_t end) {
    if (loop_since_.has_value() && end > *loop_since_) {
      Slice(kLoopThread, *loop_since_, end, asleep_ ? "asleep" : "awake", "loop", "");
    }
  }

  void DrawRecord(size_t i) {
    const TraceRecord& r = node_.records[i];
    switch (r.kind) {
      case kPacketReceived:
        return DrawPacket(i, "receive", "from", "receive");
      case kPacketSent:
        return DrawPacket(i, "send", "to", "send");
      case kFramesSent:
        return Instant(kEngineThread, r,
                       absl::StrCat("network took ", r.subject, " frames, ", r.bytes, " B, to ", PeerName(r.peer)),
                       't');
      case kReduceBegin:
        reducing_ = r;
        return;
      case kReduceEnd:
        return DrawWork(r, &reducing_, "reduce");
      case kCopyBegin:
        copying_ = r;
        return;
      case kCopyEnd:
        return DrawWork(r, &copying_, "copy");
      case kTriggerFired:
        return Instant(kEngineThread, r, absl::StrCat("trigger of counter ", r.phase, " at ", r.peer), 't');
      case kCallArmed:
        return Instant(kEngineThread, r, absl::StrCat(CollectiveText(r.phase), " armed"), 't');
      case kRanksArrived:
        return Instant(kEngineThread, r, "all ranks of this node are here", 't');
      case kCallOver:
        return Instant(kEngineThread, r, "call over", 't');
      case kCreditStall:
        return Instant(kEngineThread, r, absl::StrCat("no credit to ", PeerName(r.peer)), 't');
      case kEpochSwitch:
        return Instant(kEngineThread, r, absl::StrCat("epoch ", r.subject, " of team ", r.team), 'p');
      case kTeamBroken:
        return Instant(kEngineThread, r, absl::StrCat("team ", r.team, " broken"), 'p');
      case kClientWoken: {
        const auto thread = client_threads_.find(r.subject);
        if (thread != client_threads_.end()) Instant(thread->second, r, "client woken", 't');
        return;
      }
      case kLoopSleep:
      case kLoopWake:
        EndLoopSlice(r.time_ns);
        loop_since_ = r.time_ns;
        asleep_ = r.kind == kLoopSleep;
        return;
      default:
        return;  // calls are drawn elsewhere; newer daemons have unknown kinds
    }
  }

  const NodeTrace& node_;
  const size_t pid_;
  const int64_t offset_ns_;
  const std::map<uint32_t, std::string>& names_;
  const std::optional<uint64_t> team_;
  EventList* const events_;
  const NodeCalls calls_;
  std::map<uint32_t, int> client_threads_;
  std::optional<TraceRecord> reducing_;
  std::optional<TraceRecord> copying_;
  std::optional<int64_t> loop_since_;
  bool asleep_ = false;
};

}  // namespace

TraceEvents MakeTraceEvents(const std::vector<NodeTrace>& nodes, std::optional<uint64_t> team) {
  std::map<uint32_t, std::string> names;
  for (const NodeTrace& node : nodes) names[node.tag()] = node.name;
  const std::vector<Packet> packets = MatchPackets(nodes);
  const Alignment alignment = Align(nodes, packets);
  EventList events;
  for (size_t n = 0; n < nodes.size(); ++n) {
    NodePicture(nodes[n], n + 1, alignment.offset_ns[n], names, team, &events).Draw();
  }
  TraceEvents made;
  for (const Packet& packet : packets) {
    const TraceRecord& sent = nodes[packet.sent.node].records[packet.sent.record];
    const TraceRecord& received = nodes[packet.received.node].records[packet.received.record];
    if (team.has_value() && (sent.team != received.team || sent.team != static_cast<uint32_t>(*team))) continue;
    const int64_t from = sent.time_ns + alignment.offset_ns[packet.sent.node];
    const int64_t to = received.time_ns + alignment.offset_ns[packet.received.node];
    if (to < from) continue;  // clocks that could not be aligned: no arrow goes back in time
    const std::string id = absl::StrCat(",\"id\":", ++made.flows);
    events.Add('s', packet.sent.node + 1, kEngineThread, from, 0, "packet", "packet", id);
    events.Add('f', packet.received.node + 1, kEngineThread, to, 0, "packet", "packet", id + ",\"bp\":\"e\"");
  }
  made.doubt_us = static_cast<double>(alignment.doubt_ns) / 1000;
  made.events = events.count();
  made.json = events.Write(absl::StrFormat(R"("program":"copsectl","clock_doubt_us":%.3f)", made.doubt_us));
  return made;
}

}  // namespace copse::ctl
