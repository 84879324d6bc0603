// SPDX-License-Identifier: Apache-2.0
//
// Checks a file against the rules of the Trace Event Format, as far as copsectl uses it.
#ifndef COPSE_CLI_CTL_TRACING_TRACE_FORMAT_H_
#define COPSE_CLI_CTL_TRACING_TRACE_FORMAT_H_

#include <string>
#include <vector>

namespace copse::ctl {

// Returns the first 20 violations in `text`, one line each; empty if there are none. The rules: `text` is an object
// with an array traceEvents; each event has the fields that its phase needs; times never decrease; complete events, and
// pairs of begin and end, nest in their thread; each flow has one start and one end, which is not before the start, and
// both are within complete events of their threads; processes and threads with events have names.
std::vector<std::string> TraceFormatErrors(const std::string& text);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACING_TRACE_FORMAT_H_
