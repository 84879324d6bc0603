// SPDX-License-Identifier: Apache-2.0
//
// copse-run runs a launcher's command with libcopse-mpi.so in front of the MPI of every rank.
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/command_line/parse.h"
#include "client/run/job_contact.h"
#include "client/run/job_planner.h"
#include "client/run/launch.h"
#include "client/run/launcher.h"
#include "client/run/library_file.h"
#include "client/run/node_daemon.h"
#include "client/run/rank_environment.h"

extern char** environ;

namespace copse::run {
namespace {

using Words = std::vector<std::string>;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr size_t kHelpColumn = 26;
constexpr unsigned kPatienceOfOthersSeconds = 2;
constexpr char kDaemonName[] = "copsed";
constexpr char kFooter[] =
    "LAUNCHER is mpiexec or mpirun of MPICH or Open MPI, or srun, with its own arguments.\n"
    "Exit codes: the launcher's; 1 it cannot be run, 2 bad usage. Page: docs/mpi.md";

struct Options {
  bool dry_run = false;
  bool daemons = false;
  std::string stats;  // text, json or empty
  std::string stats_file;
  std::string offload;  // faster, all or empty
  std::string tnbc;     // off, auto, on or empty
  std::optional<uint64_t> calls_before;
  std::string launcher;
  std::string library;
  Words command;
};

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// Removes the launcher's command from copse-run's arguments and returns it: the words after "--", or from the first one
// that is neither an option nor an option's value.
Words CutCommand(Words* arguments) {
  size_t i = 0;
  for (; i < arguments->size(); ++i) {
    const std::string& word = (*arguments)[i];
    if (word == "--" || !absl::StartsWith(word, "-")) break;
    if (word == "--calls-before" || word == "--launcher" || word == "--library" || word == "--offload" ||
        word == "--stats-file" || word == "--tnbc") {
      ++i;
    }
  }
  if (i >= arguments->size()) return {};
  Words command(arguments->begin() + static_cast<std::ptrdiff_t>(i), arguments->end());
  arguments->resize(i);
  if (command[0] == "--") command.erase(command.begin());
  return command;
}

// Returns the text to print if help or the version was asked for; else sets *options. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::optional<std::string>> ParseCommandLine(Words arguments, Options* options) {
  options->command = CutCommand(&arguments);
  CLI::App app("Runs an MPI program, not compiled again, with its collectives on Copse.");
  cli::SetUp(&app, "copse-run", kFooter, kHelpColumn);
  std::string for_help;
  app.add_option("LAUNCHER", for_help, "mpiexec, mpirun or srun, and its arguments")->option_text("[ARGUMENT]...");
  app.add_flag("--dry-run", options->dry_run, "print the command instead of running it");
  app.add_flag("--daemons", options->daemons,
               "start a planner here and a daemon on each node for this job, which end with it");
  app.add_flag("--stats", options->stats,
               "at its end rank 0 prints what was offloaded, what not and why, times, and a verdict; --stats=json: as "
               "one line of JSON")
      ->disable_flag_override(false);
  app.add_option("--stats-file", options->stats_file, "rank 0 writes these as JSON to a file on its node")
      ->option_text("FILE");
  app.add_option("--offload", options->offload,
                 "faster: blocking calls go to the daemons unless MPI is measured to be faster (default); all: all do")
      ->option_text("WHAT");
  app.add_option(
         "--tnbc", options->tnbc,
         "on: blocking calls return early, and page protection keeps the program correct; auto: where it pays; off "
         "(default)")
      ->option_text("MODE");
  std::string calls_before;
  app.add_option(
         "--calls-before", calls_before,
         "collective calls of a communicator before it gets a team (default: by what they take, at least 4 or 64)")
      ->option_text("N");
  app.add_option("--launcher", options->launcher, "hydra, openmpi or srun, where its name does not tell")
      ->option_text("KIND");
  app.add_option("--library", options->library, "the library to preload")->option_text("FILE");
  ASSIGN_OR_RETURN(const std::optional<std::string> answer, cli::Parse(&app, std::move(arguments)));
  if (uint64_t calls = 0; absl::SimpleAtoi(calls_before, &calls)) {
    options->calls_before = calls;
  } else if (!calls_before.empty()) {
    return cli::UsageError(absl::StrCat("--calls-before: not a number of calls (value=", calls_before, ")"));
  }
  if (options->stats == "true") options->stats = "text";  // CLI11's value of a flag without one
  if (!options->stats.empty() && options->stats != "text" && options->stats != "json") {
    return cli::UsageError(absl::StrCat("--stats: neither text nor json (value=", options->stats, ")"));
  }
  if (!options->offload.empty() && !copse_ranks_is_offload(options->offload.c_str())) {
    return cli::UsageError(absl::StrCat("--offload: neither faster nor all (value=", options->offload, ")"));
  }
  if (!options->tnbc.empty() && options->tnbc != "off" && options->tnbc != "auto" && options->tnbc != "on") {
    return cli::UsageError(absl::StrCat("--tnbc: none of off, auto and on (value=", options->tnbc, ")"));
  }
  if (!answer.has_value() && options->command.empty()) return cli::UsageError("no launcher");
  return answer;
}

// Returns the file `given`, or the library at its place beside this program, as installed (bin, lib/copse) or as built.
// Errors: NOT_FOUND, and those of CheckLibrary.
absl::StatusOr<std::string> FindLibrary(const std::string& given) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const Words places = !given.empty() ? Words{given}
                                      : Words{here.parent_path() / "lib/copse" / COPSE_RANKS_LIBRARY,
                                              here.parent_path() / "mpi" / COPSE_RANKS_LIBRARY};
  for (const std::string& place : places) {
    if (!std::filesystem::exists(place, error)) continue;
    const std::string path = std::filesystem::absolute(place);
    RETURN_IF_ERROR(CheckLibrary(path));
    return path;
  }
  return absl::NotFoundError(absl::StrCat("library: no such file (value=", places[0], ")"));
}

