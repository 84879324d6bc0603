// SPDX-License-Identifier: Apache-2.0
#include "client/run/launch.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "client/run/rank_environment.h"

namespace copse::run {
namespace {

using Words = std::vector<std::string>;

constexpr char kPreload[] = COPSE_RANKS_PRELOAD;

bool Contains(std::string_view text, const char* part) { return absl::StrContains(AbslView(text), part); }

std::string Behind(const std::string& first, const std::string& library) {
  return first.empty() ? library : absl::StrCat(first, ":", library);
}

void Append(Words* words, const Words& more) { words->insert(words->end(), more.begin(), more.end()); }

// Hydra passes its own environment on. -genv is for all ranks; -env, for those of one program, takes precedence.
Words AddToHydra(const Words& command, const Additions& additions) {
  Words result = {command[0], "-genv", kPreload, Behind(additions.preload, additions.library)};
  for (const auto& [name, value] : additions.variables) Append(&result, {"-genv", name, value});
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    const bool sets = word == "-env" || word == "--env" || word == "-genv" || word == "--genv";
    if (sets && i + 2 < command.size() && command[i + 1] == kPreload) {
      Append(&result, {word, kPreload, Behind(command[i + 2], additions.library)});
      i += 2;
    } else {
      result.push_back(word);
    }
  }
  return result;
}

// Open MPI passes on only the variables that -x names, separately for each of the programs between ":".
Words AddToOpenMpiProgram(const Words& words, const Additions& additions) {
  Words own;
  std::map<std::string, std::string> missing = additions.variables;
  missing[kPreload] = Behind(additions.preload, additions.library);
  for (size_t i = 0; i < words.size(); ++i) {
    own.push_back(words[i]);
    if (words[i] != "-x" || i + 1 == words.size()) continue;
    std::string setting = words[++i];
    const std::string name = setting.substr(0, setting.find('='));
    if (name == kPreload) {
      const std::string value = setting == name ? additions.preload : setting.substr(name.size() + 1);
      setting = absl::StrCat(name, "=", Behind(value, additions.library));
    }
    missing.erase(name);
    own.push_back(setting);
  }
  Words result;
  for (const auto& [name, value] : missing) Append(&result, {"-x", absl::StrCat(name, "=", value)});
  for (const std::string& name : additions.inherited) Append(&result, {"-x", name});
  Append(&result, own);
  return result;
}

Words AddToOpenMpi(const Words& command, const Additions& additions) {
  Words result = {command[0]}, program;
  for (size_t i = 1; i <= command.size(); ++i) {
    if (i < command.size() && command[i] != ":") {
      program.push_back(command[i]);
      continue;
    }
    Append(&result, AddToOpenMpiProgram(program, additions));
    if (i < command.size()) result.push_back(":");
    program.clear();
  }
  return result;
}

// These are srun's options of one letter whose value may be the next word, and its long ones that have no value there
// (Slurm 22.05, srun(1)).
constexpr char kSrunLettersWithValue[] = "ABcCdDeGiJLmMnNopqrStTwWx";
constexpr char kSrunFlags[] =
    " bcast compress contiguous disable-status exact exclusive external help hold immediate interactive "
    "kill-on-bad-exit label multi-prog no-allocate no-kill no-requeue overcommit overlap oversubscribe "
    "preserve-env propagate pty quiet quit-on-interrupt reboot requeue send-libs spread-job test-only "
    "unbuffered usage use-min-nodes verbose version x11 ";

// Returns whether srun takes the word after this option for its value.
bool TakesNextWord(const std::string& option) {
  if (!absl::StartsWith(option, "--")) {
    return option.size() == 2 && strchr(kSrunLettersWithValue, option[1]) != nullptr;
  }
  return !Contains(option, "=") && !Contains(kSrunFlags, absl::StrCat(" ", option.substr(2), " ").c_str());
}

// Returns the items of an --export with the additions, except variables that it sets already.
absl::StatusOr<std::string> Exported(std::string exported, const Additions& additions) {
  if (exported == "NONE" || exported == "NIL") exported.clear();
  Words items = absl::StrSplit(exported, ',', absl::SkipEmpty());
  std::map<std::string, std::string> missing = additions.variables;
  missing[kPreload] = Behind(additions.preload, additions.library);
  for (std::string& item : items) {
    const std::string name = item.substr(0, item.find('='));
    if (name == kPreload) {
      const std::string value = item == name ? additions.preload : item.substr(name.size() + 1);
      item = absl::StrCat(name, "=", Behind(value, additions.library));
    }
    missing.erase(name);
  }
  for (const auto& [name, value] : missing) items.push_back(absl::StrCat(name, "=", value));
  items.insert(items.end(), additions.inherited.begin(), additions.inherited.end());
  std::string result = absl::StrJoin(items, ",");
  const auto has_comma = [](const auto& variable) { return absl::StrContains(variable.second, ","); };
  if (absl::StrContains(additions.library, ",") || absl::StrContains(additions.preload, ",") ||
      std::any_of(missing.begin(), missing.end(), has_comma)) {
    return absl::InvalidArgumentError(absl::StrCat("srun: a value has a comma (export=", result, ")"));
  }
  return result;
}

// srun passes on what --export names, by default everything. A later --export would replace an earlier one, so the
// command's is merged into the one that is added.
absl::StatusOr<Words> AddToSrun(const Words& command, const Additions& additions) {
  constexpr char kExport[] = "--export";
  std::string exported = additions.slurm_export.empty() ? "ALL" : additions.slurm_export;
  Words rest;
  size_t i = 1;
  for (; i < command.size() && absl::StartsWith(command[i], "-") && command[i] != "--"; ++i) {
    const bool has_value = TakesNextWord(command[i]) && i + 1 < command.size();
    if (command[i] == kExport && has_value) {
      exported = command[++i];
    } else if (absl::StartsWith(command[i], absl::StrCat(kExport, "="))) {
      exported = command[i].substr(sizeof(kExport));
    } else {
      rest.push_back(command[i]);
      if (has_value) rest.push_back(command[++i]);
    }
  }
  rest.insert(rest.end(), command.begin() + static_cast<ptrdiff_t>(i), command.end());
  ASSIGN_OR_RETURN(exported, Exported(exported, additions));
  Words result = {command[0], absl::StrCat(kExport, "=", exported)};
  Append(&result, rest);
  return result;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AddToCommand(Launcher launcher, const std::vector<std::string>& command,
                                                      const Additions& additions) {
  if (!copse_ranks_can_preload(additions.library.c_str())) {
    return absl::InvalidArgumentError(
        absl::StrCat("library: LD_PRELOAD has no paths with colons or spaces (value=", additions.library, ")"));
  }
  switch (launcher) {
    case Launcher::kHydra:
      return AddToHydra(command, additions);
    case Launcher::kOpenMpi:
      return AddToOpenMpi(command, additions);
    case Launcher::kSrun:
      return AddToSrun(command, additions);
  }
  return absl::InternalError("no such launcher");
}

std::string Quoted(const std::vector<std::string>& command) {
  constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    absl::StrAppend(&line, line.empty() ? "" : " ",
                    plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'"));
  }
  return line;
}

}  // namespace copse::run
