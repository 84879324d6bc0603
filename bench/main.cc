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

#include "absl/strings/str_cat.h"
#include "bench/bench.h"
#include "bench/latency.h"
#include "bench/model.h"

namespace copse::bench {
namespace {

const Bench kBenches[] = {
    {"latency", "48 B allreduce and barrier, back-to-back, 2 to 16 nodes on loopback", RunLatency},
    {"model", "the planner's prediction against measured calls: other trees, sizes and node counts", RunModel},
};

constexpr char kUsage[] =
    "usage: tools/bench [NAME...] [--list] [--json FILE] [--quick]\n"
    "\n"
    "Runs the named benchmarks, or all, and prints a table.\n"
    "\n"
    "  --list       print their names\n"
    "  --json FILE  write each row as a line of JSON too\n"
    "  --quick      fewer cells and runs\n"
    "\n"
    "Exit code: 0 done, 1 a benchmark failed or a cell was unfinished, 2 bad usage.\n";

int Usage(const std::string& error) {
  std::fprintf(stderr, "tools/bench: %s\n", error.c_str());
  return 2;
}

int Main(const std::vector<std::string>& arguments) {
  Options options;
  std::string json_file;
  std::vector<const Bench*> chosen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--list") {
      for (const Bench& bench : kBenches) std::printf("%-12s %s\n", bench.name, bench.summary);
      return 0;
    }
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--json" || argument == "--folder") {
      if (++i == arguments.size() || arguments[i].empty()) {
        return Usage(absl::StrCat("usage: value missing (flag=", argument, ")"));
      }
      (argument == "--json" ? json_file : options.folder) = arguments[i];
    } else {
      const Bench* found = nullptr;
      for (const Bench& bench : kBenches) {
        if (argument == bench.name) found = &bench;
      }
      if (found == nullptr) return Usage(absl::StrCat("usage: no such benchmark; try --list (name=", argument, ")"));
      chosen.push_back(found);
    }
  }
  if (chosen.empty()) {
    for (const Bench& bench : kBenches) chosen.push_back(&bench);
  }
  // Whoever removes the folder must not go before us.
  if (!options.folder.empty()) prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::ofstream json;
  if (!json_file.empty()) {
    json.open(json_file);
    if (!json) return Usage(absl::StrCat("--json: cannot be written (file=", json_file, ")"));
  }

  int exit_code = 0;
  for (const Bench* bench : chosen) {
    std::printf("%s: %s\n%s", bench->name, bench->summary, TableHeading().c_str());
    std::fflush(stdout);
    const absl::Status status = bench->run(options, [&](const Row& row) {
      std::fputs(ToTableLine(row).c_str(), stdout);
      std::fflush(stdout);
      if (json.is_open()) json << ToJson(row) << std::endl;
      if (row.metric == "unfinished") exit_code = 1;
    });
    if (!status.ok()) {
      std::fprintf(stderr, "tools/bench: %s: %s\n", bench->name, std::string(status.message()).c_str());
      exit_code = 1;
    }
  }
  return exit_code;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) { return copse::bench::Main({argv + 1, argv + argc}); }
