// SPDX-License-Identifier: Apache-2.0
//
// The membership of a sub-team, which every member of the parent works out from the same records.
#ifndef COPSE_CLIENT_CONTEXT_SUBTEAM_H_
#define COPSE_CLIENT_CONTEXT_SUBTEAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/copse.h"

namespace copse::client {

// The contribution of one member of the parent.
struct SubteamRecord {
  int64_t color = COPSE_UNDEFINED;
  int64_t key = 0;
  uint64_t ranks_hash = 0;  // of the list that it gave; 0 if none
};
static_assert(sizeof(SubteamRecord) == 24);

// Makes the record of rank `rank` in a parent of `size`. Errors: INVALID_ARGUMENT.
copse_status_t MakeRecord(const copse_subteam_params_t& params, uint32_t rank, uint32_t size, SubteamRecord* record);

// Returns the parent's ranks that have the color of `rank`, in the new team's order; none if that is COPSE_UNDEFINED.
std::vector<uint32_t> MembersOf(const std::vector<SubteamRecord>& records, uint32_t rank);

// Checks that members gave the same list. Error: MISMATCH, for all of them alike.
copse_status_t CheckSameList(const std::vector<SubteamRecord>& records, const std::vector<uint32_t>& members);

// Checks that all ranks of this rank's list are members. Error: MISMATCH if one gave another list or none.
copse_status_t CheckAllListed(const copse_subteam_params_t& params, const std::vector<uint32_t>& members);

// Returns "parent/3", or a shorter name that is as unique if that is longer than a name may be.
std::string SubteamName(const std::string& parent, uint64_t number);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_SUBTEAM_H_
