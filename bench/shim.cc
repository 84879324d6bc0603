// SPDX-License-Identifier: Apache-2.0
#include "bench/shim.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;
using Environment = std::map<std::string, std::string>;

const char* const kCollectives[] = {"Barrier",  "Bcast",     "Reduce",    "Allreduce",      "Gather",
                                    "Gatherv",  "Scatter",   "Scatterv",  "Allgather",      "Allgatherv",
                                    "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block",
                                    "Scan",     "Exscan"};
// Of requests, and Comm_rank, which nobody intercepts.
const char* const kOthers[] = {"Wait",
                               "Waitall",
                               "Waitany",
                               "Waitsome",
                               "Test",
                               "Testall",
                               "Testany",
                               "Testsome",
                               "Request_get_status",
                               "Start+Wait",
                               "Irecv+Isend+Waitall",
                               "Comm_rank"};
// Without data they return at once on any communicator, in both libraries.
const char* const kAtOnce[] = {"Bcast", "Reduce", "Gather", "Scatter", "Allgather", "Alltoall", "Scan", "Exscan"};

// Nobody's socket: a rank that is given it has no daemon.
const Environment kNoDaemon = {{"COPSE_SOCKET", "/nonexistent/copse.sock"}};
const Environment kNeverATeam = {{"COPSE_MPI_CALLS_BEFORE", "1000000000000"}};

// Both libraries, each with and without.
const std::vector<std::string> kSystems = {"openmpi+copse", "openmpi", "mpich+copse", "mpich"};
const std::vector<std::pair<std::string, std::string>> kPairs = {{"openmpi+copse", "openmpi"},
                                                                 {"mpich+copse", "mpich"}};

// "MPI_Ibarrier+Wait": Ibarrier is what the program calls it.
std::string NonBlocking(const std::string& collective) {
  return absl::StrCat("I", std::string(1, static_cast<char>(std::tolower(collective[0]))), collective.substr(1),
                      "+Wait");
}

// --- Calls that are passed on ---

struct Calls {
  std::string where;  // of cases: "one rank"
  std::string mode;   // of mpi_passed.c
  Environment environment;
  std::vector<std::string> names;
};

std::vector<std::string> AllNames(bool quick) {
  std::vector<std::string> names;
  for (const char* name : kCollectives) {
    names.push_back(name);
    if (!quick) names.push_back(NonBlocking(name));
  }
  names.insert(names.end(), std::begin(kOthers), std::end(kOthers));
  return names;
}

// "MPI_Ibarrier+Wait, one rank": two.
double FunctionsOf(const std::string& what) {
  return 1 + static_cast<double>(std::count(what.begin(), what.end(), '+'));
}

// What all functions of a library have added, by their medians.
struct Additions {
  Row blank;
  std::vector<std::pair<double, std::string>> by_call;
  bool unfinished = false;
};

void ReportWorst(Additions additions, const std::string& where, const Reporter& report) {
  if (additions.by_call.empty()) return;
  std::vector<double> values;
  for (const auto& [added, what] : additions.by_call) values.push_back(added);
  Row row = additions.blank;
  row.collective = "";
  row.what = "all calls, " + where;
  row.metric = "median added";
  row.note = absl::StrCat("of ", values.size(), " calls");
  Summarize(values, &row);
  report(row);
  const auto worst = std::max_element(additions.by_call.begin(), additions.by_call.end());
  row.metric = additions.unfinished ? "unfinished" : "worst added";
  row.note = worst->second;
  Summarize({worst->first}, &row);
  report(row);
}

RankContest ContestOf(const Options& options, const std::string& unit) {
  RankContest contest;
  contest.bench = "shim";
  contest.metric = "time";
  contest.unit = unit;
  contest.ppn = 2;
  contest.systems = kSystems;
  contest.pairs = kPairs;
  contest.differences = true;
  contest.runs = options.quick ? 2 : 7;
  contest.peer_time_max = absl::InfiniteDuration();
  return contest;
}

