// SPDX-License-Identifier: Apache-2.0
//
// The inner part of tools/demo: boots a cluster on loopback, runs the demo's application on it, and shows its results
// and the administrators' view.
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "collectives/collective.h"
#include "planner/size_class.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::demo {
namespace {

using procs::ChildProcess;
using procs::ProcessCluster;

constexpr absl::Duration kPatience = absl::Minutes(5);  // limit for one case
constexpr double kFarOff = 2;           // a prediction by this factor from what is measured is explained
constexpr uint64_t kShortBytes = 1024;  // lengths below take the same time
constexpr absl::Duration kCallTimeout = absl::Seconds(10);

struct Options {
  uint32_t nodes = 4;
  uint32_t ppn = 2;
  bool keep = false;
  std::string folder;  // internal: tools/demo removes it in any case
};

// Parses tools/demo's arguments, which it has checked.
absl::StatusOr<Options> Parse(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--keep") {
      options.keep = true;
      continue;
    }
    const std::string value = ++i < arguments.size() ? arguments[i] : "";
    const bool good = name == "--folder"  ? !value.empty()
                      : name == "--nodes" ? absl::SimpleAtoi(value, &options.nodes)
                      : name == "--ppn"   ? absl::SimpleAtoi(value, &options.ppn)
                                          : false;
    if (!good || options.nodes == 0 || options.ppn == 0) {
      return absl::InvalidArgumentError(absl::StrCat("usage: see tools/demo --help (argument=", name, ")"));
    }
    if (name == "--folder") options.folder = value;
  }
  return options;
}

// --- The application's output ---

struct Result {
  std::string collective, operation, type;
  uint64_t bytes = 0;
  double median_us = 0;
  uint64_t checked = 0, wrong = 0;
};

absl::StatusOr<Result> ParseResult(const std::string& line) {
  const std::vector<std::string> f = absl::StrSplit(line, '\t');
  Result r;
  if (f.size() != 7 || !absl::SimpleAtoi(f[3], &r.bytes) || !absl::SimpleAtod(f[4], &r.median_us) ||
      !absl::SimpleAtoi(f[5], &r.checked) || !absl::SimpleAtoi(f[6], &r.wrong)) {
    return absl::InternalError(absl::StrCat("demo_app: not a result: ", line));
  }
  r.collective = f[0];
  r.operation = f[1];
  r.type = f[2];
  return r;
}

// --- The planner's view ---

// Returns "depth 2, fan-out 3" for a tree, whose edges lead from parents to children; else a node's number of
// neighbors.
std::string DescribeTree(const v1::PlanRow& plan) {
  std::map<std::string, std::string> parent;
  std::map<std::string, uint32_t> children;
  std::map<std::string, std::set<std::string>> neighbors;
  bool tree = true;
  for (const v1::PlanEdge& edge : plan.edges()) {
    tree = parent.emplace(edge.to(), edge.from()).second && tree;
    ++children[edge.from()];
    neighbors[edge.from()].insert(edge.to());
    neighbors[edge.to()].insert(edge.from());
  }
  if (parent.empty()) return "one node";
  size_t depth = 0;
  for (const auto& [node, unused] : parent) {
    size_t steps = 0;
    for (auto it = parent.find(node); tree && it != parent.end(); it = parent.find(it->second)) {
      tree = ++steps <= parent.size();
    }
    depth = std::max(depth, steps);
  }
  size_t fanout = 0, most = 0;
  for (const auto& [node, count] : children) fanout = std::max<size_t>(fanout, count);
  for (const auto& [node, others] : neighbors) most = std::max(most, others.size());
  return tree ? absl::StrCat("depth ", depth, ", fan-out ", fanout) : absl::StrCat("exchange, ", most, " partners");
}

// Irregular collectives run by the plans of regular ones; if not all ranks know the mean length, by the plan for the
// longest.
const v1::PlanRow* PlanOf(const v1::ListPlansReply& plans, const Result& result) {
  std::string collective = result.collective;
  const bool irregular = collective.back() == 'v';
  if (irregular) collective.pop_back();
  const bool all_know = collective == "allgather" || collective == "reduce_scatter";
  const v1::PlanRow* found = nullptr;
  for (const v1::PlanRow& plan : plans.plans()) {
    if (plan.collective() != collective) continue;
    if (irregular && !all_know) {
      if (found == nullptr || plan.bytes_max() > found->bytes_max()) found = &plan;
    } else if (plan.bytes_min() <= result.bytes && result.bytes <= plan.bytes_max()) {
      found = &plan;
    }
  }
  return found;
}

