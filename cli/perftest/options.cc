// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/options.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "cli/command_line/parse.h"

namespace copse::perftest {
namespace {

constexpr char kFooter[] =
    "A SIZE is a number of elements, 1K is 1024; with a B at its end, as in 64KiB, it is a number of bytes.\n"
    "Rank and size come from --rank and --ranks, else from PMI_RANK and PMI_SIZE, OMPI_COMM_WORLD_RANK and _SIZE, or\n"
    "SLURM_PROCID and SLURM_NTASKS. Rank 0 prints.\n"
    "Exit codes: 0 done, 1 failed or wrong data, 2 bad usage, 3 cannot reach the daemon, 4 timed out.";

constexpr char kDefaultEnd[] = "64KiB";

struct LauncherVariables {
  const char* rank;
  const char* ranks;
};
constexpr LauncherVariables kLaunchers[] = {
    {"PMI_RANK", "PMI_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};
// These variables together identify one launch of a program. Those that are set become part of the default team's name.
constexpr const char* kJobVariables[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMI_JOBID", "PMIX_NAMESPACE",
                                         "OMPI_MCA_ess_base_jobid"};

template <typename... Args>
absl::Status Usage(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat("usage: ", args...));
}

template <typename Names>
std::string Joined(const Names& names) {
  std::vector<absl::string_view> texts;
  for (const std::string_view name : names) texts.push_back(AbslView(name));
  return absl::StrJoin(texts, ", ");
}

// Sets `*choice` to the enum value whose name is `name`; `names` is indexed by enum value. `what` begins the error.
template <typename Enum, typename Names>
absl::Status Choose(const char* what, const std::string& name, const Names& names, Enum* choice) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return Usage(what, " (value=", name, ", known=", Joined(names), ")");
  *choice = static_cast<Enum>(found - std::begin(names));
  return absl::OkStatus();
}

constexpr std::string_view kMemoryNames[] = {"host", "copse"};
constexpr std::string_view kFormatNames[] = {"text", "csv", "json"};

// Parses a number of elements, or of bytes if it ends in B, and returns the number of elements of `type`.
absl::StatusOr<uint64_t> ParseSize(const std::string& flag, const std::string& text, ElementType type) {
  const absl::StatusOr<int64_t> amount = ParseBytes(text);
  if (!amount.ok()) return Usage(flag, ": not a size (value=", text, ")");
  const auto value = static_cast<uint64_t>(*amount);
  const uint32_t type_bytes = ElementBytes(type);
  const bool bytes = !text.empty() && text.back() == 'B';
  if (!bytes) {
    if (value > UINT64_MAX / 2 / type_bytes) return Usage(flag, ": too large (value=", text, ")");
    return value;
  }
  if (value % type_bytes != 0) {
    return Usage(flag, ": not a multiple of the type (bytes=", value, ", type=", AbslView(TypeName(type)),
                 ", type_bytes=", type_bytes, ")");
  }
  return value / type_bytes;
}

// Lists the counts from `begin` to at most `end`, each `factor` times the one before; 0 is followed by 1.
std::vector<uint64_t> CountsFrom(uint64_t begin, uint64_t end, uint64_t factor) {
  std::vector<uint64_t> counts;
  for (uint64_t count = begin; count <= end; count = std::max<uint64_t>(1, count * factor)) {
    counts.push_back(count);
    if (count > end / factor) break;
  }
  return counts;
}

// An OptionsParser parses one command line. It owns the CLI11 objects and the memory into which CLI11 stores values.
class OptionsParser {
 public:
  explicit OptionsParser(const Environment& environment)
      : environment_(environment), app_("Measures the collectives of a Copse cluster, as their callers see them.") {
    cli::SetUp(&app_, "copse-perftest", kFooter, /*column_width=*/34);
    AddWhat();
    AddHow();
    AddHowMuch();
    AddWho();
  }

  absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments) {
    options_.flags = absl::StrJoin(arguments, " ");
    CommandLine line;
    ASSIGN_OR_RETURN(line.answer, cli::Parse(&app_, std::move(arguments)));
    if (line.answer.has_value()) return line;
    RETURN_IF_ERROR(FinishWhat());
    RETURN_IF_ERROR(FinishHow());
    RETURN_IF_ERROR(FinishWho());
    line.options = options_;
    return line;
  }

 private:
  CLI::Option* Add(const std::string& names, std::string* text, const std::string& value, const std::string& help) {
    return app_.add_option(names, *text, help)->option_text(value);
  }
  template <typename T>
  CLI::Option* AddNumber(const std::string& names, T* number, const std::string& help) {
    return app_.add_option(names, *number, help)->option_text("N");
  }

