// SPDX-License-Identifier: Apache-2.0
//
// Runs copse-planner, which forms teams, makes their plans, and serves administrators.
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "planner/server/planner_process.h"
#include "planner/server/settings.h"
#include "rpc/grpc_locks.h"

namespace copse::planner {
namespace {

constexpr char kPortFile[] = "port-file";

int Main(int argc, char** argv) {
  BlockSignals();
  rpc::DoNotCheckGrpcLocks();
  config::Config config = NewConfig();
  config::ProgramDescription description;
  description.summary =
      "Plans the collectives of a cluster: daemons register here, teams are formed here, copsectl asks here.\n"
      "Signals: SIGTERM and SIGINT end it, running teams go on; SIGHUP reloads topology, rules, log level and "
      "time-outs.";
  description.default_file = "/etc/copse/planner.yaml";
  description.flags = {
      {.name = kPortFile, .value_name = "FILE", .help = "write HOST:PORT there once the planner listens"}};
  absl::StatusOr<Settings> settings = absl::UnknownError("not read");
  description.read = [&settings](const config::Config& loaded) {
    settings = ReadSettings(loaded);
    return settings.ok() ? CheckPlaces(*settings) : settings.status();
  };
  config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok())
    return config::Fail(config, opened);
  absl::StatusOr<std::unique_ptr<PlannerProcess>> process =
      PlannerProcess::Start({*std::move(settings), config, started.sources, started.flags[kPortFile]});
  if (!process.ok()) return config::Fail(config, process.status());
  if (const absl::Status ended = (*process)->Run(); !ended.ok()) return config::Fail(config, ended);
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) { return copse::planner::Main(argc, argv); }
