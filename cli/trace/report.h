// SPDX-License-Identifier: Apache-2.0
//
// What traces tell, as text, JSON and a picture.
#ifndef COPSE_CLI_TRACE_REPORT_H_
#define COPSE_CLI_TRACE_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "cli/trace/traces.h"

namespace copse::trace {

// Of kinds that have one order though they are called from several places: why, a line each.
std::vector<std::string> WhyNoSlots(const std::map<KindKey, WantedOrder>& orders);

std::string TextOf(const Traces& traces);
std::string JsonOf(const Traces& traces);
// SVG: for each place of calls, by part, when its data was there, when it was first touched, and what that waited.
std::string PictureOf(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_REPORT_H_