  void AddWhat() {
    Add("-c,--collective", &collectives_, "NAME[,NAME]...",
        absl::StrCat(Joined(CollectiveNames()), ", or all; default allreduce"));
    Add("-b,--begin", &begin_, "SIZE", "smallest message; default 1");
    Add("-e,--end", &end_, "SIZE", absl::StrCat("largest message; default ", kDefaultEnd));
    AddNumber("-f,--factor", &factor_, "from one size to the next; default 2");
    Add("-d,--datatype", &type_, "NAME",
        absl::StrCat(
            Joined(TypeNames()),
            ", or float, double, half, complex_float, complex_double, char, short, int, long; default float32"));
    Add("-o,--op", &operation_, "NAME", absl::StrCat(Joined(kElementOpNames), "; default sum"));
    Add("-m,--memory", &memory_, "KIND", "host, or copse for memory of copse_alloc; default host");
    app_.add_flag("-i,--in-place", options_.in_place, "the contribution is in the receive buffer")->option_text(" ");
    app_.add_flag("--reproducible", options_.reproducible, "reductions have the same bits whatever the plan")
        ->option_text(" ");
    Add("--counts", &counts_kind_, "KIND",
        absl::StrCat("lengths of the blocks of gatherv and so on, around the size: ", Joined(kCountsKindNames),
                     "; default equal"));
    app_.add_flag("--counts-known", options_.counts_known, "gatherv, scatterv: all ranks give them, not the root alone")
        ->option_text(" ");
    AddNumber("-r,--root", &options_.roots.first, "root of the first call; default 0");
    AddNumber("-S,--root-shift", &options_.roots.shift, "ranks from one call's root to the next one's; default 0");
  }

  void AddHow() {
    Add("-M,--mode", &mode_, "MODE",
        "blocking: the blocking call; nonblocking: init, post, wait, finalize; overlap: post, compute, wait; default "
        "blocking");
    mode_given_ = app_.get_option("--mode");
    app_.add_flag("-p,--persistent", options_.request.persistent,
                  "initialize a request once and post it at every call; not with -M blocking")
        ->option_text(" ");
    Add("--completion", &completion_, "wait|test",
        "how a call that is not blocking is completed: by copse_wait, or by copse_test again and again; default wait");
    AddNumber("-t,--tests", &options_.request.tests,
              "calls of copse_test during a computation (-M overlap); default 0");
    app_.add_flag("-B,--back-to-back", options_.back_to_back, "no barrier before each call")->option_text(" ");
  }

  void AddHowMuch() {
    AddNumber("-n,--iterations", &iterations_, "calls that are measured, of a size; default 1000");
    AddNumber("-N,--iterations-large", &iterations_large_, "the same, of a large size; default: as -n, else 200");
    AddNumber("-w,--warmup", &warmup_, "calls before those; default 100");
    AddNumber("-W,--warmup-large", &warmup_large_, "the same, of a large size; default: as -w, else 20");
    Add("--large", &large_, "BYTES", "sizes above this are large; default 8KiB");
    app_.add_flag("-C,--check", options_.check, "check the data of every call; wrong data is exit code 1")
        ->option_text(" ");
    AddNumber("--seed", &options_.seed, "of the data that is checked, the same on all ranks; default 1");
    Add("--format", &format_, "text|csv|json",
        "a table, CSV (quoted as RFC 4180 says), or a JSON object a line; default text");
  }

  void AddWho() {
    AddNumber("--rank", &rank_, "this process's rank, from 0");
    AddNumber("--ranks", &ranks_, "number of ranks");
    AddNumber("--local", &local_, absl::StrCat("start N ranks on this node, at most ", kLocalRanksMax));
    Add("--team", &options_.member.team, "NAME", "name of the team, the same on all ranks; default: of the job");
    app_.add_option("--timeout", timeout_s_,
                    "for the team's formation, and for each call; default: none, the cluster's for formation "
                    "(COPSE_TIMEOUT)")
        ->option_text("SECONDS");
  }

