// SPDX-License-Identifier: Apache-2.0
//
// The output format of a verb's answer.
#ifndef COPSE_CLI_CTL_STYLE_H_
#define COPSE_CLI_CTL_STYLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"

namespace copse::ctl {

enum class Format : uint8_t { kTable, kJson };

struct Style {
  Format format = Format::kTable;
  size_t width = 0;  // of a line in characters; 0: unlimited
};

// Keys keep their insertion order.
using Json = nlohmann::ordered_json;

// Writes one document and a line end. Never throws: bytes that are no UTF-8 are replaced.
inline std::string DumpJson(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_STYLE_H_
