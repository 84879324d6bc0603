// SPDX-License-Identifier: Apache-2.0
//
// The inner part of tools/bench: runs benchmarks by name, and prints their rows.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "absl/strings/str_cat.h"
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

int Fail(const std::string& error) {
  std::fprintf(stderr, "tools/bench: %s\n", error.c_str());
  return 2;
}

struct Arguments {
  Options options;
  uint32_t budget_ms = 0;
  uint32_t limit_s = 20;
  std::string json_file;
  std::string commit;
  std::vector<std::string> chosen;  // names of benchmarks
};

void Define(const std::map<std::string, std::string>& summaries, Arguments* arguments, CLI::App* app) {
  Options& options = arguments->options;
  app->add_option("NAME", arguments->chosen, "benchmarks; all")->check([&summaries](const std::string& name) {
    return summaries.contains(name) ? "" : "no such benchmark; try --list (name=" + name + ")";
  });
  app->add_option("--json", arguments->json_file, "write each row as a line of JSON too");
  app->add_flag("--quick", options.quick, "fewer cells and runs");
  app->add_option("--only", options.only,
                  "cells whose name, as in \"latency 8x1 allreduce 48 B, idle\", has this text; several with | "
                  "between, * for anything");
  app->add_option_function<std::string>(
      "--systems",
      [arguments](const std::string& list) {
        arguments->options.systems = absl::StrSplit(list, ',', absl::SkipEmpty());
      },
      "of contests: copse, openmpi and so on alone, with commas between");
  app->add_option("--runs", options.runs, "of contests: how often each system is measured")->check(CLI::PositiveNumber);
  app->add_option("--budget", arguments->budget_ms, "of contests: how many ms a cell's calls go on")
      ->check(CLI::PositiveNumber);
  app->add_option("--limit", arguments->limit_s, "of contests: a cell that takes so many s is unfinished")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--ledger", options.ledger,
                  "of failover: a file of rounds, to which a run adds those that are missing");
  app->add_option("--store", options.store, "of control-swarm: etcd, which then runs beside its planner")
      ->check(CLI::IsMember({"etcd"}));
  app->add_option("--folder", options.folder)->group("");
  app->add_option("--commit", arguments->commit)->group("");
  app->footer(
      "tools/bench --list prints their names.\n"
      "tools/bench --report DIR [FILE...] makes DIR/benchmarks.md and DIR/plots of what --json wrote; of DIR/*.jsonl "
      "if no "
      "FILE is named.\n"
      "Exit code: 0 done, 1 a benchmark failed or a cell of Copse's was unfinished, 2 bad usage.");
}

// The command as the user gave it, without where files go.
std::string CommandOf(const std::vector<std::string>& words) {
  std::string command = "tools/bench";
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--json" || words[i] == "--ledger" || words[i] == "--folder" || words[i] == "--commit") {
      ++i;
    } else if (words[i].find_first_of(" |*'\"") == std::string::npos) {
      absl::StrAppend(&command, " ", words[i]);
    } else {
      absl::StrAppend(&command, " '", words[i], "'");
    }
  }
  return command;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<std::vector<Benchmark>> benchmarks = LoadBenchmarks(/*quick=*/false);
  if (!benchmarks.ok()) return Fail(std::string(benchmarks.status().message()));
  const absl::StatusOr<std::vector<Target>> targets = LoadTargets();
  if (!targets.ok()) return Fail(std::string(targets.status().message()));
  std::map<std::string, std::string> summaries;
  for (const Benchmark& benchmark : *benchmarks) summaries[benchmark.name] = benchmark.summary;
  Arguments arguments;
  CLI::App app("Runs the named benchmarks, or all, and prints a table.", "tools/bench");
  Define(summaries, &arguments, &app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(absl::StrCat("usage: ", error.what()));
  }
  Options& options = arguments.options;
  options.budget = absl::Milliseconds(arguments.budget_ms);
  options.cell_timeout = absl::Seconds(arguments.limit_s);
  if (arguments.chosen.empty()) {
    for (const Benchmark& benchmark : *benchmarks) arguments.chosen.push_back(benchmark.name);
  }
  // This process ends with the one that removes the folder.
  if (!options.folder.empty()) prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::ofstream json;
  if (!arguments.json_file.empty()) {
    json.open(arguments.json_file);
    if (!json) return Fail(absl::StrCat("--json: cannot be written (file=", arguments.json_file, ")"));
  }

  const Provenance provenance = {.date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()),
                                 .commit = arguments.commit,
                                 .command = CommandOf({argv + 1, argv + argc}),
                                 .machine = DescribeMachine()};
  int exit_code = 0;
  uint32_t with_target = 0, met = 0;
  for (const std::string& name : arguments.chosen) {
    std::printf("%s: %s\n%s", name.c_str(), summaries[name].c_str(), TableHeading().c_str());
    std::fflush(stdout);
    const absl::Status status = RunBenchmark(name, options, [&](Row row) {
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

int main(int argc, char** argv) { return copse::bench::Main(argc, argv); }
