// SPDX-License-Identifier: Apache-2.0
#include "cli/web/page_parts.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::web {

void PageParts::Set(const std::string& name, std::string text) {
  Part& part = parts_[name];
  if (part.version != 0 && part.text == text) return;
  part = {.version = ++version_, .text = std::move(text)};
}

std::string PageParts::After(uint64_t after) const {
  std::string text = absl::StrCat("{\"version\":", version_);
  for (const auto& [name, part] : parts_) {
    if (part.version > after || after > version_) absl::StrAppend(&text, ",\"", name, "\":", part.text);
  }
  text.push_back('}');
  return text;
}

}  // namespace copse::web
