// SPDX-License-Identifier: Apache-2.0

// These are the headers that are compiled once for code that is not optimized, with those of library_includes.h: JSON's
// and protobuf's are the slowest to read.

#ifndef COPSE_TOOLS_RULES_PLAIN_INCLUDES_H_
#define COPSE_TOOLS_RULES_PLAIN_INCLUDES_H_

#include <nlohmann/json.hpp>

#include "google/protobuf/arena.h"
#include "google/protobuf/generated_message_reflection.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/util/message_differencer.h"

#endif  // COPSE_TOOLS_RULES_PLAIN_INCLUDES_H_
