// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_TRACE_COPSE_TRACE_H_
#define COPSE_CLI_TRACE_COPSE_TRACE_H_

#include <ostream>
#include <string>
#include <vector>

namespace copse::trace {

// Runs copse-trace with `arguments`, which exclude the program's name. Returns its exit code: 0 done; 1 failed, or
// --check found that ranks do not agree; 2 bad usage.
int RunTrace(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_COPSE_TRACE_H_
