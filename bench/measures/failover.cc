// SPDX-License-Identifier: Apache-2.0
//
// Runs bench/control/failover.py, case by case. Its rounds go to a ledger, so that a later run can add to them.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/line_field.h"
#include "bench/measures/script_rounds.h"

namespace copse::bench {
namespace {

constexpr uint32_t kNodes = 8;
// A round waits for planners and daemons to be back, at most a minute each.
constexpr absl::Duration kRoundPatience = absl::Minutes(6);

struct FailoverCase {
  std::string name;  // failover.py's
  std::string what;
  bool etcd_leads = false;  // a fault of etcd that planners with their default lease should not notice
};

const std::vector<FailoverCase>& Cases() {
  static const auto& cases = *new std::vector<FailoverCase>{
      {"kill", "kill -9 of the leading planner"},
      {"stop", "the leading planner stopped for 5 s"},
      {"cut-from-etcd", "the leading planner cut from etcd"},
      {"cut-from-daemons", "the leading planner cut from the daemons for 5 s"},
      {"member", "kill -9 of a member of etcd"},
      {"etcd-leader", "kill -9 of etcd's leader, lease 10 s", true},
      {"disk", "the disk of etcd's leader stalls for 3 s, lease 10 s", true},
  };
  return cases;
}

// A Ledger has the rounds that were made, as lines "CASE round FIELD=VALUE...".
class Ledger {
 public:
  explicit Ledger(const std::string& file) : file_(file) {
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }
  std::vector<std::string> RoundsOf(const std::string& name) const {
    std::vector<std::string> rounds;
    for (const std::string& line : lines_) {
      if (absl::StartsWith(line, name + " round ")) rounds.push_back(line);
    }
    return rounds;
  }
  void Add(const std::string& line) {
    lines_.push_back(line);
    if (!file_.empty()) std::ofstream(file_, std::ios::app) << line << std::endl;
  }

 private:
  const std::string file_;  // empty: none
  std::vector<std::string> lines_;
};

// Makes rounds and adds them to the ledger. The error is UNAVAILABLE with the reason if the machine cannot make any.
absl::Status MakeRounds(const Options& options, const FailoverCase& of, uint32_t rounds, Ledger* ledger) {
  const Script script = {.file = "bench/control/failover.py",
                         .programs = {"planner/server/copse-planner", "daemon/copsed", "cli/ctl/copsectl"},
                         .files = {"client/libcopse.so.0", "testbed/script/barrier_rank.py",
                                   "testbed/script/planner_cluster.py", "bench/control/failover_rank.py"},
                         .arguments = {of.name, absl::StrCat(rounds)}};
  return RunScript(script, options.folder, kRoundPatience,
                   [&](const std::string& line) { ledger->Add(absl::StrCat(of.name, " ", line)); });
}

absl::Status Report(const Row& row, const FailoverCase& of, const std::vector<std::string>& rounds,
                    const Reporter& report) {
  std::vector<double> seconds;
  double broken = 0, wrong = 0, changes = 0;
  for (const std::string& line : rounds) {
    ASSIGN_OR_RETURN(seconds.emplace_back(), LineField("failover", line, "seconds"));
    ASSIGN_OR_RETURN(const double broken_now, LineField("failover", line, "broken"));
    ASSIGN_OR_RETURN(const double wrong_now, LineField("failover", line, "wrong"));
    ASSIGN_OR_RETURN(const double changes_now, LineField("failover", line, "changes"));
    broken += broken_now;
    wrong += wrong_now;
    changes += changes_now;
  }
  std::sort(seconds.begin(), seconds.end());
  const auto figure = [&](const std::string& metric, const std::string& unit, double value, const std::string& note) {
    Row one = Figure(row, metric, unit, {value});
    one.runs = static_cast<uint32_t>(rounds.size());
    one.note = note;
    report(one);
  };
  Row time = Figure(row, "time", "s", seconds);
  time.note = "from the fault until a new team of all daemons is formed";
  report(time);
  figure("p99", "s", seconds[(seconds.size() * 99 + 99) / 100 - 1], "likewise");
  figure("max", "s", seconds.back(), "likewise");
  figure("broken", "1", broken, "teams");
  figure("wrong", "1", wrong, "results");
  figure("changes", "1", changes, of.etcd_leads ? "of the leading planner" : "of the leading planner, which are meant");
  return absl::OkStatus();
}

}  // namespace

absl::Status RunFailover(const Options& options, const Contest&, const Reporter& report) {
  Ledger ledger(options.ledger);
  for (const FailoverCase& of : Cases()) {
    const Row row{.bench = "failover", .what = of.what, .system = "copse", .nodes = kNodes, .ppn = 1};
    if (!Wanted(options, row)) continue;
    const uint32_t wanted = options.runs > 0 ? options.runs : options.quick ? 3 : of.etcd_leads ? 20 : 100;
    const size_t made = ledger.RoundsOf(of.name).size();
    absl::Status status;
    if (made < wanted) status = MakeRounds(options, of, wanted - static_cast<uint32_t>(made), &ledger);
    const std::vector<std::string> rounds = ledger.RoundsOf(of.name);
    if (!rounds.empty()) RETURN_IF_ERROR(Report(row, of, rounds, report));
    if (!status.ok()) report(Unfinished(row, std::string(status.message())));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
