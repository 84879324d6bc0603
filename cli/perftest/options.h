// SPDX-License-Identifier: Apache-2.0
//
// Parses copse-perftest's command line.
#ifndef COPSE_CLI_PERFTEST_OPTIONS_H_
#define COPSE_CLI_PERFTEST_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/perftest/block_counts.h"
#include "cli/perftest/collective.h"

namespace copse::perftest {

inline constexpr uint64_t kIterationsMax = 10'000'000;  // limited because every call's time is stored
inline constexpr uint32_t kLocalRanksMax = 256;
inline constexpr uint32_t kRanksMax = 1u << 20;
inline constexpr double kTimeoutMaxSeconds = 86400;

enum class Mode { kBlocking, kNonblocking, kOverlap };
inline constexpr std::string_view kModeNames[] = {"blocking", "nonblocking", "overlap"};
enum class Completion { kWait, kTest };
enum class Memory { kHost, kCopse };
enum class Format { kText, kCsv, kJson };

// Repetitions says how many calls of a size are made: those that are measured, and `warmup` before them.
struct Repetitions {
  struct Count {
    uint32_t iterations = 0, warmup = 0;
  };
  Count small, large;
  uint64_t large_bytes = 0;  // sizes above this are large

  const Count& Of(uint64_t bytes) const { return bytes > large_bytes ? large : small; }
};

// Roots are those of calls in turn: `first`, and then always `shift` ranks on.
struct Roots {
  uint32_t first = 0, shift = 0;
};

// A Request is how a call that is not blocking is made.
struct Request {
  Completion completion = Completion::kWait;
  bool persistent = false;
  uint32_t tests = 0;  // number of copse_test calls during a computation
};

// A Member is this process's place in its team.
struct Member {
  uint32_t rank = 0, ranks = 0;
  std::string team;
  std::optional<double> timeout_s;  // for the team's formation, and for each call
};

// Options holds the checked values of the command line and the environment.
struct Options {
  std::vector<Collective> collectives;
  ElementType type = ElementType::kFloat;
  ElementOp operation = ElementOp::kSum;
  std::vector<uint64_t> counts;                 // elements, ascending
  CountsKind counts_kind = CountsKind::kEqual;  // distribution of an irregular collective's blocks, with mean `counts`
  bool counts_known = false;                    // gatherv, scatterv: all ranks pass the counts, not only the root
  Memory memory = Memory::kHost;
  bool in_place = false;
  bool reproducible = false;
  Roots roots;

  Mode mode = Mode::kBlocking;
  Request request;
  bool back_to_back = false;

  Repetitions repetitions;
  bool check = false;
  uint64_t seed = 1;
  Format format = Format::kText;

  Member member;
  uint32_t local = 0;  // above 0: this process starts so many ranks as children, for which it sets `member.rank`

  std::string flags;  // arguments of the command line, joined by spaces

  const Repetitions::Count& RepetitionsOf(uint64_t count) const { return repetitions.Of(count * ElementBytes(type)); }
  uint32_t RootOf(uint64_t call) const {
    return static_cast<uint32_t>((roots.first + call * roots.shift) % member.ranks);
  }
};

struct CommandLine {
  std::optional<std::string> answer;  // if set, the program prints it and ends
  Options options;
};

// An Environment returns the value of an environment variable, or null if the variable is not set.
using Environment = std::function<const char*(const char* name)>;

// Parses `arguments`, which exclude the program's name. The rank, the number of ranks, the name of the job and the
// time-out (COPSE_TIMEOUT) are taken from `environment` if they are not given. Errors: INVALID_ARGUMENT, which
// describes the mistake in one line.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_OPTIONS_H_
