// SPDX-License-Identifier: Apache-2.0
//
// The inner part of tools/campaign.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "integration_tests/campaign/campaign.h"
#include "integration_tests/campaign/clusters.h"

namespace copse::campaign {
namespace {

int BadUsage(const std::string& what) {
  std::fprintf(stderr, "tools/campaign: %s; try --help\n", what.c_str());
  return 2;
}

// Parses "2/4", the second shard of four.
bool ParseShard(const std::string& text, CampaignOptions* options) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  uint64_t number = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &number) || !absl::SimpleAtoi(parts[1], &options->shards)) {
    return false;
  }
  options->shard = number - 1;
  return number >= 1 && number <= options->shards;
}

int Main(int argc, char** argv) {
  CampaignOptions options;
  uint64_t simulated = 0, real = 0, real_tcp = 0;
  double seconds = 0;
  std::string shard = "1/1", ledger_file;
  bool json = false, verbose = false;
  CLI::App app("Random programs under faults, on simulated clusters and on real processes.");
  app.name("tools/campaign");
  app.add_option("--simulated", simulated, "cases on simulated clusters")->option_text("N");
  app.add_option("--real", real, "cases on real processes; cuts need root")->option_text("N");
  app.add_option("--real-tcp", real_tcp, "the same over Copse's own TCP")->option_text("N");
  app.add_option("--seconds", seconds, "at most, for each of these")->option_text("S");
  app.add_option("--seed", options.first_seed, "of the first case, default 0")->option_text("K");
  app.add_option("--shard", shard, "every N-th case from the I-th on")->option_text("I/N");
  app.add_option("--ledger", ledger_file, "what has been done, to go on with")->option_text("FILE");
  app.add_option("--commit", options.commit, "for the ledger")->option_text("NAME");
  app.add_flag("--json", json, "counts as JSON");
  app.add_flag("--verbose", verbose, "logs of simulated planner and daemons");
  app.footer("Exit codes: 0 nothing failed, 1 something did, 2 bad usage.\nPage: docs/reference/campaign.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return BadUsage(error.what());
  }
  if (!ParseShard(shard, &options)) return BadUsage(absl::StrCat("--shard: not one of several (value=", shard, ")"));
  if (simulated + real + real_tcp == 0) return BadUsage("usage: --simulated N, --real N or --real-tcp N");
  if (seconds > 0) options.time_max = absl::Seconds(seconds);
  SetLogLevel(verbose ? LogLevel::kInfo : static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));

  const Ledger ledger(ledger_file);
  Tally tally;
  struct Kind {
    const char* clusters;
    uint64_t cases;
    Scale scale;
    MakeCluster make;
  };
  for (const Kind& kind : {Kind{"simulated", simulated, SimulatedScale(), MakeSimulatedCluster},
                           Kind{"real", real, RealScale(), MakeRealCluster},
                           Kind{"real-tcp", real_tcp, RealScale(), MakeRealTcpCluster}}) {
    options.clusters = kind.clusters;
    options.cases = kind.cases;
    if (options.cases == 0) continue;
    const absl::Status status = RunCampaign(options, kind.scale, kind.make, ledger, &tally);
    if (!status.ok()) {
      std::fprintf(stderr, "tools/campaign: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  if (json || tally.cases > 1) std::printf("%s\n", (json ? FormatJson(tally) : FormatCoverage(tally)).c_str());
  const bool too_few = !EnoughEndedWell(tally);
  if (too_few)
    std::printf("too few programs ended well (programs=%llu, well=%llu)\n",
                static_cast<unsigned long long>(tally.programs), static_cast<unsigned long long>(tally.ended_well));
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(tally.cases - tally.failed),
              static_cast<unsigned long long>(tally.failed));
  return tally.failed > 0 || too_few ? 1 : 0;
}

}  // namespace
}  // namespace copse::campaign

int main(int argc, char** argv) { return copse::campaign::Main(argc, argv); }
