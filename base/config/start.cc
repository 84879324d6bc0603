// SPDX-License-Identifier: Apache-2.0
#include "base/config/start.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/process/journal_stream.h"
#include "base/version.h"

namespace copse::config {
namespace {

// Writes a line to standard error. Beside the log's records, the journal keeps it by `priority`, SD_ERR or SD_WARNING.
void Say(const char* priority, const Config& config, const std::string& text) {
  std::fprintf(stderr, "%s%s: %s\n", StderrIsJournal() ? priority : "", config.program().c_str(), text.c_str());
}

std::string HelpText(const ProgramDescription& description, const Config& config) {
  std::string out = absl::StrCat("usage: ", config.program(),
                                 " [--config FILE] [--set KEY=VALUE]... [--check-config | --print-config]\n\n",
                                 description.summary, "\n\n");
  const auto add = [&](const std::string& flag, const std::string& help) {
    absl::StrAppend(&out, "  ", flag, std::string(flag.size() < 20 ? 20 - flag.size() : 1, ' '), " ", help, "\n");
  };
  add("--config FILE",
      absl::StrCat("configuration, YAML (default ", description.default_file, ", which may be absent)"));
  add("--set KEY=VALUE", "set one key; wins over environment and file");
  add("--check-config", "check the configuration and end");
  add("--print-config", "print all keys with comments, defaults and present values");
  for (const Flag& flag : description.flags)
    add(absl::StrCat("--", flag.name, flag.value_name.empty() ? "" : " ", flag.value_name), flag.help);
  add("--help", "print this");
  add("--version", "print the version");
  absl::StrAppend(&out, "\nEach key has an environment twin: ", config.EnvironmentName("key"),
                  ".\nExit codes: 0 done, 1 failed, 2 usage or configuration, 3 cannot reach a server, 4 timed out.\n");
  return out;
}

// Returns the value if argv[*i] is the flag `name` ("--config"): the text after "=", or else the next argument, to
// which `*i` then moves. Returns nothing for another flag. Sets `*error` if the value is missing.
std::optional<std::string> TakeValue(const std::string& name, int argc, char** argv, int* i, std::string* error) {
  const std::string argument = argv[*i];
  if (absl::StartsWith(argument, name + "=")) return argument.substr(name.size() + 1);
  if (argument != name) return std::nullopt;
  if (*i + 1 >= argc) {
    *error = absl::StrCat("usage: value missing (flag=", name, ")");
    return "";
  }
  return argv[++*i];
}

}  // namespace

Started Start(int argc, char** argv, const ProgramDescription& description, Config* config) {
  Started started;
  started.sources.file = description.default_file;
  bool check = false, print = false;
  const auto fail = [&](const std::string& text) {
    Say(SD_ERR, *config, text);
    started.exit_code = kExitUsage;
    return started;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string error;
    if (argument == "--help" || argument == "-h") {
      std::fputs(HelpText(description, *config).c_str(), stdout);
      started.exit_code = kExitDone;
      return started;
    }
    if (argument == "--version") {
      std::printf("%s %s\n", config->program().c_str(), kVersion);
      started.exit_code = kExitDone;
      return started;
    }
    if (argument == "--check-config") {
      check = true;
    } else if (argument == "--print-config") {
      print = true;
    } else if (auto file = TakeValue("--config", argc, argv, &i, &error); file.has_value()) {
      started.sources.file = *file;
      started.sources.file_required = true;
    } else if (auto setting = TakeValue("--set", argc, argv, &i, &error); setting.has_value()) {
      started.sources.settings.push_back(*setting);
    } else {
      bool known = false;
      for (const Flag& flag : description.flags) {
        if (flag.value_name.empty() && argument == "--" + flag.name) {
          started.flags[flag.name] = "";
          known = true;
          break;
        }
        if (flag.value_name.empty()) continue;
        auto value = TakeValue("--" + flag.name, argc, argv, &i, &error);
        if (!value.has_value()) continue;
        if (flag.sets_key) {
          started.sources.settings.push_back(absl::StrCat(flag.name, "=", *value));
        } else {
          started.flags[flag.name] = *value;
        }
        known = true;
        break;
      }
      if (!known) return fail(absl::StrCat("usage: unknown argument; try --help (argument=", argument, ")"));
    }
    if (!error.empty()) return fail(error);
  }
  if (const absl::Status status = config->Load(started.sources); !status.ok()) {
    started.exit_code = Fail(*config, status);
    return started;
  }
  for (const std::string& name : config->unknown_variables())
    Say(SD_WARNING, *config, absl::StrCat("config: unknown key is ignored (environment=", name, ")"));
  if (print) std::fputs(config->Print().c_str(), stdout);
  if (print || check) started.exit_code = kExitDone;
  if (description.read && (check || !print)) {
    if (const absl::Status read = description.read(*config); !read.ok()) {
      started.exit_code = Fail(*config, read);
      return started;
    }
  }
  // What --print-config prints can be used as a file.
  if (check && !print) {
    const bool has_file = access(started.sources.file.c_str(), F_OK) == 0;
    std::printf(has_file ? "%s: ok\n" : "no file, all defaults: ok (file=%s)\n", started.sources.file.c_str());
  }
  return started;
}

int Fail(const Config& config, const absl::Status& status) {
  Say(SD_ERR, config, std::string(status.message()));
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

}  // namespace copse::config
