// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/ctl/tracing/trace_events.h"

namespace copse::ctl {
namespace {

constexpr char kNode[] = "node";
constexpr char kTeam[] = "team";
constexpr char kSeconds[] = "seconds";
constexpr char kLast[] = "last";
constexpr char kOutput[] = "output";
constexpr char kRecords[] = "records";
constexpr char kCrash[] = "crash";
constexpr char kCrashHead[] = "copse-crash 1";
constexpr double kSecondsMax = 600;
// Limits memory: a record takes some 150 bytes in the output, and more while the output is made.
constexpr uint64_t kRecordsDefault = 4'000'000;
// Each daemon is queried for new records at this interval.
constexpr absl::Duration kBetweenRounds = absl::Milliseconds(100);

// A Source holds one daemon's trace and the progress of fetching it.
struct Source {
  NodeTrace trace;
  uint64_t next = 0;     // number of the first record not fetched yet
  uint64_t lost = 0;     // number of records overwritten before they were fetched
  uint64_t dropped = 0;  // number of records fetched before the daemon restarted
  bool off = false;
  bool has_gaps = false;  // records that the caller may not see were left out
};

// Drops the records of a daemon that has restarted: the numbers, clock and packets of the new one are others.
void BeginAnew(Source* source) {
  source->dropped += source->trace.records.size();
  source->trace = {.name = source->trace.name, .clock = {}, .records = {}};
  source->next = 0;
}

// Appends the records of a reply, and keeps its reading of the clock if it is the most exact one so far. Returns the
// number of newer records that the daemon has. If `may_miss`, records before the reply's first one do not count as
// lost.
absl::StatusOr<uint64_t> Take(const v1::GetTraceReply& reply, bool may_miss, Source* source) {
  NodeTrace& trace = source->trace;
  trace.incarnation = reply.incarnation();
  source->off = reply.off();
  const int64_t doubt_ns = reply.round_trip_ns() / 2;
  if (trace.clock.empty() || doubt_ns < trace.doubt_ns) {
    trace.clock = reply.clock();
    trace.now_ns = reply.now_ns();
    trace.planner_ns = reply.planner_ns();
    trace.doubt_ns = doubt_ns;
  }
  if (!may_miss && reply.first() > source->next) source->lost += reply.first() - source->next;
  RETURN_IF_ERROR(trace.Append(reply.records()));
  const uint64_t after = reply.first() + reply.records().size() / kTraceRecordBytes;
  source->next = std::max(reply.end(), after);
  if (source->next > after) source->has_gaps = true;
  return reply.next() > source->next ? reply.next() - source->next : 0;
}

// Fetched counts the records of all nodes against the limit.
struct Fetched {
  uint64_t records = 0;
  uint64_t limit = kRecordsDefault;
};

v1::GetTraceRequest RequestFrom(uint64_t from, const VerbContext& context, const Source& source) {
  v1::GetTraceRequest request;
  request.set_node(source.trace.name);
  request.set_from(from);
  request.set_timeout_s(absl::ToDoubleSeconds(context.client->TimeForOthers()));
  request.set_takes_gaps(true);
  return request;
}

// Fetches a daemon's records from `source->next` on, chunk by chunk, up to the one that was newest at the first chunk;
// with `last_s`, only those of the last so many seconds. Errors: RESOURCE_EXHAUSTED above the limit; those of the call.
absl::Status Fetch(VerbContext& context, std::optional<double> last_s, bool may_miss, Source* source,
                   Fetched* fetched) {
  constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
  uint64_t end = kUnknown;
  for (bool first = true;; first = false) {
    const uint64_t from = source->next;
    v1::GetTraceRequest request = RequestFrom(from, context, *source);
    if (first && last_s.has_value()) request.set_last_s(*last_s);
    ASSIGN_OR_RETURN(const v1::GetTraceReply reply, context.client->Call(PlannerAdmin::GetTrace, request));
    if (source->trace.incarnation != 0 && reply.incarnation() != source->trace.incarnation) {
      BeginAnew(source);
      end = kUnknown;
      continue;
    }
    if (end == kUnknown) end = reply.next();
    fetched->records += reply.records().size() / kTraceRecordBytes;
    context.Note(absl::StrCat("fetching (node=", source->trace.name, ", records=", fetched->records, ")"));
    if (fetched->records > fetched->limit) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "too many records; --node and --last ask for fewer, --records allows more (limit=", fetched->limit, ")"));
    }
    ASSIGN_OR_RETURN(const uint64_t more, Take(reply, first && may_miss, source));
    if (more == 0 || source->next >= end || source->next == from) return absl::OkStatus();
  }
}

