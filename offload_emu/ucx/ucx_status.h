// SPDX-License-Identifier: Apache-2.0
//
// Converts UCX's errors to absl::Status. No other file does.
#ifndef COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_
#define COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_

#include <ucs/type/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace copse::emu {

// Returns a status with the text "what: UCX's text": OK for UCS_OK, UNAVAILABLE for all codes that mean that the peer
// or the path to it is lost, INTERNAL for codes without a better one.
absl::Status UcxToStatus(ucs_status_t status, std::string_view what);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_
