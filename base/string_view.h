// SPDX-License-Identifier: Apache-2.0
//
// Converts between the two types of string views: Debian's Abseil is built with a string_view of its own, which does
// not convert to or from std::string_view. Copse's interfaces take std::string_view; calls into Abseil convert.

#ifndef COPSE_BASE_STRING_VIEW_H_
#define COPSE_BASE_STRING_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace copse {

inline absl::string_view AbslView(std::string_view text) { return absl::string_view(text.data(), text.size()); }

inline std::string_view StdView(absl::string_view text) { return std::string_view(text.data(), text.size()); }

}  // namespace copse

#endif  // COPSE_BASE_STRING_VIEW_H_
