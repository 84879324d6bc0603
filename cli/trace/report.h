// SPDX-License-Identifier: Apache-2.0
//
// What traces tell, as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <string>

#include "cli/trace/traces.h"

namespace copse::trace {

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// SVG: for each place of calls, by part, when its data was there, when it was first touched, and what that waited.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
