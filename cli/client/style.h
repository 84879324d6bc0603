// SPDX-License-Identifier: Apache-2.0
//
// Defines the output formats of copsectl.
#ifndef COPSE_CLI_CLIENT_STYLE_H_
#define COPSE_CLI_CLIENT_STYLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"

namespace copse::ctl {

enum class Format : uint8_t { kTable, kJson, kYaml, kWide, kName };

struct Style {
  Format format = Format::kTable;
  size_t width = 0;  // characters of a line; 0: unlimited
};

// Objects of this type keep their keys in the order of insertion.
using Json = nlohmann::ordered_json;

// Returns the document as indented text with a newline at the end. Never throws: invalid UTF-8 is replaced.
inline std::string DumpJson(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_STYLE_H_
