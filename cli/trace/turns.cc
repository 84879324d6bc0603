// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/turns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/tnbc/trace/order_profile.h"

namespace copse::trace {
namespace {

// A run has at least this many calls. As in learning at run time (client/tnbc/access_order.h), a period must have been
// seen twice and over at least so many calls.
constexpr uint64_t kCallsMin = 4;

bool IsOnePlace(const std::vector<uint32_t>& places) {
  return std::all_of(places.begin(), places.end(), [&](uint32_t place) { return place == places[0]; });
}

std::string Describe(const std::optional<Turns>& turns) {
  if (!turns.has_value()) return absl::StrCat("in no period of up to ", tnbc::kProfilePeriodMax);
  return absl::StrCat("in a period of ", turns->period, " from call ", turns->first);
}

// Returns the reason why the ranks' calls together have no period. `places` are by rank.
std::string WhyNone(const std::map<uint32_t, std::vector<uint32_t>>& places) {
  const auto& [first_rank, first_places] = *places.begin();
  const std::optional<Turns> first = FindTurns(first_places);
  for (const auto& [rank, of_rank] : places) {
    const std::optional<Turns> turns = FindTurns(of_rank);
    if (turns == first) continue;
    return absl::StrCat("ranks differ: on rank ", first_rank, " places take turns ", Describe(first), ", on rank ",
                        rank, " ", Describe(turns));
  }
  return absl::StrCat("places take turns ", Describe(std::nullopt));
}

}  // namespace

std::optional<Turns> FindTurns(const std::vector<uint32_t>& places) {
  Turns best;
  for (uint32_t period = 1; period <= tnbc::kProfilePeriodMax && period < places.size(); ++period) {
    size_t begin = 0;
    for (size_t i = period; i <= places.size(); ++i) {
      if (i < places.size() && places[i] == places[i - period]) continue;
      const uint64_t calls = i - begin;
      if (calls >= 2 * period && calls > best.calls) best = {.first = begin + 1, .calls = calls, .period = period};
      begin = i - period + 1;
    }
  }
  if (best.calls < kCallsMin || 2 * best.calls < places.size()) return std::nullopt;
  return best;
}

void CallPlaces::Add(uint32_t rank, uint64_t number, uint32_t site) {
  const auto [found, is_new] = sites_[rank].emplace(number, site);
  if (is_new || found->second == site) return;
  twice_ = std::min(twice_.value_or(number), number);
}

CallPlaces::InTurn CallPlaces::Find() const {
  InTurn result;
  std::vector<uint32_t>& together = result.places;
  if (twice_.has_value()) {
    result.why_none =
        absl::StrCat("call ", *twice_, " is made at several places, by communicators of the same members");
    return result;
  }
  uint64_t calls = UINT64_MAX;  // number of calls from 1 on that all ranks have
  for (const auto& [rank, sites] : sites_) {
    uint64_t mine = 0;
    while (mine < calls && sites.count(mine + 1) != 0) ++mine;
    calls = mine;
  }
  if (sites_.empty() || calls == 0) return result;
  together.resize(calls);
  std::map<uint32_t, std::vector<uint32_t>> by_rank;
  for (const auto& [rank, sites] : sites_) {
    std::vector<uint32_t>& mine = by_rank[rank];
    for (uint64_t i = 0; i < calls; ++i) mine.push_back(sites.at(i + 1));
    // Calls that are equal on the ranks before may have different places on this rank, and then get different numbers.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> indices;
    for (uint64_t i = 0; i < calls; ++i) {
      const auto next = static_cast<uint32_t>(indices.size());
      together[i] = indices.emplace(std::make_pair(together[i], mine[i]), next).first->second;
    }
  }
  if (IsOnePlace(together)) return result;
  result.turns = FindTurns(together);
  if (!result.turns.has_value()) result.why_none = WhyNone(by_rank);
  return result;
}

}  // namespace copse::trace
