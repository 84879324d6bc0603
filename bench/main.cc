// SPDX-License-Identifier: Apache-2.0
//
// The inner part of tools/bench: runs benchmarks by name, and prints their rows.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/alu.h"
#include "bench/apps.h"
#include "bench/bandwidth.h"
#include "bench/bench.h"
#include "bench/collectives.h"
#include "bench/comm.h"
#include "bench/fabric.h"
#include "bench/gatherv.h"
#include "bench/hetero.h"
#include "bench/hop.h"
#include "bench/idle.h"
#include "bench/kernels.h"
#include "bench/latency.h"
#include "bench/machine.h"
#include "bench/memory.h"
#include "bench/mgo_table.h"
#include "bench/model.h"
#include "bench/mpi_collectives.h"
#include "bench/noise.h"
#include "bench/overlap.h"
#include "bench/plan_quality.h"
#include "bench/plan_time.h"
#include "bench/probe.h"
#include "bench/replan.h"
#include "bench/scale.h"
#include "bench/shim.h"
#include "bench/targets.h"
#include "bench/tnbc_cost.h"
#include "bench/tnbc_order.h"
#include "bench/tnbc_scenarios.h"
#include "bench/transfer.h"

namespace copse::bench {
namespace {

// tools/bench --list reads these lines too.
const Bench kBenches[] = {
    {"alu", "how fast every operation on every type combines 64 KiB, beside copying them", RunAlu},
    {"apps", "unmodified programs that others wrote, whole, on their MPI and on Copse, idle and busy", RunApps},
    {"apps-tnbc", "the same programs on Copse, with collectives that return early (T-NBC) and without", RunAppsTnbc},
    {"bandwidth", "collectives of 64 MiB beside what their links can carry, and beside MPI libraries", RunBandwidth},
    {"collectives", "every collective, 8 B to 1 MiB, beside MPI libraries, unshaped and at 1 Gbit/s", RunCollectives},
    {"comm", "communicators that are made, used little and freed, under MPI libraries with and without Copse", RunComm},
    {"fabric", "what the emulated network carries, and how punctually", RunFabric},
    {"ft", "a kernel that communicates as NPB's FT: plain, with Copse, and with T-NBC, to its ceiling", RunFt},
    {"gatherv", "Gatherv of any counts on up to 256 ranks, beside Gather, a linear one and MPI libraries", RunGatherv},
    {"hetero", "collectives over three sites, beside MPI libraries and trees that go by rank number", RunHetero},
    {"hop", "what one step costs: a local call, a packet in the engine, a packet beside one of UCX alone", RunHop},
    {"idle", "what Copse costs while nobody calls it: processor and memory", RunIdle},
    {"is", "a kernel that communicates as NPB's IS: plain, with Copse, and with T-NBC, to its ceiling", RunIs},
    {"latency", "small collectives, 2 to 32 nodes, idle and busy, beside MPI libraries and bare sockets", RunLatency},
    {"memory", "what daemons hold while calls run, beside the limit that they are given", RunMemory},
    {"mgo-table", "the MGO paper's table and claims, computed again by several accountings", RunMgoTable},
    {"model", "the planner's prediction against measured calls: other trees, sizes and node counts", RunModel},
    {"mpi-collectives", "collectives by MPI calls, idle and busy, with and without Copse", RunMpiCollectives},
    {"noise", "what a collective in the background takes from an application that computes", RunNoise},
    {"overlap", "how much of a long collective an application that computes meanwhile does not notice", RunOverlap},
    {"plan-quality", "the planner's trees against the optimum, MGO and a lower bound, by the model", RunPlanQuality},
    {"plan-time", "what making a tree for up to 1,000,000 nodes takes, on one core", RunPlanTime},
    {"probe", "a measured topology beside what the emulated network was told", RunProbe},
    {"replan", "a network that changes under running calls: what is lost, and what replanning brings", RunReplan},
    {"scale", "every collective with up to 65,536 ranks, simulated: time, connections, memory of daemons", RunScale},
    {"shim", "what MPI calls take more that Copse passes on, and MPI_Init and MPI_Finalize", RunShim},
    {"tnbc-cost", "what early returns (T-NBC) cost: protection, faults, snapshots, time in the call", RunTnbcCost},
    {"tnbc-order", "what priorities bring to early returns (T-NBC), by the order of reading", RunTnbcOrder},
    {"tnbc-scenarios", "what overlaps in the scenarios of the T-NBC paper", RunTnbcScenarios},
    {"transfer", "long data from process to process by UCX: eager, rendezvous, put; rate and processor", RunTransfer},
};

constexpr char kUsage[] =
    "usage: tools/bench [NAME...] [--list] [--json FILE] [--quick] [--only TEXT] [OPTION...]\n"
    "       tools/bench --report DIR [FILE...]\n"
    "\n"
    "Runs the named benchmarks, or all, and prints a table.\n"
    "\n"
    "  --list       print their names\n"
    "  --json FILE  write each row as a line of JSON too\n"
    "  --quick      fewer cells and runs\n"
    "  --only TEXT  cells whose name, as in \"latency 8x1 allreduce 48 B, idle\", has this text; several with | "
    "between, * for\n"
    "               anything\n"
    "  --systems A,B...  of contests: copse, openmpi and so on alone\n"
    "  --runs N     of contests: how often each system is measured\n"
    "  --budget MS  of contests: how long a cell's calls go on\n"
    "  --limit S    of contests: a cell that takes longer is unfinished; 20\n"
    "  --report     make DIR/benchmarks.md and DIR/plots of what --json wrote; of DIR/*.jsonl if no FILE is named\n"
    "\n"
    "Exit code: 0 done, 1 a benchmark failed or a cell of Copse's was unfinished, 2 bad usage.\n";

int Usage(const std::string& error) {
  std::fprintf(stderr, "tools/bench: %s\n", error.c_str());
  return 2;
}

struct Arguments {
  Options options;
  std::string json_file;
  std::string commit;
  std::vector<const Bench*> chosen;
  bool done = false;  // said what was asked for
};

const Bench* FindBench(const std::string& name) {
  for (const Bench& bench : kBenches) {
    if (name == bench.name) return &bench;
  }
  return nullptr;
}

// Whether `value` is one of them.
bool SetContestOption(const std::string& flag, const std::string& value, Options* options) {
  if (flag == "--systems") {
    options->systems = absl::StrSplit(value, ',', absl::SkipEmpty());
    return !options->systems.empty();
  }
  uint32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number == 0) return false;
  if (flag == "--runs") options->runs = number;
  if (flag == "--budget") options->budget = absl::Milliseconds(number);
  if (flag == "--limit") options->cell_timeout = absl::Seconds(number);
  return true;
}

// Exit code, 0 if all is well.
int Parse(const std::vector<std::string>& words, Arguments* arguments) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      arguments->done = true;
    } else if (word == "--list") {
      for (const Bench& bench : kBenches) std::printf("%-12s %s\n", bench.name, bench.summary);
      arguments->done = true;
    } else if (word == "--quick") {
      arguments->options.quick = true;
    } else if (word == "--systems" || word == "--runs" || word == "--budget" || word == "--limit") {
      if (++i == words.size() || !SetContestOption(word, words[i], &arguments->options)) {
        return Usage(absl::StrCat("usage: not a value of it (flag=", word, ")"));
      }
    } else if (word == "--json" || word == "--folder" || word == "--only" || word == "--commit") {
      if (++i == words.size() || words[i].empty()) {
        return Usage(absl::StrCat("usage: value missing (flag=", word, ")"));
      }
      (word == "--json"     ? arguments->json_file
       : word == "--only"   ? arguments->options.only
       : word == "--commit" ? arguments->commit
                            : arguments->options.folder) = words[i];
    } else {
      if (word.starts_with("-")) return Usage(absl::StrCat("usage: no such option; try --help (argument=", word, ")"));
      const Bench* found = FindBench(word);
      if (found == nullptr) return Usage(absl::StrCat("usage: no such benchmark; try --list (name=", word, ")"));
      arguments->chosen.push_back(found);
    }
  }
  if (arguments->chosen.empty()) {
    for (const Bench& bench : kBenches) arguments->chosen.push_back(&bench);
  }
  return 0;
}

