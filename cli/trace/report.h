// SPDX-License-Identifier: Apache-2.0
//
// Formats the results of traces as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <string>
#include <vector>

#include "cli/trace/traces.h"

namespace copse::trace {

// Returns one line for each order that a profile of these traces would lack, and no line if it would lack none. It
// lacks all orders if no access was seen, and the orders by call site of a kind whose calls are made at several sites
// without a period.
std::vector<std::string> NotLearned(const Traces& traces);

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// Draws an SVG. For each place in the program and each fragment, it shows the arrival of the data, the first access,
// and the wait. Places without asynchronous completion or with too many fragments to show are left out.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