// Returns the length for which the planner has predicted the plan's time.
uint64_t PricedBytes(const v1::PlanRow& plan) {
  const std::optional<Collective> collective = CollectiveFromName(plan.collective());
  if (!collective.has_value()) return 0;
  return planner::TypicalBytes(*collective, {.bytes_min = plan.bytes_min(), .bytes_max = plan.bytes_max()});
}

void PrintRow(const std::vector<std::string>& cells) {
  static constexpr int kWidths[] = {15, 12, 9, 22, 24, 12, 9, 12};  // of all cells except the last
  for (size_t i = 0; i + 1 < cells.size(); ++i) {
    const bool number = i == 2 || (i >= 5 && i <= 7);
    std::printf(number ? "%*s  " : "%-*s  ", kWidths[i], cells[i].c_str());
  }
  std::printf("%s\n", cells.back().c_str());
  std::fflush(stdout);
}

std::string Microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", us);
  return text;
}

// --- The run ---

// Signals may arrive on any of gRPC's threads.
int interrupted_fd = -1;
void OnInterrupt(int) {
  const uint64_t one = 1;
  (void)!write(interrupted_fd, &one, sizeof(one));
}

class Demo {
 public:
  explicit Demo(Options options) : options_(std::move(options)), cluster_({.parent = options_.folder}) {}

  absl::Status Run() {
    const absl::Status status = RunAll();
    if (!status.ok()) cluster_.DumpLogs(stderr);
    return status;
  }

 private:
  absl::Status RunAll() {
    std::printf("Starting copse-planner and %u daemons on loopback\n", options_.nodes);
    std::fflush(stdout);
    RETURN_IF_ERROR(cluster_.Start({.nodes = options_.nodes}));
    RETURN_IF_ERROR(StartApplication());
    RETURN_IF_ERROR(ShowResults());
    RETURN_IF_ERROR(ShowAdministration());
    if (options_.keep) AwaitCtrlC();
    RETURN_IF_ERROR(EndApplication());
    RETURN_IF_ERROR(cluster_.Stop(absl::Seconds(30)));
    if (wrong_ > 0)
      return absl::DataLossError(absl::StrCat("wrong results (wrong=", wrong_, ", checked=", checked_, ")"));
    std::printf("\nAll %u results were right on all %u processes; everything has ended.\n", checked_,
                options_.nodes * options_.ppn);
    return absl::OkStatus();
  }