// As the user gave it: without where files go, which is nobody else's business.
std::string CommandOf(const Arguments& arguments) {
  std::string command = "tools/bench";
  for (const Bench* bench : arguments.chosen) absl::StrAppend(&command, " ", bench->name);
  if (arguments.options.quick) absl::StrAppend(&command, " --quick");
  const Options& options = arguments.options;
  if (!options.only.empty()) absl::StrAppend(&command, " --only '", options.only, "'");
  if (!options.systems.empty()) absl::StrAppend(&command, " --systems ", absl::StrJoin(options.systems, ","));
  if (options.runs > 0) absl::StrAppend(&command, " --runs ", options.runs);
  if (options.budget > absl::ZeroDuration()) {
    absl::StrAppend(&command, " --budget ", absl::ToInt64Milliseconds(options.budget));
  }
  if (options.cell_timeout != Options().cell_timeout) {
    absl::StrAppend(&command, " --limit ", absl::ToInt64Seconds(options.cell_timeout));
  }
  return command;
}

int Main(const std::vector<std::string>& words) {
  Arguments arguments;
  const int usage = Parse(words, &arguments);
  if (usage != 0 || arguments.done) return usage;
  // Whoever removes the folder must not go before us.
  if (!arguments.options.folder.empty()) prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::ofstream json;
  if (!arguments.json_file.empty()) {
    json.open(arguments.json_file);
    if (!json) return Usage(absl::StrCat("--json: cannot be written (file=", arguments.json_file, ")"));
  }

  const Provenance provenance = {.date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()),
                                 .commit = arguments.commit,
                                 .command = CommandOf(arguments),
                                 .machine = DescribeMachine()};
  int exit_code = 0;
  uint32_t targets = 0, met = 0;
  for (const Bench* bench : arguments.chosen) {
    std::printf("%s: %s\n%s", bench->name, bench->summary, TableHeading().c_str());
    std::fflush(stdout);
    const absl::Status status = bench->run(arguments.options, [&](Row row) {
      SetTarget(&row);
      std::fputs(ToTableLine(row).c_str(), stdout);
      std::fflush(stdout);
      if (json.is_open()) json << ToJson(row, provenance) << std::endl;
      if (row.metric == "unfinished" && HasCopse(row.system) && row.peer.empty()) exit_code = 1;
      targets += row.target.has_value();
      met += Met(row);
    });
    if (!status.ok()) {
      std::fprintf(stderr, "tools/bench: %s: %s\n", bench->name, std::string(status.message()).c_str());
      exit_code = 1;
    }
  }
  std::printf("\n%u of %u targets met\n", met, targets);
  return exit_code;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) { return copse::bench::Main({argv + 1, argv + argc}); }
