// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command_line/table.h"
#include "cli/ctl/contexts.h"
#include "cli/ctl/verbs/verbs.h"

namespace copse::ctl {
namespace {

absl::Status List(const Arguments&, VerbContext& context) {
  const ContextFolders folders = ContextFolders::OfThisUser();
  const std::string current = folders.Current();
  Json json = Json::array();
  cli::TableRows rows = {{"IN USE", "NAME", "ENDPOINT", "FILE"}};
  for (const auto& [name, file] : folders.Files()) {
    const absl::StatusOr<Context> read = folders.Read(name);
    if (!read.ok()) context.notes.push_back(std::string(read.status().message()));
    const std::string endpoint = read.ok() ? read->endpoint : "";
    json.push_back({{"name", name}, {"in_use", name == current}, {"endpoint", endpoint}, {"file", file}});
    rows.push_back({name == current ? "*" : "", name, endpoint.empty() ? "-" : endpoint, file});
  }
  return context.Answer(json, cli::RenderTable(std::move(rows), context.style.width));
}

absl::Status Use(const Arguments& arguments, VerbContext& context) {
  const std::string name = arguments.Text("name");
  RETURN_IF_ERROR(ContextFolders::OfThisUser().Use(name));
  return context.Answer({{"name", name}, {"in_use", true}}, absl::StrCat("in use: ", name, "\n"));
}

}  // namespace

std::vector<Verb> ContextVerbs() {
  return {
      {.family = kContextFamily, .name = "list", .help = "clusters that files name, and which is in use", .run = List},
      {.family = kContextFamily,
       .name = "use",
       .help = "make this cluster the one that copsectl asks",
       .positionals = {{.name = "name", .help = "a context's"}},
       .run = Use}};
}

}  // namespace copse::ctl
