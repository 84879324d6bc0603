// SPDX-License-Identifier: Apache-2.0
//
// Converts a daemon's histograms to rows of the admin services.
#ifndef COPSE_RPC_LATENCY_ROW_H_
#define COPSE_RPC_LATENCY_ROW_H_

#include "proto/copse/v1/admin.pb.h"
#include "protocol/control.h"

namespace copse::rpc {

void FillLatency(const schedule::LatencyStatus& latency, v1::LatencyRow* row);

}  // namespace copse::rpc

#endif  // COPSE_RPC_LATENCY_ROW_H_
