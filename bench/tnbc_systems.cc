// SPDX-License-Identifier: Apache-2.0
#include "bench/tnbc_systems.h"

#include <map>
#include <utility>

#include "bench/row.h"

namespace copse::bench {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr int kCellsATnbcCell = 8;

const std::map<std::string, Environment>& Variants() {
  static const auto& variants =
      *new std::map<std::string, Environment>{{kBlocking, {{"COPSE_TNBC", "off"}}},
                                              {kTnbc, {{"COPSE_TNBC", "on"}}},
                                              {kUnordered, {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_ORDER", "off"}}},
                                              {kLearnt, {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_ORDER", "learnt"}}},
                                              {kProfile, {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_ORDER", "profile"}}}};
  return variants;
}

}  // namespace

std::string LibraryOf(const std::string& system) { return system.substr(0, system.find('+')); }

absl::StatusOr<RankProcesses> StartTnbc(const std::string& system, Site::MpiRanks ranks, Site* site) {
  const std::string library = LibraryOf(system);
  if (system == library) return site->StartMpi(library, ranks);
  const auto variant = Variants().find(system.substr(library.size()));
  if (variant == Variants().end()) return absl::InvalidArgumentError("no such system (system=" + system + ")");
  ranks.environment.insert(variant->second.begin(), variant->second.end());
  ranks.environment.insert({{"COPSE_MPI_OFFLOAD", "all"}, {"COPSE_MPI_CALLS_BEFORE", "0"}});
  return site->StartMpi(library + kUnderMpi, ranks);
}

Options WithTimeForTnbc(Options options) {
  options.cell_timeout *= kCellsATnbcCell;
  return options;
}

}  // namespace copse::bench
