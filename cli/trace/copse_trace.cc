// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/copse_trace.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "cli/command_line/parse.h"
#include "cli/trace/report.h"
#include "cli/trace/traces.h"
#include "client/tnbc/trace/order_profile.h"

namespace copse::trace {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr size_t kHelpColumn = 26;
constexpr char kFooter[] =
    "DIR is what COPSE_TNBC_TRACE named. Without options it prints tables.\n"
    "Exit codes: 0 done, 1 failed, or ranks do not agree, 2 bad usage. Page: docs/reference/copse-trace.md";

struct Options {
  std::string folder, plot, profile, write_out = "table";
  bool check = false;

  // The output of prints() includes the lines of NotLearned already.
  bool tells_of_profile() const { return !profile.empty() && !prints(); }
  bool prints() const { return write_out == "json" || (plot.empty() && profile.empty() && !check); }
};

absl::StatusOr<std::optional<std::string>> ParseCommandLine(const std::vector<std::string>& arguments,
                                                            Options* options) {
  CLI::App app("Which parts of results a program touches first, by traces of its calls that return early.");
  cli::SetUp(&app, "copse-trace", kFooter, kHelpColumn);
  app.add_option("DIR", options->folder, "the folder with the traces of all ranks")->option_text(" ");
  app.add_flag("--check", options->check, "whether ranks agree on what they called, and on orders; else exit code 1");
  app.add_option("--plot", options->plot, "draw when parts were there, and when they were touched")
      ->option_text("FILE.svg");
  app.add_option("--profile", options->profile, "write the orders, for COPSE_TNBC_PROFILE")->option_text("FILE");
  cli::AddFormatOption(&app, &options->write_out, "how to write what there is; default table");
  ASSIGN_OR_RETURN(std::optional<std::string> answer, cli::Parse(&app, arguments));
  if (!answer.has_value() && options->folder.empty()) return cli::UsageError("no folder");
  return answer;
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  if (copse::WriteFile(path, text)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
}

absl::Status Run(const Options& options, std::ostream& out) {
  ASSIGN_OR_RETURN(const Traces traces, ReadTraces(options.folder));
  if (!options.plot.empty()) RETURN_IF_ERROR(WriteFile(options.plot, PictureOf(traces)));
  if (!options.profile.empty()) {
    ASSIGN_OR_RETURN(const tnbc::OrderProfile profile, ProfileOf(traces));
    RETURN_IF_ERROR(WriteFile(options.profile, tnbc::FormatProfile(profile)));
  }
  if (options.tells_of_profile()) {
    for (const std::string& line : NotLearned(traces)) out << line << "\n";
  }
  if (options.prints()) out << (options.write_out == "json" ? JsonOf(traces) : TextOf(traces));
  if (!options.check) return absl::OkStatus();
  const std::vector<std::string> lines = Disagreements(traces);
  if (options.write_out != "json") {
    for (const std::string& line : lines) out << line << "\n";
    if (lines.empty()) out << traces.ranks << " ranks agree\n";
  }
  return lines.empty() ? absl::OkStatus() : absl::AbortedError("ranks do not agree");
}

}  // namespace

int RunTrace(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  Options options;
  const auto answer = ParseCommandLine(arguments, &options);
  if (!answer.ok()) {
    err << "copse-trace: " << answer.status().message() << "\n";
    return kBadUsage;
  }
  if (answer->has_value()) {
    out << **answer;
    return 0;
  }
  const absl::Status status = Run(options, out);
  if (status.ok()) return 0;
  err << "copse-trace: " << status.message() << "\n";
  return kFailed;
}

}  // namespace copse::trace
