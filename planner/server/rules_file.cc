// SPDX-License-Identifier: Apache-2.0
#include "planner/server/rules_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::planner {
namespace {

constexpr const char* kKeys[] = {"collective", "bytes_min", "bytes_max",    "ranks_min",
                                 "ranks_max",  "algorithm", "segment_bytes"};

class RulesParser {
 public:
  explicit RulesParser(std::string_view filename) : filename_(filename) {}

  absl::StatusOr<Rules> Parse(const YAML::Node& root) const {
    Rules rules;
    if (root.IsNull()) return rules;
    if (!root.IsMap()) return Error(root, "not a map of keys");
    if (!root["version"]) return Error(root, absl::StrCat("no version (limit=", kRulesVersion, ")"));
    if (!root["version"].IsScalar() || root["version"].Scalar() != absl::StrCat(kRulesVersion)) {
      return Error(root["version"], absl::StrCat("version (version=",
                                                 root["version"].IsScalar() ? root["version"].Scalar() : "no number",
                                                 ", limit=", kRulesVersion, ")"));
    }
    for (const auto& entry : root) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (key == "version") continue;
      if (key != "rules") return Error(entry.first, absl::StrCat("unknown key (key=", key, ")"));
      if (!entry.second.IsSequence()) return Error(entry.second, "rules: not a list");
      for (const YAML::Node& node : entry.second) RETURN_IF_ERROR(Add(node, &rules));
    }
    return rules;
  }

  absl::Status Error(int line, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(filename_, ":", line, ": ", what));
  }

 private:
  absl::Status Error(const YAML::Node& node, const std::string& what) const {
    return Error(node.Mark().line + 1, what);
  }

  absl::Status Add(const YAML::Node& node, Rules* rules) const {
    if (rules->size() == kRulesMax) return Error(node, absl::StrCat("rules: too many (limit=", kRulesMax, ")"));
    ASSIGN_OR_RETURN(Rule rule, Read(node));
    rule.source = absl::StrCat(filename_, ":", node.Mark().line + 1);
    if (const absl::Status checked = CheckRule(rule); !checked.ok()) {
      return Error(node, absl::StrCat("rule: ", checked.message()));
    }
    for (const Rule& other : *rules) {
      if (!Contradict(rule, other)) continue;
      return Error(node, absl::StrCat("rule: contradicts that of ", other.source, " for some calls (this=",
                                      DescribeRule(rule), ", other=", DescribeRule(other), ")"));
    }
    rules->push_back(std::move(rule));
    return absl::OkStatus();
  }

  absl::StatusOr<Rule> Read(const YAML::Node& node) const {
    if (!node.IsMap()) return Error(node, "rule: not a map of keys");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
        return Error(entry.first, absl::StrCat("rule: unknown key (key=", key, ")"));
      }
      if (!seen.insert(key).second) return Error(entry.first, absl::StrCat("rule: a key twice (key=", key, ")"));
      if (!entry.second.IsScalar()) return Error(entry.second, absl::StrCat("rule: ", key, ": not one value"));
    }
    if (!node["collective"]) return Error(node, "rule: needs a collective (key=collective)");
    Rule rule;
    const std::string name = node["collective"].Scalar();
    const auto collective = CollectiveFromName(name);
    if (!collective) return Error(node["collective"], absl::StrCat("rule: unknown collective (collective=", name, ")"));
    rule.collective = *collective;
    if (node["algorithm"]) rule.algorithm = node["algorithm"].Scalar();
    RETURN_IF_ERROR(ReadNumber(node, "bytes_min", &rule.bytes_min));
    RETURN_IF_ERROR(ReadNumber(node, "bytes_max", &rule.bytes_max));
    RETURN_IF_ERROR(ReadNumber(node, "ranks_min", &rule.ranks_min));
    RETURN_IF_ERROR(ReadNumber(node, "ranks_max", &rule.ranks_max));
    if (node["segment_bytes"]) {
      uint32_t segment = 0;
      RETURN_IF_ERROR(ReadNumber(node, "segment_bytes", &segment));
      rule.segment_bytes = segment;
    }
    return rule;
  }

  template <typename Number>
  absl::Status ReadNumber(const YAML::Node& node, const char* key, Number* number) const {
    const YAML::Node value = node[key];
    if (!value || absl::SimpleAtoi(value.Scalar(), number)) return absl::OkStatus();
    return Error(value, absl::StrCat("rule: ", key, ": not a whole number in range (", key, "=", value.Scalar(), ")"));
  }

  const std::string filename_;
};

}  // namespace

absl::StatusOr<Rules> ParseRules(std::string_view text, std::string_view filename) {
  const RulesParser parser(filename);
  try {
    return parser.Parse(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return parser.Error(e.mark.line + 1, e.msg);
  }
}

}  // namespace copse::planner
