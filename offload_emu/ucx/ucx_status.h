// SPDX-License-Identifier: Apache-2.0
//
// UCX's errors as ours: the one place where they are converted.
#ifndef COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_
#define COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_

#include <ucs/type/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace copse::emu {

// "what: UCX's text". OK for UCS_OK; UNAVAILABLE for whatever means that the peer or the way to it
// is gone.
absl::Status UcxToStatus(ucs_status_t status, std::string_view what);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_UCX_STATUS_H_
