// SPDX-License-Identifier: Apache-2.0
//
// What traces tell, as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <string>
#include <vector>

#include "cli/trace/traces.h"

namespace copse::trace {

// What a profile does not have, a line each: any order; orders by place, of kinds that are called from several places.
std::vector<std::string> NotLearnt(const Traces& traces);

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// SVG: for each place of calls, by part, when its data was there, when it was first touched, and what that waited.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
