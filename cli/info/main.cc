// SPDX-License-Identifier: Apache-2.0
//
// copse-info prints what this Copse is, and what of this system would keep it from working.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "cli/command_line/parse.h"
#include "cli/command_line/table.h"
#include "cli/info/checks.h"
#include "nlohmann/json.hpp"

namespace copse::info {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// Returns the folder above that of this program, as /usr/local.
std::string Prefix() {
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0) return "";
  std::string prefix = path;
  for (int i = 0; i < 2; ++i) prefix.resize(prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/'));
  return prefix;
}

using Texts = std::vector<std::pair<std::string, std::string>>;

Texts Versions() {
  return {{"version", kVersion},
          {"ring layout", absl::StrCat(kRingLayoutVersion)},
          {"packets", absl::StrCat(kPacketVersion)},
          {"proto", absl::StrCat(kProtoVersion)},
          {"plan format", absl::StrCat(kPlanFormatVersion)},
          {"compiler", __VERSION__},
#ifdef NDEBUG
          {"build", "optimized"}
#else
          {"build", "with checks (DCHECK)"}
#endif
  };
}

// Returns the library's path: tools/install puts it into lib, Debian's package into lib's folder of this architecture.
std::string LibraryPath(const std::string& prefix) {
  const std::string debians = absl::StrCat(prefix, "/lib/x86_64-linux-gnu/libcopse.so.0");
  return access(debians.c_str(), F_OK) == 0 ? debians : absl::StrCat(prefix, "/lib/libcopse.so.0");
}

// Returns what belongs to an installation, with where it is, or "not there".
Texts Places() {
  const std::string prefix = Prefix();
  const Texts places = {{"daemon", absl::StrCat(prefix, "/bin/copsed")},
                        {"planner", absl::StrCat(prefix, "/bin/copse-planner")},
                        {"library", LibraryPath(prefix)},
                        {"MPI", absl::StrCat(prefix, "/lib/copse/libcopse-mpi.so")},
                        {"daemon's configuration", "/etc/copse/copsed.yaml"},
                        {"planner's configuration", "/etc/copse/planner.yaml"}};
  Texts found;
  for (const auto& [what, path] : places) {
    found.emplace_back(what, access(path.c_str(), F_OK) == 0 ? path : absl::StrCat("not there (", path, ")"));
  }
  return found;
}

Json ObjectOf(const Texts& texts) {
  Json object = Json::object();
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

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
  std::vector<Check> checks = CheckSystem();
  checks.push_back(CheckDaemonSocket());
  bool all_ok = true;
  Json rows = Json::array();
  cli::TableRows table = {{"CHECK", "SEEN", "WANTED", "OK"}};
  std::string advice;
  for (const Check& check : checks) {
    all_ok = all_ok && check.ok;
    rows.push_back({{"check", check.check},
                    {"seen", check.seen},
                    {"wanted", check.wanted},
                    {"ok", check.ok},
                    {"advice", check.advice}});
    table.push_back({check.check, check.seen, check.wanted, check.ok ? "yes" : "NO"});
    if (!check.ok) absl::StrAppend(&advice, check.check, ": ", check.advice, "\n");
  }
  if (format == "json") {
    const Json json = {{"versions", ObjectOf(Versions())}, {"places", ObjectOf(Places())}, {"checks", rows}};
    std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s\n%s\n%s%s%s", cli::RenderDetails(Versions()).c_str(), cli::RenderDetails(Places()).c_str(),
                cli::RenderTable(std::move(table)).c_str(), advice.empty() ? "" : "\n", advice.c_str());
  }
  return all_ok ? 0 : kExitFailed;
}

}  // namespace
}  // namespace copse::info

int main(int argc, char** argv) { return copse::info::Main(argc, argv); }