// Returns the program's path as a shell would find it; empty if there is none. A name with a slash is a path.
std::string FindInPath(const std::string& name) {
  if (absl::StrContains(name, "/")) return name;
  for (const auto folder : absl::StrSplit(Environment("PATH"), ':')) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string VersionOf(const std::string& path) {
  const std::string command = absl::StrCat(Quoted({path, "--version"}), " 2>&1 </dev/null");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  if (pipe == nullptr) return "";
  char buffer[4096];
  const size_t bytes = std::fread(buffer, 1, sizeof(buffer), pipe.get());
  return std::string(buffer, bytes);
}

absl::StatusOr<Launcher> FindLauncher(const Options& options) {
  if (!options.launcher.empty()) {
    const std::optional<Launcher> named = LauncherNamed(options.launcher);
    if (named.has_value()) return *named;
    return cli::UsageError(
        absl::StrCat("--launcher: no such kind (value=", options.launcher, ", limit=hydra, openmpi or srun)"));
  }
  const std::string path = FindInPath(options.command[0]);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (path.empty() || error) {
    return absl::NotFoundError(absl::StrCat("launcher: no such program (command=", options.command[0], ")"));
  }
  // The given name says more than the file that it links to, which may be a wrapper for several launchers.
  std::optional<Launcher> launcher = LauncherOfFile(std::filesystem::path(path).filename().string());
  if (!launcher.has_value()) launcher = LauncherOfFile(real.filename().string());
  const bool is_named =
      IsNamedAsLauncher(std::filesystem::path(path).filename().string()) || IsNamedAsLauncher(real.filename().string());
  if (!launcher.has_value() && is_named) launcher = LauncherOfVersion(VersionOf(path));
  if (launcher.has_value()) return *launcher;
  return cli::UsageError(absl::StrCat(
      "this is no launcher that is known; --launcher tells its kind, and a program of libcopse needs --daemons "
      "(command=",
      options.command[0], ")"));
}

// Checks COPSE_TIMEOUT as libcopse does, which would refuse such a value in every rank.
absl::Status CheckTimeout(const std::string& text) {
  char* end = nullptr;
  const double seconds = strtod(text.c_str(), &end);
  if (*end == '\0' && !std::isnan(seconds)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("COPSE_TIMEOUT: not a number of seconds (value=", text, ")"));
}

Additions AdditionsOf(const Options& options, const std::string& library) {
  Additions additions = {
      .library = library, .preload = Environment(COPSE_RANKS_PRELOAD), .slurm_export = Environment("SLURM_EXPORT_ENV")};
  // Not every launcher passes these variables on.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (absl::StartsWith(text, kSecretVariable)) {
      additions.inherited.push_back(kSecretVariable);
    } else if (absl::StartsWith(text, "COPSE_") && equals != std::string::npos) {
      additions.variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  if (!options.stats.empty()) additions.variables["COPSE_MPI_STATS"] = options.stats == "json" ? "json" : "1";
  // Ranks may have another working folder.
  if (!options.stats_file.empty()) {
    additions.variables["COPSE_MPI_STATS_FILE"] = std::filesystem::absolute(options.stats_file).string();
  }
  if (!options.offload.empty()) additions.variables[COPSE_RANKS_OFFLOAD] = options.offload;
  if (!options.tnbc.empty()) additions.variables["COPSE_TNBC"] = options.tnbc;
  if (options.calls_before.has_value()) {
    additions.variables["COPSE_MPI_CALLS_BEFORE"] = absl::StrCat(*options.calls_before);
  }
  return additions;
}

absl::Status Become(Words command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return absl::NotFoundError(absl::StrCat("launcher: ", std::strerror(errno), " (command=", command[0], ")"));
}

// Returns the path of a program that is installed beside this one, or built.
std::string FindProgram(const std::string& name, const std::string& built_in) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path built = here.parent_path().parent_path() / built_in / name;
  return std::filesystem::exists(built, error) ? built : here / name;
}

