// SPDX-License-Identifier: Apache-2.0
//
// What collectives are called, for those who know them only by number, as traces have them.
#ifndef COPSE_BASE_COLLECTIVE_NAMES_H_
#define COPSE_BASE_COLLECTIVE_NAMES_H_

#include <string_view>

namespace copse {

// By number (schedule/collective.h), which goes over the wire: never reorder.
inline constexpr std::string_view kCollectiveNames[] = {
    "barrier",        "bcast", "reduce", "allreduce", "gather",   "scatter",    "allgather", "alltoall",
    "reduce_scatter", "scan",  "exscan", "gatherv",   "scatterv", "allgatherv", "alltoallv", "reduce_scatterv"};

}  // namespace copse

#endif  // COPSE_BASE_COLLECTIVE_NAMES_H_
