// SPDX-License-Identifier: Apache-2.0
//
// Which places of a program take turns in making the calls of one kind.
#ifndef COPSE_CLI_TRACE_TURNS_H_
#define COPSE_CLI_TRACE_TURNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace copse::trace {

// Calls one after the other, each of which is made where the one was that is a period before it.
struct Turns {
  uint64_t first = 1;  // its number, from 1
  uint64_t calls = 0;
  uint32_t period = 1;

  bool operator==(const Turns&) const = default;
};

// The most calls that take turns, by the shortest period of them.
//
// Input:  places[i] of call i + 1; equal numbers are equal places.
// Output: none if these are fewer than half of all calls, than two periods, or than four.
std::optional<Turns> FindTurns(const std::vector<uint32_t>& places);

// Where all ranks together make the calls of one kind. They need not be at one place: each may have its own.
class CallPlaces {
 public:
  // `number`: of its kind, from 1; `site`: equal numbers are equal places of that rank's program.
  void Add(uint32_t rank, uint64_t number, uint32_t site);

  struct InTurn {
    // By number - 1, of those calls that all ranks have before one that some have not: equal where each rank is where
    // it was.
    std::vector<uint32_t> places;
    std::optional<Turns> turns;  // none, too, if all calls are made at one place
    std::string why_none;        // though there are several places
  };
  InTurn Find() const;

 private:
  std::map<uint32_t, std::map<uint64_t, uint32_t>> sites_;  // by rank, by number
  std::optional<uint64_t> twice_;                           // the first number that was given two sites on a rank
};

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TURNS_H_
