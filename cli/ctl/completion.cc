// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/completion.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/string_view.h"

namespace copse::ctl {
namespace {

std::string OwnOptions(const Verb& verb) {
  return absl::StrJoin(verb.options, " ",
                       [](std::string* out, const cli::Parameter& option) { absl::StrAppend(out, "--", option.name); });
}

// Returns the words that may follow those given so far: families and single verbs after none, verbs after a family.
std::map<std::string, std::vector<std::string>> WordsAfter(const std::vector<Verb>& verbs) {
  std::map<std::string, std::vector<std::string>> after;
  for (const Verb& verb : verbs) {
    const std::string& first = verb.family.empty() ? verb.name : verb.family;
    std::vector<std::string>& firsts = after[""];
    if (firsts.empty() || firsts.back() != first) firsts.push_back(first);
    if (!verb.family.empty()) after[verb.family].push_back(verb.name);
  }
  return after;
}

std::string Bash(const std::vector<Verb>& verbs, const OptionWords& common) {
  std::string cases;
  for (const auto& [given, words] : WordsAfter(verbs)) {
    absl::StrAppend(&cases, "    '", given, "') words='", absl::StrJoin(words, " "), "' ;;\n");
  }
  for (const Verb& verb : verbs) {
    absl::StrAppend(&cases, "    '", verb.FullName(), "' | '", verb.FullName(), " '*) words='", OwnOptions(verb),
                    "' ;;\n");
  }
  return absl::StrReplaceAll(R"(_copsectl() {
  local current=${COMP_WORDS[COMP_CWORD]} given= words= word skip= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [ -n "$skip" ]; then skip=; continue; fi
    case " @VALUED " in *" $word "*) skip=yes; continue ;; esac
    case "$word" in -*) continue ;; esac
    case "$given$word" in help) ;; *) given="${given:+$given }$word" ;; esac
  done
  case "$given" in
@CASES  esac
  case "$current" in -*) words="$words @SWITCHES @VALUED" ;; esac
  case "${COMP_WORDS[COMP_CWORD - 1]}" in
    -w | --write-out) words='table json yaml wide name' ;;
    --cert | --key | --cacert | --token-file | --output)
      COMPREPLY=($(compgen -f -- "$current"))
      return
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _copsectl copsectl
)",
                             {{"@CASES", cases},
                              {"@SWITCHES", absl::StrJoin(common.switches, " ")},
                              {"@VALUED", absl::StrJoin(common.valued, " ")}});
}

std::string Fish(const std::vector<Verb>& verbs) {
  const auto quoted = [](const std::string& text) { return absl::StrReplaceAll(text, {{"'", "\\'"}}); };
  std::string script = "complete -c copsectl -f\n";
  for (const auto& [given, words] : WordsAfter(verbs)) {
    const std::string all = absl::StrJoin(words, " ");
    absl::StrAppend(&script, "complete -c copsectl -n '",
                    given.empty() ? "__fish_use_subcommand"
                                  : absl::StrCat("__fish_seen_subcommand_from ", given,
                                                 "; and not __fish_seen_subcommand_from ", all),
                    "' -a '", all, "'\n");
  }
  for (const Verb& verb : verbs) {
    std::string condition = absl::StrCat("__fish_seen_subcommand_from ", verb.name);
    if (!verb.family.empty())
      condition = absl::StrCat("__fish_seen_subcommand_from ", verb.family, "; and ", condition);
    for (const cli::Parameter& option : verb.options) {
      absl::StrAppend(&script, "complete -c copsectl -n '", condition, "' -l ", option.name,
                      option.value_name.empty() ? "" : " -r", " -d '", quoted(option.help), "'\n");
    }
  }
  absl::StrAppend(&script, "complete -c copsectl -s w -l write-out -x -a 'table json yaml wide name'\n");
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(std::string_view shell, const std::vector<Verb>& verbs,
                                             const OptionWords& common) {
  if (shell == "bash") return Bash(verbs, common);
  if (shell == "zsh") return absl::StrCat("autoload -U +X bashcompinit && bashcompinit\n", Bash(verbs, common));
  if (shell == "fish") return Fish(verbs);
  return absl::InvalidArgumentError(absl::StrCat("usage: unknown (shell=", AbslView(shell), ", known=bash zsh fish)"));
}

}  // namespace copse::ctl
