// SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target gives: tools/fuzzing/fuzz.bzl makes a libFuzzer program and a test of it.
#ifndef COPSE_TOOLS_FUZZING_TARGET_H_
#define COPSE_TOOLS_FUZZING_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace copse::fuzzing {

// Inputs to start from, good ones among them: mutations of a good one reach further than random bytes.
std::vector<std::string> Seeds();

// Takes any bytes. Dies (CHECK, a sanitizer, a signal) if something is wrong with what was made of them.
void OneInput(std::string_view bytes);

}  // namespace copse::fuzzing

#endif  // COPSE_TOOLS_FUZZING_TARGET_H_
