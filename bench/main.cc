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
#include "bench/bench.h"
#include "bench/benchmarks.h"
#include "bench/cases.h"
#include "bench/row.h"
#include "bench/targets.h"

namespace copse::bench {
namespace {

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
  std::vector<std::string> chosen;  // names of benchmarks
  bool done = false;                // there is nothing to run
};

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

const Benchmark* FindBenchmark(const std::vector<Benchmark>& benchmarks, const std::string& name) {
  for (const Benchmark& benchmark : benchmarks) {
    if (name == benchmark.name) return &benchmark;
  }
  return nullptr;
}

// Exit code, 0 if all is well.
int Parse(const std::vector<std::string>& words, const std::vector<Benchmark>& benchmarks, Arguments* arguments) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      arguments->done = true;
    } else if (word == "--list") {
      for (const Benchmark& each : benchmarks) std::printf("%-12s %s\n", each.name.c_str(), each.summary.c_str());
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
      if (FindBenchmark(benchmarks, word) == nullptr) {
        return Usage(absl::StrCat("usage: no such benchmark; try --list (name=", word, ")"));
      }
      arguments->chosen.push_back(word);
    }
  }
  if (arguments->chosen.empty()) {
    for (const Benchmark& benchmark : benchmarks) arguments->chosen.push_back(benchmark.name);
  }
  return 0;
}

// The command as the user gave it, without where files go.
std::string CommandOf(const Arguments& arguments) {
  std::string command = "tools/bench";
  for (const std::string& name : arguments.chosen) absl::StrAppend(&command, " ", name);
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
  const absl::StatusOr<std::vector<Benchmark>> benchmarks = LoadBenchmarks(/*quick=*/false);
  if (!benchmarks.ok()) return Usage(std::string(benchmarks.status().message()));
  const absl::StatusOr<std::vector<Target>> targets = LoadTargets();
  if (!targets.ok()) return Usage(std::string(targets.status().message()));
  Arguments arguments;
  const int usage = Parse(words, *benchmarks, &arguments);
  if (usage != 0 || arguments.done) return usage;
  // This process ends with the one that removes the folder.
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
  uint32_t with_target = 0, met = 0;
  for (const std::string& name : arguments.chosen) {
    std::printf("%s: %s\n%s", name.c_str(), FindBenchmark(*benchmarks, name)->summary.c_str(), TableHeading().c_str());
    std::fflush(stdout);
    const absl::Status status = RunBenchmark(name, arguments.options, [&](Row row) {
      SetTarget(*targets, &row);
      std::fputs(ToTableLine(row).c_str(), stdout);
      std::fflush(stdout);
      if (json.is_open()) json << ToJson(row, provenance) << std::endl;
      if (row.metric == "unfinished" && HasCopse(row.system) && row.peer.empty()) exit_code = 1;
      with_target += row.target.has_value();
      met += Met(row);
    });
    if (!status.ok()) {
      std::fprintf(stderr, "tools/bench: %s: %s\n", name.c_str(), std::string(status.message()).c_str());
      exit_code = 1;
    }
  }
  std::printf("\n%u of %u targets met\n", met, with_target);
  return exit_code;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) { return copse::bench::Main({argv + 1, argv + argc}); }
