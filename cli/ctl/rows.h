// SPDX-License-Identifier: Apache-2.0
//
// Writes a verb's answer in the forms that are the same for all verbs: YAML, names, and tables of chosen columns.
#ifndef COPSE_CLI_CTL_ROWS_H_
#define COPSE_CLI_CTL_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/client/style.h"

namespace copse::ctl {

struct RowOptions {
  std::vector<std::string> columns;  // keys of the rows; empty: all whose values are no lists or objects
  std::string sort;  // rows are in ascending order of this key, "-KEY" in descending; empty: as they are
};

// Returns the text of `answer`, a verb's JSON document, in any format. Rows are the elements of a list, or of the only
// list of an object; an object without one is a row itself. A key can lead into objects, as "counters.eager.sent" does.
// Errors: INVALID_ARGUMENT, with the keys that there are, for a key that no row has, and for names of rows without any.
absl::StatusOr<std::string> FormatAnswer(Json answer, const RowOptions& options, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_ROWS_H_
