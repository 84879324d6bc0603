// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_BENCH_MEASURES_LINE_FIELD_H_
#define COPSE_BENCH_MEASURES_LINE_FIELD_H_

#include <string>

#include "absl/status/statusor.h"

namespace copse::bench {

// Returns the number after `key=` in a line of `program`, whose fields are separated by spaces. INTERNAL if there is
// none.
absl::StatusOr<double> LineField(const std::string& program, const std::string& line, const std::string& key);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_LINE_FIELD_H_
