// SPDX-License-Identifier: Apache-2.0
//
// Computes the membership of a sub-team, which every member of the parent does from the same records.
#ifndef COPSE_CLIENT_CONTEXT_SUBTEAM_H_
#define COPSE_CLIENT_CONTEXT_SUBTEAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/copse.h"

namespace copse::client {

// A SubteamRecord is the contribution of one member of the parent; all ranks exchange them by allreduce.
struct SubteamRecord {
  int64_t color = COPSE_UNDEFINED;
  int64_t key = 0;
  uint64_t ranks_hash = 0;  // hash of the member's list of ranks; 0: it gave none, or an empty one
};
static_assert(sizeof(SubteamRecord) == 24);

// Makes the record of rank `rank` in a parent of `size` ranks. Errors: INVALID_ARGUMENT if the mask has unknown fields
// or not one way of selection, a key comes without a color, the time-out is NaN, or a listed rank is not in the parent
// or listed twice.
copse_status_t MakeRecord(const copse_subteam_params_t& params, uint32_t rank, uint32_t size, SubteamRecord* record);

// Returns the parent's ranks that have the color of `rank`, in the new team's order; none if the color is
// COPSE_UNDEFINED.
std::vector<uint32_t> MembersOf(const std::vector<SubteamRecord>& records, uint32_t rank);

// Checks that all members gave the same list. Errors: MISMATCH, which all members get.
copse_status_t CheckSameList(const std::vector<SubteamRecord>& records, const std::vector<uint32_t>& members);

// Checks that this rank's list is equal to the members; passes if the sub-team was not selected by a list. Errors:
// MISMATCH if a listed rank gave another list or none. CheckSameList has to be called before.
copse_status_t CheckAllListed(const copse_subteam_params_t& params, const std::vector<uint32_t>& members);

// Returns "parent/3" for `number` 3. If that is longer than a team's name may be, the end of the parent's name is
// replaced by a hash.
std::string SubteamName(const std::string& parent, uint64_t number);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_SUBTEAM_H_
