// SPDX-License-Identifier: Apache-2.0
//
// Finds places of a program that take turns in making the calls of one kind.
#ifndef COPSE_CLI_TRACE_TURNS_H_
#define COPSE_CLI_TRACE_TURNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace copse::trace {

// Turns is a run of calls in which each call's place equals that of the call one period before.
struct Turns {
  uint64_t first = 1;  // its first call's number, from 1
  uint64_t calls = 0;
  uint32_t period = 1;

  bool operator==(const Turns&) const = default;
};

// Finds the longest run of calls that take turns, by its shortest period.
//
// Input:  places[i] of call i + 1; equal numbers are equal places.
// Output: nothing if the run is shorter than half of all calls, than two periods, or than four.
std::optional<Turns> FindTurns(const std::vector<uint32_t>& places);

// CallPlaces collects the places at which all ranks together make the calls of one kind. Ranks may call from different
// places.
class CallPlaces {
 public:
  // Adds a call. `number` is within its kind, from 1; equal `site`s are equal places of that rank's program.
  void Add(uint32_t rank, uint64_t number, uint32_t site);

  struct InTurn {
    // By number - 1, for the calls before the first one that a rank lacks: equal for two calls if each rank made both
    // at the same place.
    std::vector<uint32_t> places;
    std::optional<Turns> turns;  // also nothing if all calls are made at one place
    std::string why_none;        // set if there are several places
  };
  InTurn Find() const;

 private:
  std::map<uint32_t, std::map<uint64_t, uint32_t>> sites_;  // by rank, by number
  std::optional<uint64_t> twice_;                           // the first number with two sites on a rank
};

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TURNS_H_
