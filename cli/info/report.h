// SPDX-License-Identifier: Apache-2.0
//
// Says what this Copse is, and what of this system would keep it from working.
#ifndef COPSE_CLI_INFO_REPORT_H_
#define COPSE_CLI_INFO_REPORT_H_

#include <string>

namespace copse::info {

struct Report {
  bool all_ok = true;
  std::string text;  // for people
  std::string json;  // versions, places and checks, with a line end
};

Report MakeReport();

}  // namespace copse::info

#endif  // COPSE_CLI_INFO_REPORT_H_
