// SPDX-License-Identifier: Apache-2.0
//
// Names and calls the collectives and element types that can be measured: all those of collectives/collective.h and
// base/element_types.h.
#ifndef COPSE_CLI_PERFTEST_COLLECTIVE_H_
#define COPSE_CLI_PERFTEST_COLLECTIVE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/element_types.h"
#include "client/copse.h"
#include "collectives/collective.h"

namespace copse::perftest {

// These return the names of all collectives and types, indexed by enum value.
std::vector<std::string_view> CollectiveNames();
std::vector<std::string_view> TypeNames();

// Returns the name of the type in ucc_perftest, or the one in base/element_types.h if ucc_perftest lacks the type.
std::string_view TypeName(ElementType type);
// Accepts the names that TypeName returns, those of base/element_types.h, and char, short, int and long.
std::optional<ElementType> TypeFromName(std::string_view name);

// Returns whether the collective has a function of its own, which blocks.
bool HasBlockingCall(Collective collective);
// Makes the blocking call of args.collective, which must have one. Ignores args.flags and displacements, which the
// blocking call does not get.
copse_status_t CallBlocking(copse_team_t* team, const copse_coll_args_t& args);

// Returns the factor by which size / time must be multiplied to get the bus bandwidth, as ucc_perftest prints it. The
// factor has no meaning for a collective without data.
double BusFactor(Collective collective, double ranks);

inline bool CanBeInPlace(Collective c) { return HasData(c) && c != Collective::kBcast; }
// Returns whether only the root knows all counts, unless the options give them to all ranks.
inline bool HasCountsAtRoot(Collective c) { return IsIrregular(c) && HasRoot(c); }

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_COLLECTIVE_H_