  absl::Status FinishWhat() {
    for (const auto& part : absl::StrSplit(collectives_, ',')) {
      const std::string name(part);
      if (name == "all") {
        for (int i = 0; i < kCollectiveCount; ++i) options_.collectives.push_back(static_cast<Collective>(i));
        continue;
      }
      Collective collective = {};
      RETURN_IF_ERROR(Choose("-c: no such collective", name, CollectiveNames(), &collective));
      options_.collectives.push_back(collective);
    }
    const std::optional<ElementType> type = TypeFromName(type_);
    if (!type.has_value()) RETURN_IF_ERROR(Choose("-d: no such datatype", type_, TypeNames(), &options_.type));
    options_.type = type.value_or(options_.type);
    RETURN_IF_ERROR(Choose("-o: no such operation", operation_, kElementOpNames, &options_.operation));
    const bool reduces = std::any_of(options_.collectives.begin(), options_.collectives.end(), Reduces);
    if (reduces && !IsDefined(options_.operation, options_.type)) {
      return Usage("-o: not defined on the type (value=", operation_, ", type=", AbslView(TypeName(options_.type)),
                   ")");
    }
    RETURN_IF_ERROR(Choose("-m: no such kind of memory", memory_, kMemoryNames, &options_.memory));
    RETURN_IF_ERROR(Choose("--counts: no such kind", counts_kind_, kCountsKindNames, &options_.counts_kind));
    return FinishSizes();
  }

  absl::Status FinishSizes() {
    ASSIGN_OR_RETURN(const uint64_t begin, ParseSize("-b", begin_, options_.type));
    uint64_t end;
    if (end_.empty()) {
      ASSIGN_OR_RETURN(end, ParseSize("-e", kDefaultEnd, options_.type));
      end = std::max(begin, end);
    } else {
      ASSIGN_OR_RETURN(end, ParseSize("-e", end_, options_.type));
    }
    if (begin > end) return Usage("-b: above the largest size (elements=", begin, ", limit=", end, ")");
    if (factor_ < 2) return Usage("-f: too small (value=", factor_, ", limit=2)");
    options_.counts = CountsFrom(begin, end, factor_);
    const absl::StatusOr<int64_t> large = ParseBytes(large_);
    if (!large.ok()) return Usage("--large: not a number of bytes (value=", large_, ")");
    options_.repetitions.large_bytes = static_cast<uint64_t>(*large);
    return absl::OkStatus();
  }

  absl::Status FinishHow() {
    RETURN_IF_ERROR(Choose("-M: no such mode", mode_, kModeNames, &options_.mode));
    // Without an explicit mode, -p means nonblocking requests.
    if (options_.request.persistent && mode_given_->count() == 0) options_.mode = Mode::kNonblocking;
    if (options_.mode == Mode::kBlocking && options_.request.persistent) {
      return Usage("-p: a blocking call has no request that could be kept (mode=blocking)");
    }
    if (completion_ != "wait" && completion_ != "test") {
      return Usage("--completion: neither wait nor test (value=", completion_, ")");
    }
    options_.request.completion = completion_ == "wait" ? Completion::kWait : Completion::kTest;
    if (options_.request.completion == Completion::kTest && options_.mode == Mode::kBlocking) {
      return Usage("--completion: a blocking call completes itself (mode=blocking)");
    }
    if (options_.request.tests > 0 && options_.mode != Mode::kOverlap) {
      return Usage("-t: nothing is computed (mode=", mode_, ", wanted=overlap)");
    }
    RETURN_IF_ERROR(Choose("--format: no such format", format_, kFormatNames, &options_.format));
    return FinishIterations();
  }

  absl::Status FinishIterations() {
    const uint64_t iterations = iterations_.value_or(1000);
    const uint64_t iterations_large = iterations_large_.value_or(iterations_.value_or(200));
    const uint64_t warmup = warmup_.value_or(100);
    const uint64_t warmup_large = warmup_large_.value_or(warmup_.value_or(20));
    for (const auto& [flag, value] :
         {std::pair("-n", iterations), {"-N", iterations_large}, {"-w", warmup}, {"-W", warmup_large}}) {
      if (value > kIterationsMax) return Usage(flag, ": too many (value=", value, ", limit=", kIterationsMax, ")");
    }
    if (iterations == 0) return Usage("-n: nothing to measure (value=0)");
    if (iterations_large == 0) return Usage("-N: nothing to measure (value=0)");
    options_.repetitions.small = {static_cast<uint32_t>(iterations), static_cast<uint32_t>(warmup)};
    options_.repetitions.large = {static_cast<uint32_t>(iterations_large), static_cast<uint32_t>(warmup_large)};
    return absl::OkStatus();
  }

