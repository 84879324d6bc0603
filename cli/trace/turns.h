// SPDX-License-Identifier: Apache-2.0
//
// Finds periods in the sequence of places (call sites) from which a program makes the calls of one kind.
#ifndef COPSE_CLI_TRACE_TURNS_H_
#define COPSE_CLI_TRACE_TURNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace copse::trace {

// Turns is a run of consecutive calls whose places repeat: after the first `period` calls, each call's place equals
// that of the call one period before.
struct Turns {
  uint64_t first = 1;  // number of the run's first call, from 1
  uint64_t calls = 0;
  uint32_t period = 1;

  bool operator==(const Turns&) const = default;
};

// Finds the longest run of calls whose places repeat; of equally long runs, the one with the shortest period.
//
// Input:  places[i] is the place of call i + 1; equal numbers are equal places.
// Output: nothing if the run is shorter than half of all calls, two periods, or four calls. Periods are at most
//         tnbc::kProfilePeriodMax.
std::optional<Turns> FindTurns(const std::vector<uint32_t>& places);

// CallPlaces collects the places at which all ranks together make the calls of one kind. Ranks may call from different
// places.
class CallPlaces {
 public:
  // Adds a call. `number` is the call's number within its kind, from 1. Equal values of `site` are the same place of
  // that rank's program.
  void Add(uint32_t rank, uint64_t number, uint32_t site);

  struct InTurn {
    // places[number - 1] identifies the places of a call: two calls have equal values if each rank made both at the
    // same place. The list ends before the first call that a rank lacks. It is empty if a rank has added a number twice
    // with different sites.
    std::vector<uint32_t> places;
    std::optional<Turns> turns;  // nothing also if all calls are made at one place
    std::string why_none;        // reason for having no `turns` although there are several places
  };
  InTurn Find() const;

 private:
  std::map<uint32_t, std::map<uint64_t, uint32_t>> sites_;  // by rank, by number
  std::optional<uint64_t> twice_;                           // lowest number that has two sites on one rank
};

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TURNS_H_
