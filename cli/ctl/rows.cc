// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "cli/command_line/table.h"
#include "yaml-cpp/emitter.h"

namespace copse::ctl {
namespace {

// What a row is called by -w name: the value of the first of these keys that it has.
constexpr const char* kNameKeys[] = {"name", "node", "id",   "job",     "user",   "check",
                                     "team", "who",  "file", "cluster", "version"};

// Returns the list of rows in the document, or null if the document is one row.
Json* RowsOf(Json* answer) {
  if (answer->is_array()) return answer;
  Json* only = nullptr;
  for (Json& value : *answer) {
    if (!value.is_array() || (!value.empty() && !value[0].is_object())) continue;
    if (only != nullptr) return nullptr;
    only = &value;
  }
  return only;
}

// Returns the row's value, or null.
const Json* Find(const Json& row, const std::string& key) {
  if (!row.is_object()) return nullptr;
  if (const auto it = row.find(key); it != row.end()) return &*it;
  for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    const auto it = row.find(key.substr(0, dot));
    const Json* const found = it == row.end() ? nullptr : Find(*it, key.substr(dot + 1));
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::string CellText(const Json* value) {
  if (value == nullptr || value->is_null()) return "-";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_array() &&
      std::none_of(value->begin(), value->end(), [](const Json& j) { return j.is_structured(); })) {
    return absl::StrJoin(*value, ",", [](std::string* out, const Json& each) { out->append(CellText(&each)); });
  }
  return value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns the keys of all rows, in the order in which they appear.
std::vector<std::string> KeysOf(const Json& rows, bool with_structured) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    if (!row.is_object()) continue;
    for (const auto& [key, value] : row.items()) {
      if ((with_structured || !value.is_structured()) && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

absl::Status CheckKey(const Json& rows, const std::string& option, const std::string& key) {
  const bool is_known =
      rows.empty() || std::any_of(rows.begin(), rows.end(), [&](const Json& row) { return Find(row, key) != nullptr; });
  if (is_known) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no row has this key (", option, "=", key, ", known=", absl::StrJoin(KeysOf(rows, true), " "), ")"));
}

absl::Status Sort(const std::string& sort, Json* rows) {
  if (sort.empty()) return absl::OkStatus();
  const bool descends = sort[0] == '-';
  const std::string key = sort.substr(descends ? 1 : 0);
  RETURN_IF_ERROR(CheckKey(*rows, "sort", key));
  std::stable_sort(rows->begin(), rows->end(), [&](const Json& a, const Json& b) {
    const Json* const left = Find(descends ? b : a, key);
    const Json* const right = Find(descends ? a : b, key);
    if (left == nullptr || right == nullptr) return left == nullptr && right != nullptr;
    return *left < *right;
  });
  return absl::OkStatus();
}

absl::StatusOr<std::string> Table(const Json& rows, const RowOptions& options, const Style& style) {
  for (const std::string& column : options.columns) RETURN_IF_ERROR(CheckKey(rows, "columns", column));
  const std::vector<std::string> columns = options.columns.empty() ? KeysOf(rows, false) : options.columns;
  if (columns.empty()) return "";
  cli::TableRows table(1);
  for (const std::string& column : columns) {
    const bool has_numbers = std::all_of(rows.begin(), rows.end(), [&](const Json& row) {
      const Json* const value = Find(row, column);
      return value == nullptr || value->is_number();
    });
    table[0].push_back(absl::StrCat(absl::AsciiStrToUpper(absl::StrReplaceAll(column, {{"_", " "}})),
                                    has_numbers && !rows.empty() ? ">" : ""));
  }
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(CellText(Find(row, column)));
    table.push_back(std::move(cells));
  }
  return cli::RenderTable(std::move(table), style.format == Format::kWide ? 0 : style.width);
}

// Errors: INVALID_ARGUMENT if no row has a name.
absl::StatusOr<std::string> Names(const Json& rows) {
  std::string out;
  for (const Json& row : rows) {
    for (const char* key : kNameKeys) {
      const Json* const value = Find(row, key);
      if (value == nullptr) continue;
      absl::StrAppend(&out, cli::Printable(CellText(value)), "\n");
      break;
    }
  }
  if (out.empty() && !rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "usage: its rows have no names (write-out=name, keys=", absl::StrJoin(KeysOf(rows, true), " "), ")"));
  }
  return out;
}

// Returns whether YAML reads the text as a string if it is not quoted.
bool IsPlain(const std::string& text) {
  static const auto* const words =
      new std::set<std::string>{"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  return !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; }) &&
         words->count(absl::AsciiStrToLower(text)) == 0;
}

void EmitYaml(const Json& json, YAML::Emitter* yaml) {
  if (json.is_object()) {
    *yaml << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      *yaml << YAML::Key << key << YAML::Value;
      EmitYaml(value, yaml);
    }
    *yaml << YAML::EndMap;
  } else if (json.is_array()) {
    const bool is_flat = std::none_of(json.begin(), json.end(), [](const Json& j) { return j.is_structured(); });
    if (is_flat) *yaml << YAML::Flow;
    *yaml << YAML::BeginSeq;
    for (const Json& value : json) EmitYaml(value, yaml);
    *yaml << YAML::EndSeq;
  } else if (json.is_string()) {
    const auto text = json.get<std::string>();
    if (!IsPlain(text)) *yaml << YAML::DoubleQuoted;
    *yaml << text;
  } else if (json.is_null()) {
    *yaml << YAML::Null;
  } else if (json.is_boolean()) {
    *yaml << json.get<bool>();
  } else {
    *yaml << json.dump();
  }
}

}  // namespace

absl::StatusOr<std::string> FormatAnswer(Json answer, const RowOptions& options, const Style& style) {
  Json single = Json::array();
  Json* rows = RowsOf(&answer);
  if (rows == nullptr) {
    single.push_back(answer);
    rows = &single;
  }
  RETURN_IF_ERROR(Sort(options.sort, rows));
  switch (style.format) {
    case Format::kTable:
    case Format::kWide:
      return Table(*rows, options, style);
    case Format::kName:
      return Names(*rows);
    case Format::kJson:
    case Format::kYaml:
      break;
  }
  if (!options.columns.empty()) {
    for (const std::string& column : options.columns) RETURN_IF_ERROR(CheckKey(*rows, "columns", column));
    Json chosen = Json::array();
    for (const Json& row : *rows) {
      Json cells = Json::object();
      for (const std::string& column : options.columns) {
        if (const Json* const value = Find(row, column)) cells[column] = *value;
      }
      chosen.push_back(std::move(cells));
    }
    answer = std::move(chosen);
  }
  if (style.format == Format::kJson) return DumpJson(answer);
  YAML::Emitter yaml;
  EmitYaml(answer, &yaml);
  return absl::StrCat(yaml.c_str(), "\n");
}

}  // namespace copse::ctl
