// SPDX-License-Identifier: Apache-2.0
#include "cli/info/report.h"

#include <unistd.h>

#include <climits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "cli/command_line/table.h"
#include "cli/info/checks.h"
#include "nlohmann/json.hpp"

namespace copse::info {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

Report MakeReport() {
  std::vector<Check> checks = CheckSystem();
  checks.push_back(CheckDaemonSocket());
  Report report;
  Json rows = Json::array();
  cli::TableRows table = {{"CHECK", "SEEN", "WANTED", "OK"}};
  std::string advice;
  for (const Check& check : checks) {
    report.all_ok = report.all_ok && check.ok;
    rows.push_back({{"check", check.check},
                    {"seen", check.seen},
                    {"wanted", check.wanted},
                    {"ok", check.ok},
                    {"advice", check.advice}});
    table.push_back({check.check, check.seen, check.wanted, check.ok ? "yes" : "NO"});
    if (!check.ok) absl::StrAppend(&advice, check.check, ": ", check.advice, "\n");
  }
  const Texts versions = Versions(), places = Places();
  const Json json = {{"versions", ObjectOf(versions)}, {"places", ObjectOf(places)}, {"checks", rows}};
  report.json = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  report.text = absl::StrCat(cli::RenderDetails(versions), "\n", cli::RenderDetails(places), "\n",
                             cli::RenderTable(std::move(table)), advice.empty() ? "" : "\n", advice);
  return report;
}

}  // namespace copse::info
