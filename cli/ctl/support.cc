// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/support.h"

#include <errno.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/files.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/ctl/blank_secrets.h"
#include "cli/ctl/tar.h"
#include "cli/info/report.h"

namespace copse::ctl {
namespace {

constexpr char kFolder[] = "copse-support/";
constexpr size_t kConfigBytesMax = 1 << 20;

// A Part is an answer of a verb. None of these shows a token or a key: `page` would.
struct Part {
  const char* name;
  const char* verb;
  const char* option = nullptr;  // a switch
};
constexpr Part kParts[] = {{"version", "version"},
                           {"planner-status", "planner status"},
                           {"nodes", "node list"},
                           {"teams", "team list"},
                           {"teams-ended", "team list", "ended"},
                           {"jobs", "job list"},
                           {"quota", "quota"},
                           {"plans", "plan list"},
                           {"calls", "coll list"},
                           {"stats", "stats", "raw"},
                           {"stats-planner", "stats", "planner"},
                           {"events", "events"},
                           {"audit", "audit"},
                           {"topology", "topo show"},
                           {"topologies", "topo list"},
                           {"doctor", "doctor"}};

// A Bundle is an archive in the making.
class Bundle {
 public:
  void Add(const std::string& name, const std::string& text) {
    archive_.Add(absl::StrCat(kFolder, name), text, absl::Now());
    ++files_;
  }
  // Adds why a part is missing, or may be.
  void AddError(const std::string& part, const std::string& why) {
    Add(absl::StrCat(part, ".error"), absl::StrCat(why, "\n"));
    failed_.emplace_back(part, why);
  }
  std::string Finish() { return std::move(archive_).Finish(); }

  size_t files() const { return files_; }
  const std::vector<std::pair<std::string, std::string>>& failed() const { return failed_; }

 private:
  TarWriter archive_;
  size_t files_ = 0;
  std::vector<std::pair<std::string, std::string>> failed_;  // parts, with why
};

void AddAnswer(const Part& part, const std::vector<Verb>& verbs, AdminClient* client, Bundle* bundle) {
  const auto verb =
      std::find_if(verbs.begin(), verbs.end(), [&part](const Verb& known) { return known.FullName() == part.verb; });
  CHECK(verb != verbs.end());
  Arguments arguments;
  if (part.option != nullptr) arguments.values[part.option] = {"true"};
  VerbContext context{.client = client, .style = {.format = Format::kJson, .width = 0}};
  client->Renew();
  const absl::Status status = verb->run(arguments, context);
  if (!context.out.empty()) bundle->Add(absl::StrCat(part.name, ".json"), context.out);
  std::vector<std::string> lines = std::move(context.notes);
  if (!status.ok()) lines.emplace_back(status.message());
  if (!lines.empty()) bundle->AddError(part.name, cli::Printable(absl::StrJoin(lines, "\n"), /*lines=*/true));
}

void AddConfiguration(const std::string& path, size_t number, Bundle* bundle) {
  const std::string name = absl::StrCat("config-", number);
  const std::optional<std::string> text = ReadFile(path, kConfigBytesMax);
  if (!text.has_value())
    return bundle->AddError(name, absl::StrCat("cannot read the file: ", strerror(errno), " (file=", path, ")"));
  if (text->size() > kConfigBytesMax) {
    return bundle->AddError(
        name, absl::StrCat("the file is too large (file=", path, ", limit=", FormatBytes(kConfigBytesMax), ")"));
  }
  bundle->Add(name, absl::StrCat("# ", path, "\n", BlankSecrets(*text)));
}

absl::Status Support(const Arguments& arguments, const std::vector<Verb>& verbs, VerbContext& context) {
  const std::string path = arguments.Text("file");
  Bundle bundle;
  for (const Part& part : kParts) {
    context.Note(absl::StrCat("asking for ", part.name));
    AddAnswer(part, verbs, context.client, &bundle);
  }
  bundle.Add("this-machine.json", info::MakeReport().json);
  const auto files = arguments.values.find("config");
  for (size_t i = 0; files != arguments.values.end() && i < files->second.size(); ++i) {
    AddConfiguration(files->second[i], i + 1, &bundle);
  }
  const std::string archive = bundle.Finish();
  // It names users and jobs, so it is for this user alone.
  if (!ReplaceFile(path, archive, 0600)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write the file (file=", path, ")"));
  }
  Json failed = Json::array();
  std::string text =
      absl::StrCat(path, ": ", bundle.files(), " files, ", FormatBytes(static_cast<int64_t>(archive.size())),
                   ". It names users, jobs, nodes and addresses: look at it before you send it\n");
  for (const auto& [part, why] : bundle.failed()) {
    failed.push_back({{"name", part}, {"why", why}});
    absl::StrAppend(&text, "  ", part, ": ", absl::StrReplaceAll(why, {{"\n", "; "}}), "\n");
  }
  return context.Answer(
      {{"ok", true}, {"file", path}, {"bytes", archive.size()}, {"files", bundle.files()}, {"failed", failed}}, text);
}

}  // namespace

Verb SupportVerb(const std::vector<Verb>& (*verbs)()) {
  return {.name = "support",
          .help = "collect what a report of a bug needs, without secrets, in a tar archive",
          .positionals = {{.name = "file", .help = "where to write the archive"}},
          .options = {{.name = "config",
                       .value_name = "FILE",
                       .help = "with this configuration file, without its keys, tokens and passwords",
                       .repeated = true}},
          .timeout_s = 10,
          .run = [verbs](const Arguments& arguments, VerbContext& context) {
            return Support(arguments, verbs(), context);
          }};
}

}  // namespace copse::ctl