  absl::Status StartApplication() {
    const uint32_t ranks = options_.nodes * options_.ppn;
    std::printf("Running the demo's application: %u nodes x %u processes\n\n", options_.nodes, options_.ppn);
    std::fflush(stdout);
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("testbed/demo/demo_app"));
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      ASSIGN_OR_RETURN(auto child, cluster_.StartApplication(rank / options_.ppn,
                                                             {program, absl::StrCat(rank), absl::StrCat(ranks)}));
      application_.push_back(std::move(child));
    }
    return absl::OkStatus();
  }

  // Returns the next line of rank 0; the first failure of any process ends the wait.
  absl::StatusOr<std::string> NextLine() {
    const absl::Time deadline = cluster_.Now() + kPatience;
    for (;;) {
      absl::StatusOr<std::string> line = application_[0]->ReadLine(absl::Milliseconds(200));
      if (line.ok()) return line;
      for (size_t rank = 0; rank < application_.size(); ++rank) {
        if (!application_[rank]->Ended()) continue;
        return absl::InternalError(absl::StrCat("rank ", rank, " ended: ", application_[rank]->DescribeEnd()));
      }
      RETURN_IF_ERROR(cluster_.CheckAlive());
      if (cluster_.Now() > deadline) return line.status();
    }
  }

  absl::Status ShowResults() {
    PrintRow({"collective", "values", "bytes", "algorithm", "tree", "predicted us", "priced at", "measured us", "ok"});
    v1::ListPlansReply plans;
    for (;;) {
      ASSIGN_OR_RETURN(const std::string line, NextLine());
      if (line == "done") break;
      ASSIGN_OR_RETURN(const Result result, ParseResult(line));
      if (PlanOf(plans, result) == nullptr) {  // the first result, or the first of a collective class
        ASSIGN_OR_RETURN(plans, cluster_.admin().ListPlans(kCallTimeout));
      }
      const v1::PlanRow* plan = PlanOf(plans, result);
      const std::string values = result.type == "-"        ? "-"
                                 : result.operation == "-" ? result.type
                                                           : absl::StrCat(result.operation, " ", result.type);
      PrintRow({result.collective, values, absl::StrCat(result.bytes), plan == nullptr ? "?" : plan->algorithm(),
                plan == nullptr ? "?" : DescribeTree(*plan), plan == nullptr ? "?" : Microseconds(plan->predicted_us()),
                plan == nullptr ? "?" : absl::StrCat(PricedBytes(*plan)), Microseconds(result.median_us),
                result.wrong == 0 ? "ok" : absl::StrCat("WRONG in ", result.wrong, " of ", result.checked)});
      if (plan != nullptr) Compare(*plan, result);
      checked_ += result.checked;
      wrong_ += result.wrong;
      // The plan must fit on a screen: the last row without segments.
      if (plan != nullptr && plan->segment_bytes() == 0) explained_ = plan->id();
    }
    std::printf("\nmeasured: the median of the slowest rank, a barrier before each call\n");
    std::printf("predicted: for a call of as many bytes as \"priced at\" says, which stands for its size class\n");
    if (far_off_ > 0) ExplainDifferences();
    return absl::OkStatus();
  }

  void Compare(const v1::PlanRow& plan, const Result& result) {
    const double predicted = plan.predicted_us(), measured = result.median_us;
    if (measured <= kFarOff * predicted && predicted <= kFarOff * measured) return;
    ++far_off_;
    const uint64_t priced = PricedBytes(plan), least = std::min(priced, result.bytes);
    if (std::max(priced, result.bytes) > kFarOff * static_cast<double>(std::max<uint64_t>(least, kShortBytes))) {
      ++other_size_;
    }
  }

  void ExplainDifferences() const {
    const uint32_t processes = options_.nodes * (1 + options_.ppn);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    std::printf("%u rows differ by more than 2 x (of another size than was priced=%u): %s (processes=%u, cores=%ld)\n",
                far_off_, other_size_,
                processes > cores
                    ? "daemons and ranks share cores here, which only a topology file with cores tells the planner"
                    : "the prices are defaults, which tools/bench model calibrates",
                processes, cores);
  }

  absl::Status ShowAdministration() {
    std::vector<std::vector<std::string>> commands = {{"node", "list"}, {"team", "list"}, {"plan", "list"}};
    if (explained_ != 0) commands.push_back({"plan", "explain", absl::StrCat(explained_)});
    ASSIGN_OR_RETURN(const std::string copsectl, procs::FindProgram("cli/ctl/copsectl"));
    for (const std::vector<std::string>& command : commands) {
      std::vector<std::string> arguments = {copsectl, "-e", cluster_.planner_address()};
      arguments.insert(arguments.end(), command.begin(), command.end());
      std::printf("\n$ copsectl %s\n", absl::StrJoin(command, " ").c_str());
      std::fflush(stdout);
      ASSIGN_OR_RETURN(const auto child, ChildProcess::Start({.arguments = arguments}));
      RETURN_IF_ERROR(child->AwaitEnd(absl::Minutes(1)));
      if (child->exit_code() != 0) {
        return absl::InternalError(absl::StrCat("copsectl ", absl::StrJoin(command, " "), ": ", child->DescribeEnd()));
      }
    }
    return absl::OkStatus();
  }

  void AwaitCtrlC() {
    interrupted_fd = eventfd(0, EFD_CLOEXEC);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, OnInterrupt);
    std::printf("\nThe cluster is up until Ctrl-C. To reach it from another terminal:\n");
    std::printf("  export COPSECTL_ENDPOINT=%s\n", cluster_.planner_address().c_str());
    std::printf("  export COPSE_SOCKET=%s    # n0 to n%u\n", cluster_.SocketOf(0).c_str(), options_.nodes - 1);
    std::fflush(stdout);
    uint64_t count;
    while (read(interrupted_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
  }

  absl::Status EndApplication() {
    for (const auto& child : application_) child->CloseInput();
    for (size_t rank = 0; rank < application_.size(); ++rank) {
      RETURN_IF_ERROR(application_[rank]->AwaitEnd(kPatience));
      if (application_[rank]->exit_code() != 0 && wrong_ == 0) {
        return absl::InternalError(absl::StrCat("rank ", rank, " ended: ", application_[rank]->DescribeEnd()));
      }
    }
    return absl::OkStatus();
  }

  const Options options_;
  ProcessCluster cluster_;
  std::vector<std::unique_ptr<ChildProcess>> application_;
  uint32_t checked_ = 0, wrong_ = 0;
  uint32_t far_off_ = 0, other_size_ = 0;  // rows whose prediction is far off; of these, those of another size
  uint64_t explained_ = 0;
};

int Main(int argc, char** argv) {
  const absl::StatusOr<Options> options = Parse({argv + 1, argv + argc});
  if (!options.ok()) {
    std::fprintf(stderr, "tools/demo: %s\n", std::string(options.status().message()).c_str());
    return 2;
  }
  // The process that removes the folder must not end before this one.
  if (!options->folder.empty()) prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::Status status = Demo(*options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "tools/demo: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace copse::demo

int main(int argc, char** argv) { return copse::demo::Main(argc, argv); }
