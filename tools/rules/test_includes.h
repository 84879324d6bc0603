// SPDX-License-Identifier: Apache-2.0

// These are the headers that are compiled once for all tests, with those of plain_includes.h.

#ifndef COPSE_TOOLS_RULES_TEST_INCLUDES_H_
#define COPSE_TOOLS_RULES_TEST_INCLUDES_H_

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // COPSE_TOOLS_RULES_TEST_INCLUDES_H_
