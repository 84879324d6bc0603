// SPDX-License-Identifier: Apache-2.0
//
// Formats the results of traces as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <string>
#include <vector>

#include "cli/trace/traces.h"

namespace copse::trace {

// Lists, one line each, what a profile made from these traces would lack: all orders if no access was seen, and the
// orders by place of kinds whose calls come from several places without a period. Empty if nothing is missing.
std::vector<std::string> NotLearnt(const Traces& traces);

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// Draws an SVG. For each place in the program and each fragment, it shows the arrival of the data, the first access,
// and the wait. Places without asynchronous completion or with too many fragments to show are left out.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
