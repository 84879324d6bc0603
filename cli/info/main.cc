// SPDX-License-Identifier: Apache-2.0
//
// copse-info prints what this Copse is, and what of this system would keep it from working.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "cli/command_line/parse.h"
#include "cli/info/report.h"

namespace copse::info {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int Main(int argc, char** argv) {
  CLI::App app("Prints what this Copse is, and what of this system would keep it from working.");
  std::string format = "table";
  cli::SetUp(&app, "copse-info", "Exit codes: 0 all is well, 1 something is not, 2 bad usage.", 24);
  cli::AddFormatOption(&app, &format, "how to write");
  const auto answer = cli::Parse(&app, std::vector<std::string>(argv + 1, argv + argc));
  if (!answer.ok()) {
    std::fprintf(stderr, "copse-info: %s\n", std::string(answer.status().message()).c_str());
    return kExitUsage;
  }
  if (answer->has_value()) {
    std::fputs((*answer)->c_str(), stdout);
    return 0;
  }
  const Report report = MakeReport();
  std::fputs((format == "json" ? report.json : report.text).c_str(), stdout);
  return report.all_ok ? 0 : kExitFailed;
}

}  // namespace
}  // namespace copse::info

int main(int argc, char** argv) { return copse::info::Main(argc, argv); }
