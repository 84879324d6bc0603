// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/descriptor.h"

namespace copse::emu {

std::string_view OpCodeName(OpCode op) {
  switch (op) {
    case OpCode::kSend:
      return "send";
    case OpCode::kPut:
      return "put";
    case OpCode::kGet:
      return "get";
    case OpCode::kReduce:
      return "reduce";
    case OpCode::kCopy:
      return "copy";
    case OpCode::kCount:
      return "count";
    case OpCode::kEvent:
      return "event";
    case OpCode::kCopyList:
      return "copy list";
  }
  return "unknown";
}

}  // namespace copse::emu