// Skips the records that exist already, so that fetching begins with the next one.
absl::Status SkipRecorded(VerbContext& context, Source* source) {
  const v1::GetTraceRequest request = RequestFrom(std::numeric_limits<uint64_t>::max(), context, *source);
  ASSIGN_OR_RETURN(const v1::GetTraceReply reply, context.client->Call(PlannerAdmin::GetTrace, request));
  return Take(reply, /*may_miss=*/true, source).status();
}

// Reads what a daemon left when it crashed (docs/reference/instruments.md).
absl::StatusOr<Source> ReadCrash(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  Source source;
  if (!std::getline(file, line) || line != kCrashHead) {
    return absl::InvalidArgumentError(absl::StrCat("not what a daemon leaves when it crashes (crash=", path, ")"));
  }
  uint64_t records = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == "node") source.trace.name = words[1];
    if (words.size() == 2 && words[0] == "incarnation") (void)absl::SimpleAtoi(words[1], &source.trace.incarnation);
    if (words.size() == 2 && words[0] == "records" && absl::SimpleAtoi(words[1], &records)) break;
  }
  std::stringstream rest;
  rest << file.rdbuf();
  std::string bytes = std::move(rest).str();
  // A disk that was full has cut the last record.
  bytes.resize(std::min<uint64_t>(bytes.size() / kTraceRecordBytes, records) * kTraceRecordBytes);
  RETURN_IF_ERROR(source.trace.Append(bytes));
  return source;
}

// --- Arguments ---

absl::StatusOr<std::vector<Source>> Sources(const Arguments& arguments, VerbContext& context) {
  if (arguments.Has(kCrash)) {
    for (const char* other : {kNode, kSeconds, kLast, kRecords}) {
      if (arguments.Has(other)) {
        return absl::InvalidArgumentError(absl::StrCat("--crash and --", other, " exclude each other"));
      }
    }
    ASSIGN_OR_RETURN(const Source source, ReadCrash(arguments.Text(kCrash)));
    return std::vector<Source>{source};
  }
  std::vector<std::string> names;
  if (arguments.Has(kNode)) {
    ASSIGN_OR_RETURN(names, ExpandHostlist(arguments.Text(kNode)));
  } else {
    ASSIGN_OR_RETURN(const v1::ListNodesReply reply, context.client->Call(PlannerAdmin::ListNodes, {}));
    for (const v1::NodeRow& node : reply.nodes()) {
      if (node.connected()) names.push_back(node.name());
    }
    if (names.empty()) return absl::NotFoundError("no daemon is connected to the planner");
  }
  std::vector<Source> sources;
  for (std::string& name : names) {
    sources.emplace_back();
    sources.back().trace.name = std::move(name);
  }
  return sources;
}

absl::StatusOr<std::optional<double>> Seconds(const Arguments& arguments) {
  if (!arguments.Has(kSeconds)) return std::optional<double>();
  ASSIGN_OR_RETURN(const double seconds, ParseSeconds(kSeconds, arguments.Text(kSeconds), kSecondsMax));
  if (arguments.Has(kLast)) return absl::InvalidArgumentError("--seconds and --last exclude each other");
  return std::optional<double>(seconds);
}

absl::StatusOr<std::optional<double>> Last(const Arguments& arguments) {
  if (!arguments.Has(kLast)) return std::optional<double>();
  ASSIGN_OR_RETURN(const absl::Duration last, ParseDuration(arguments.Text(kLast)));
  return std::optional<double>(absl::ToDoubleSeconds(last));
}

// --- The verb ---

absl::Status Record(VerbContext& context, double seconds, std::vector<Source>* sources, Fetched* fetched) {
  context.client->Extend(absl::Seconds(seconds));
  for (Source& source : *sources) RETURN_IF_ERROR(SkipRecorded(context, &source));
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  for (bool more = true; more;) {
    const absl::Duration left = end - absl::Now();
    more = left > absl::ZeroDuration();
    if (more)
      context.Note(absl::StrCat("recording (left=", FormatShortDuration(left), ", records=", fetched->records, ")"));
    if (more) absl::SleepFor(std::min(left, kBetweenRounds));
    for (Source& source : *sources) RETURN_IF_ERROR(Fetch(context, std::nullopt, /*may_miss=*/false, &source, fetched));
  }
  return absl::OkStatus();
}

