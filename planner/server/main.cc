// SPDX-License-Identifier: Apache-2.0
//
// Runs copse-planner, which forms teams, makes their plans, and serves administrators.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "base/process/core_dump.h"
#include "base/process/journal.h"
#include "base/process/open_files.h"
#include "planner/server/planner_process.h"
#include "planner/server/settings.h"
#include "planner/server/stopped_planner.h"
#include "rpc/identity.h"
#include "rpc/prepare_grpc.h"

namespace copse::planner {
namespace {

constexpr char kPortFile[] = "port-file";
constexpr char kRestore[] = "restore", kReplace[] = "replace-state", kCheck[] = "check-state";

// Handles --restore and --check-state, which end the program. Returns its exit code, or nothing without these flags.
std::optional<int> HandleStore(config::Started& started, const Settings& settings, const config::Config& config) {
  const bool restores = started.flags.count(kRestore) != 0, replaces = started.flags.count(kReplace) != 0;
  if (replaces && !restores) {
    return config::Fail(config, absl::InvalidArgumentError("usage: --replace-state needs --restore FILE"));
  }
  if (restores) {
    const absl::StatusOr<std::string> restored = RestoreStore(settings, started.flags[kRestore], replaces);
    if (!restored.ok()) return config::Fail(config, restored.status());
    std::printf("%s\n", restored->c_str());
    return config::kExitDone;
  }
  if (started.flags.count(kCheck) == 0) return std::nullopt;
  const absl::StatusOr<std::vector<std::string>> damaged = CheckStore(settings);
  if (!damaged.ok()) return config::Fail(config, damaged.status());
  for (const std::string& line : *damaged) std::printf("%s\n", line.c_str());
  return damaged->empty() ? config::kExitDone : config::kExitFailed;
}

int Main(int argc, char** argv) {
  BlockSignals();
  RaiseOpenFiles();
  rpc::PrepareGrpc();
  config::Config config = NewConfig();
  config::ProgramDescription description;
  description.summary =
      "Plans the collectives of a cluster: daemons register here, teams are formed here, copsectl asks here.\n"
      "Signals: SIGTERM and SIGINT end it, running teams go on; SIGHUP reloads topology, rules, log level and "
      "time-outs.";
  description.default_file = "/etc/copse/planner.yaml";
  description.flags = {
      {.name = kPortFile, .value_name = "FILE", .help = "write HOST:PORT there once the planner listens"},
      {.name = kRestore, .value_name = "FILE", .help = "restore the store from `copsectl state save FILE`, and end"},
      {.name = kReplace, .help = "with --restore: also if the store is not empty"},
      {.name = kCheck, .help = "print what is damaged in the store, and end with 1 if anything is"}};
  absl::StatusOr<Settings> settings = absl::UnknownError("not read");
  description.read = [&settings](const config::Config& loaded) {
    settings = ReadSettings(loaded);
    if (!settings.ok()) return settings.status();
    const absl::Status places = CheckPlaces(*settings);
    if (!places.ok() || !settings->tls.given()) return places;
    return rpc::Identity::CheckFiles(settings->tls, {"planner"}).status();
  };
  config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;
  const absl::Status kept = settings->core_memory ? absl::OkStatus() : KeepMemoryOutOfCores();
  LogToJournal();
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok())
    return config::Fail(config, opened);
  if (!kept.ok()) COPSE_LOG(kWarning, kept.message());
  if (const std::optional<int> code = HandleStore(started, *settings, config); code.has_value()) return *code;
  absl::StatusOr<std::unique_ptr<PlannerProcess>> process =
      PlannerProcess::Start({*std::move(settings), config, started.sources, started.flags[kPortFile]});
  if (!process.ok()) return config::Fail(config, process.status());
  if (const absl::Status ended = (*process)->Run(); !ended.ok()) return config::Fail(config, ended);
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) { return copse::planner::Main(argc, argv); }