// Starts the job's planner. What its nodes need to start their daemons is in this process's environment then, for the
// launcher to pass on: arguments are for everybody to read.
absl::Status StartPlanner() {
  JobPlannerOptions options = {.planner = FindProgram("copse-planner", "planner/server"),
                               .parent = Environment("COPSE_RUN_DIR")};
  if (options.parent.empty()) options.parent = "/tmp";
  options.parent = std::filesystem::absolute(options.parent).lexically_normal().string();  // ranks may be elsewhere
  const std::string daemon = FindProgram(kDaemonName, "daemon");
  if (access(daemon.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("no such program (path=", daemon, ")"));
  }
  ASSIGN_OR_RETURN(const JobPlanner planner, StartJobPlanner(options));
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  setenv(kStarterVariable, self.c_str(), 1);
  setenv(kContactVariable, ContactText(planner.contact).c_str(), 1);
  setenv(kSecretVariable, planner.secret.c_str(), 1);
  // Nodes may share the file system.
  setenv("COPSE_SOCKET", absl::StrCat(planner.folder, "-%h/copsed.sock").c_str(), 1);
  return absl::OkStatus();
}

// What the library runs on a node without a daemon: says nothing, or why there is none.
absl::Status RunNodeDaemon(const std::string& socket) {
  NodeDaemonOptions options = {
      .daemon = FindProgram(kDaemonName, "daemon"), .socket = socket, .secret = Environment(kSecretVariable)};
  ASSIGN_OR_RETURN(options.contact, ParseContact(Environment(kContactVariable)));
  return StartNodeDaemon(options);
}

// Each rank of a launcher would get a planner that the others do not know.
absl::Status CheckOrder(const Words& command) {
  const std::optional<LaunchedRank> rank = LaunchedAs();
  if (!rank.has_value()) return absl::OkStatus();
  if (!rank->first) {
    // One rank says so. Launchers may kill all when the first one ends, which should be that one.
    sleep(kPatienceOfOthersSeconds);
    _exit(kBadUsage);
  }
  return absl::InvalidArgumentError(absl::StrCat("--daemons stands before the launcher; write: copse-run --daemons ",
                                                 rank->command, " ", Quoted(command)));
}

// Becomes the command as it was given. A job that asks for daemons of its own runs without them rather than not at all.
absl::Status BecomeAlone(const Options& options, const absl::Status& why) {
  std::fprintf(stderr, "copse-run: the job runs on its MPI alone: %s\n", std::string(why.message()).c_str());
  return Become(options.command);
}

// Becomes the command, which is no launcher: a program that uses libcopse, with daemons of its own.
absl::Status RunWithDaemons(const Options& options) {
  RETURN_IF_ERROR(CheckOrder(options.command));
  const absl::Status started = StartPlanner();
  return started.ok() ? Become(options.command) : BecomeAlone(options, started);
}

// Returns the launcher's command with what the ranks need. Starts the job's planner if the job has daemons of its own.
absl::StatusOr<Words> Prepare(Launcher launcher, const Options& options) {
  ASSIGN_OR_RETURN(const std::string library, FindLibrary(options.library));
  if (options.daemons && !options.dry_run) RETURN_IF_ERROR(StartPlanner());
  return AddToCommand(launcher, options.command, AdditionsOf(options, library));
}

// Becomes the launcher. Returns only an error, or OK after printing what was asked for.
absl::Status Run(const Words& arguments) {
  Options options;
  ASSIGN_OR_RETURN(const std::optional<std::string> answer, ParseCommandLine(arguments, &options));
  if (answer.has_value()) {
    std::fputs(answer->c_str(), stdout);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckTimeout(Environment("COPSE_TIMEOUT")));
  const absl::StatusOr<Launcher> launcher = FindLauncher(options);
  if (options.daemons && options.launcher.empty() && absl::IsInvalidArgument(launcher.status())) {
    return RunWithDaemons(options);
  }
  RETURN_IF_ERROR(launcher.status());
  absl::StatusOr<Words> command = Prepare(*launcher, options);
  // What was named has to be there.
  const bool may_run_alone = options.daemons && !options.dry_run && options.library.empty();
  if (!command.ok()) return may_run_alone ? BecomeAlone(options, command.status()) : command.status();
  if (options.dry_run) {
    std::printf("%s\n", Quoted(*command).c_str());
    return absl::OkStatus();
  }
  return Become(*std::move(command));
}

}  // namespace
}  // namespace copse::run

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool on_node = arguments.size() == 2 && arguments[0] == copse::run::kNodeDaemonFlag;
  const absl::Status status = on_node ? copse::run::RunNodeDaemon(arguments[1]) : copse::run::Run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s%s\n", on_node ? "" : "copse-run: ", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? copse::run::kBadUsage : copse::run::kFailed;
}