  absl::Status FinishWho() {
    if (timeout_s_.has_value() && !(*timeout_s_ > 0 && *timeout_s_ <= kTimeoutMaxSeconds)) {
      return Usage(absl::StrFormat("--timeout: not a number of seconds above 0 (value=%g, limit=%g)", *timeout_s_,
                                   kTimeoutMaxSeconds));
    }
    options_.member.timeout_s = timeout_s_;
    if (!timeout_s_.has_value()) RETURN_IF_ERROR(FindTimeout());
    if (local_.has_value()) {
      RETURN_IF_ERROR(BeLocal());
    } else {
      RETURN_IF_ERROR(FindRank());
    }
    if (options_.member.ranks == 0 || options_.member.ranks > kRanksMax) {
      return Usage("--ranks: out of range (value=", options_.member.ranks, ", limit=", kRanksMax, ")");
    }
    if (options_.member.rank >= options_.member.ranks) {
      return Usage("--rank: no such rank (rank=", options_.member.rank, ", limit=", options_.member.ranks - 1, ")");
    }
    if (options_.roots.first >= options_.member.ranks) {
      return Usage("-r: no such rank (root=", options_.roots.first, ", limit=", options_.member.ranks - 1, ")");
    }
    return CheckTeam();
  }

  absl::Status BeLocal() {
    if (rank_.has_value() || ranks_.has_value())
      return Usage("--local: gives the ranks itself; not with --rank, --ranks");
    if (*local_ == 0 || *local_ > kLocalRanksMax) {
      return Usage("--local: out of range (value=", *local_, ", limit=", kLocalRanksMax, ")");
    }
    options_.local = options_.member.ranks = *local_;
    if (options_.member.team.empty()) options_.member.team = absl::StrCat("perftest-local-", getpid());
    return absl::OkStatus();
  }

  // Takes COPSE_TIMEOUT as libcopse does, for which 0, negative and infinite times are none.
  absl::Status FindTimeout() {
    const char* text = environment_("COPSE_TIMEOUT");
    if (text == nullptr || *text == '\0') return absl::OkStatus();
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end != '\0' || std::isnan(seconds)) return Usage("COPSE_TIMEOUT: not a number of seconds (value=", text, ")");
    if (seconds > 0 && seconds <= kTimeoutMaxSeconds) options_.member.timeout_s = seconds;
    return absl::OkStatus();
  }

  absl::Status FindRank() {
    if (rank_.has_value() != ranks_.has_value()) return Usage("--rank and --ranks: one without the other");
    if (rank_.has_value()) {
      options_.member.rank = *rank_;
      options_.member.ranks = *ranks_;
      return absl::OkStatus();
    }
    for (const LauncherVariables& launcher : kLaunchers) {
      const char* rank = environment_(launcher.rank);
      const char* ranks = environment_(launcher.ranks);
      if (rank == nullptr || ranks == nullptr) continue;
      if (!absl::SimpleAtoi(rank, &options_.member.rank) || !absl::SimpleAtoi(ranks, &options_.member.ranks)) {
        return Usage("not a rank and a size (", launcher.rank, "=", rank, ", ", launcher.ranks, "=", ranks, ")");
      }
      return absl::OkStatus();
    }
    return Usage("which rank is this? Give --local N, or --rank and --ranks, or start by a launcher; try --help");
  }

  absl::Status CheckTeam() {
    std::string& team = options_.member.team;
    if (team.empty()) {
      team = "perftest";
      for (const char* name : kJobVariables) {
        const char* value = environment_(name);
        if (value != nullptr && *value != '\0') absl::StrAppend(&team, "-", value);
      }
      team = team.substr(0, 127);
    }
    const bool printable = std::all_of(team.begin(), team.end(), [](char c) { return c > ' ' && c < 127; });
    if (team.size() > 127 || !printable) {
      return Usage("--team: not 1 to 127 printable characters (length=", team.size(), ")");
    }
    return absl::OkStatus();
  }

  const Environment& environment_;
  CLI::App app_;
  Options options_;
  std::string collectives_ = "allreduce", begin_ = "1", end_, type_ = "float32", operation_ = "sum", memory_ = "host";
  std::string mode_ = "blocking", completion_ = "wait", large_ = "8KiB", format_ = "text";
  std::string counts_kind_ = "equal";
  uint32_t factor_ = 2;
  std::optional<uint64_t> iterations_, iterations_large_, warmup_, warmup_large_;
  std::optional<uint32_t> rank_, ranks_, local_;
  std::optional<double> timeout_s_;
  CLI::Option* mode_given_ = nullptr;
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const Environment& environment) {
  return OptionsParser(environment).Parse(arguments);
}

}  // namespace copse::perftest
