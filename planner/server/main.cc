// SPDX-License-Identifier: Apache-2.0
//
// copse-planner: knows the cluster, makes plans, serves administrators.
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "planner/server/planner_process.h"
#include "planner/server/settings.h"

namespace copse::planner {
namespace {

constexpr char kPortFile[] = "port-file";

int Fail(const absl::Status& status) {
  const std::string message(status.message());
  fprintf(stderr, "copse-planner: %s\n", message.c_str());
  const bool usage = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
  return usage ? config::kExitUsage : config::kExitFailed;
}

// --check-config ends in config::Start, which knows the keys but not what they mean together.
bool Asks(int argc, char** argv, const std::string& flag) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == flag) return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  BlockSignals();
  config::Config config = NewConfig();
  config::ProgramDescription description;
  description.summary =
      "Plans the collectives of a cluster: daemons register here, teams are formed here, copsectl asks here.\n"
      "Signals: SIGTERM and SIGINT end it, running teams go on; SIGHUP reloads topology, rules, log level and "
      "time-outs.";
  description.default_file = "/etc/copse/planner.yaml";
  description.flags = {
      {.name = kPortFile, .value_name = "FILE", .help = "write HOST:PORT there once the planner listens"}};
  config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) {
    const bool check = *started.exit_code == config::kExitDone && Asks(argc, argv, "--check-config") &&
                       !Asks(argc, argv, "--help") && !Asks(argc, argv, "--version");
    if (!check) return *started.exit_code;
    const absl::StatusOr<Settings> settings = ReadSettings(config);
    return settings.ok() ? config::kExitDone : Fail(settings.status());
  }
  absl::StatusOr<Settings> settings = ReadSettings(config);
  if (!settings.ok()) return Fail(settings.status());
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok()) return Fail(opened);
  absl::StatusOr<std::unique_ptr<PlannerProcess>> process =
      PlannerProcess::Start({*std::move(settings), std::move(config), started.sources, started.flags[kPortFile]});
  if (!process.ok()) return Fail(process.status());
  (*process)->Run();
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) { return copse::planner::Main(argc, argv); }
