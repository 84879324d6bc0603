// SPDX-License-Identifier: Apache-2.0
//
// The collectives, types of elements and operations that can be measured: all that collectives/collective.h and
// base/element_types.h have.
#ifndef COPSE_CLI_PERFTEST_COLLECTIVE_H_
#define COPSE_CLI_PERFTEST_COLLECTIVE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/element_types.h"
#include "client/copse.h"
#include "collectives/collective.h"

namespace copse::perftest {

// These list names by number.
std::vector<std::string_view> CollectiveNames();
std::vector<std::string_view> TypeNames();

// Returns ucc_perftest's name of the type, where it has the type; else that of base/element_types.h.
std::string_view TypeName(ElementType type);
// Takes MPI's names and those of base/element_types.h, too.
std::optional<ElementType> TypeFromName(std::string_view name);

// Makes the blocking call of args.collective.
copse_status_t CallBlocking(copse_team_t* team, const copse_coll_args_t& args);

// The bandwidth on the bus, as printed by ucc_perftest, is this factor times the size divided by the time. The
// collective has data.
double BusFactor(Collective collective, double ranks);

inline bool CanBeInPlace(Collective c) { return HasData(c) && c != Collective::kBcast; }
// Returns whether only the root knows all counts, unless the options give them to all ranks.
inline bool HasCountsAtRoot(Collective c) { return IsIrregular(c) && HasRoot(c); }

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_COLLECTIVE_H_
