// SPDX-License-Identifier: Apache-2.0
//
// The results of traces, as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <string>
#include <vector>

#include "cli/trace/traces.h"

namespace copse::trace {

// Lists what a profile lacks, a line each: any order; orders by place, for kinds that are called from several places.
std::vector<std::string> NotLearnt(const Traces& traces);

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// Draws SVG: for each place of calls, by fragment, the arrival of its data, its first access, and the resulting wait.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
