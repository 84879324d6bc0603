// SPDX-License-Identifier: Apache-2.0
//
// Remembers which parts of the page's data have changed since a viewer asked.
#ifndef COPSE_CLI_WEB_PAGE_PARTS_H_
#define COPSE_CLI_WEB_PAGE_PARTS_H_

#include <cstdint>
#include <map>
#include <string>

namespace copse::web {

// PageParts holds JSON texts by name. Each has the version at which it last changed; versions ascend.
// Thread-compatible.
class PageParts {
 public:
  // Sets a part; one with the same text keeps its version.
  void Set(const std::string& name, std::string text);
  // Forgets all parts.
  void Clear() { parts_.clear(); }

  // Returns {"version":VERSION,"NAME":TEXT,...} with the parts that have changed after the version `after`; with all
  // for 0, and for a version that has not been yet.
  std::string After(uint64_t after) const;

 private:
  struct Part {
    uint64_t version = 0;
    std::string text;
  };
  uint64_t version_ = 0;
  std::map<std::string, Part> parts_;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_PAGE_PARTS_H_