absl::Status RunCalls(const Options& options, const Calls& calls, const Reporter& report) {
  RankContest contest = ContestOf(options, "ns");
  contest.budget = absl::Milliseconds(options.quick ? 2 : 10);
  contest.calls_max = 20;
  for (const std::string& name : calls.names) {
    contest.cases.push_back({absl::StrCat("MPI_", name, ", ", calls.where), {calls.mode, name, 0, {}}});
  }
  if (!AnyWanted(options, contest, 1)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto site, Site::Open({.nodes = 1, .parent = options.folder}));
  contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
    return site->StartMpi(
        system,
        {.program = "bench/mpi_passed", .ppn = contest.ppn, .arguments = arguments, .environment = calls.environment});
  };
  std::map<std::string, Additions> additions;  // by system
  RETURN_IF_ERROR(RunRankContest(options, contest, site.get(), [&](const Row& row) {
    report(row);
    Additions& all = additions[row.system];
    if (row.metric == "unfinished" && HasCopse(row.system)) all.unfinished = true;
    if (row.metric != "added") return;
    all.blank = row;
    all.by_call.emplace_back(row.median / FunctionsOf(row.what), row.what);
  }));
  for (const auto& [system, all] : additions) ReportWorst(all, calls.where, report);
  return absl::OkStatus();
}

// --- MPI_Init and MPI_Finalize ---

constexpr uint32_t kStartNodes = 4;

// Where the ranks of one launch meet (mpi_start.c): a file of zeros, gone with this object.
class MeetingFile {
 public:
  static absl::StatusOr<std::unique_ptr<MeetingFile>> Make(const std::string& folder) {
    std::string path = folder + "/meeting-XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return absl::ErrnoToStatus(errno, path);
    const bool sized = ftruncate(fd, 4096) == 0;
    close(fd);
    if (!sized) return absl::ErrnoToStatus(errno, path);
    return std::unique_ptr<MeetingFile>(new MeetingFile(path));
  }
  ~MeetingFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  explicit MeetingFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

struct Starts {
  std::string where;  // of cases
  Environment environment;
  uint64_t barriers;  // between the two
};

RankContest StartContest(const Options& options, const Starts& starts) {
  RankContest contest = ContestOf(options, "ms");
  contest.runs = options.quick ? 2 : 15;
  contest.calls_max = 1;
  for (const std::string part : {"Init", "Finalize", "both"}) {
    const std::string name = part == "both" ? "MPI_Init and MPI_Finalize" : "MPI_" + part;
    contest.cases.push_back({absl::StrCat(name, ", ", starts.where), {"start", part, starts.barriers, {}}});
  }
  return contest;
}

absl::Status RunStarts(const Options& options, const Starts& starts, Site* site, const Reporter& report) {
  RankContest contest = StartContest(options, starts);
  std::vector<std::unique_ptr<MeetingFile>> meetings;
  contest.start = [&](const std::string& system,
                      const std::vector<std::string>& arguments) -> absl::StatusOr<RankProcesses> {
    ASSIGN_OR_RETURN(meetings.emplace_back(), MeetingFile::Make(site->cluster()->folder()));
    Environment environment = starts.environment;
    environment["BENCH_MEETING"] = meetings.back()->path();
    environment["BENCH_SIZE"] = absl::StrCat(site->nodes() * contest.ppn);
    return site->StartMpi(
        system, {.program = "bench/mpi_start", .ppn = contest.ppn, .arguments = arguments, .environment = environment});
  };
  return RunRankContest(options, contest, site, report);
}

absl::Status RunAllStarts(const Options& options, const Reporter& report) {
  const Starts all[] = {{"daemons", {}, 0}, {"daemons and a team", {}, 8}, {"no daemons", kNoDaemon, 0}};
  const uint32_t nodes = options.quick ? 2 : kStartNodes;
  const bool wanted = std::any_of(std::begin(all), std::end(all), [&](const Starts& starts) {
    return AnyWanted(options, StartContest(options, starts), nodes);
  });
  if (!wanted) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto site, Site::Open({.nodes = nodes, .parent = options.folder}));
  for (const Starts& starts : all) RETURN_IF_ERROR(RunStarts(options, starts, site.get(), report));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunShim(const Options& options, const Reporter& report) {
  const std::vector<std::string> names = AllNames(options.quick);
  const Calls all[] = {{"one rank", "alone", {}, names},
                       {"no daemons", "alone", kNoDaemon, names},
                       {"first calls", "together", kNeverATeam, {std::begin(kAtOnce), std::end(kAtOnce)}}};
  for (const Calls& calls : all) RETURN_IF_ERROR(RunCalls(options, calls, report));
  return RunAllStarts(options, report);
}

}  // namespace copse::bench