absl::Status Report(const Arguments& arguments, const std::vector<Source>& sources, const TraceEvents& made,
                    VerbContext& context) {
  uint64_t lost = 0;
  uint64_t records = 0;
  if (std::any_of(sources.begin(), sources.end(), [](const Source& source) { return source.has_gaps; })) {
    context.notes.push_back(
        "left out: what is not of your own teams and processes, and of teams that have ended; for all, role operator");
  }
  for (const Source& source : sources) {
    if (source.off)
      context.notes.push_back(absl::StrCat("no trace is kept: trace_records is 0 (node=", source.trace.name, ")"));
    if (source.lost > 0) {
      context.notes.push_back(
          absl::StrCat("records were overwritten before they could be fetched: trace_records is too "
                       "small (node=",
                       source.trace.name, ", records=", source.lost, ")"));
    }
    if (source.dropped > 0) {
      context.notes.push_back(absl::StrCat("the daemon restarted; the records before are left out (node=",
                                           source.trace.name, ", records=", source.dropped, ")"));
    }
    lost += source.lost;
    records += source.trace.records.size();
  }
  if (!arguments.Has(kOutput)) {
    return context.Answer(made.json);
  }
  const std::string path = arguments.Text(kOutput);
  if (!WriteFile(path, made.json)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write (output=", path, ")"));
  }
  if (context.wants_json()) {
    context.out = DumpJson({{"ok", true},
                            {"output", path},
                            {"nodes", sources.size()},
                            {"records", records},
                            {"lost", lost},
                            {"events", made.events},
                            {"packets", made.flows},
                            {"clock_doubt_us", made.doubt_us}});
  } else {
    context.out =
        absl::StrFormat("%s: %u records of %u node%s, %u packets; open it in https://ui.perfetto.dev\n",
                        cli::Printable(path), records, sources.size(), sources.size() == 1 ? "" : "s", made.flows);
    if (made.doubt_us > 0) {
      absl::StrAppendFormat(&context.out, "times of different nodes may be wrong by %.1f us against each other\n",
                            made.doubt_us);
    }
  }
  return absl::OkStatus();
}

absl::Status Trace(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const std::optional<double> seconds, Seconds(arguments));
  ASSIGN_OR_RETURN(const std::optional<double> last_s, Last(arguments));
  if (!arguments.Has(kOutput) && context.terminal) {
    return absl::InvalidArgumentError("a trace is not for a terminal: --output FILE, or a pipe, takes it");
  }
  Fetched fetched;
  if (arguments.Has(kRecords)) {
    ASSIGN_OR_RETURN(fetched.limit, ParseId(kRecords, arguments.Text(kRecords)));
  }
  std::optional<uint64_t> team;
  if (arguments.Has(kTeam)) {
    ASSIGN_OR_RETURN(team, FindTeam(*context.client, arguments.Text(kTeam)));
  }
  ASSIGN_OR_RETURN(std::vector<Source> sources, Sources(arguments, context));
  if (seconds.has_value()) {
    RETURN_IF_ERROR(Record(context, *seconds, &sources, &fetched));
  } else if (!arguments.Has(kCrash)) {
    for (Source& source : sources) RETURN_IF_ERROR(Fetch(context, last_s, /*may_miss=*/true, &source, &fetched));
  }
  std::vector<NodeTrace> traces;
  for (Source& source : sources) traces.push_back(source.trace);
  return Report(arguments, sources, MakeTraceEvents(traces, team), context);
}

}  // namespace

std::vector<Verb> TraceVerbs() {
  return {{.name = "trace",
           .help = "what daemons did lately, for a trace viewer (Perfetto, chrome://tracing)",
           .options = {{kNode, "NAME", "only this node's, or a host list; may be given again", /*repeated=*/true},
                       {kTeam, "TEAM", "only this team's calls"},
                       {kSeconds, "S", "record for so long, instead of what is recorded"},
                       {kLast, "DURATION", "only the last part of what is recorded: 10ms, 2s"},
                       {kOutput, "FILE", "write there, and a summary here"},
                       {kRecords, "N", "fetch at most so many, of all nodes; else 4000000"},
                       {kCrash, "FILE", "what a daemon left in its run_dir when it crashed, instead"}},
           .timeout_s = 30,
           .run = Trace}};
}

}  // namespace copse::ctl
