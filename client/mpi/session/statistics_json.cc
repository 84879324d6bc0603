// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/statistics_json.h"

#include <stdio.h>

#include <cstdint>

#include "client/mpi/session/early_verdict.h"
#include "client/mpi/session/statistics.h"

namespace copse::mpi {
namespace {

// A JsonObject collects members. This library has no JSON library, since it is loaded into every process of a job.
class JsonObject {
 public:
  JsonObject& Add(const char* key, uint64_t value) { return AddJson(key, std::to_string(value)); }
  JsonObject& AddSeconds(const char* key, double ns) {
    char text[32];
    snprintf(text, sizeof(text), "%.9f", ns / 1e9);
    return AddJson(key, text);
  }
  JsonObject& AddText(const char* key, const std::string& value) { return AddJson(key, Quoted(value)); }
  JsonObject& AddJson(const char* key, const std::string& json) {
    text_ += (text_.empty() ? "" : ", ") + Quoted(key) + ": " + json;
    return *this;
  }
  std::string Get() const { return "{" + text_ + "}"; }

 private:
  // Texts of this library have no control characters.
  static std::string Quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }

  std::string text_;
};

double Ns(uint64_t ns) { return static_cast<double>(ns); }

std::string JsonOf(const ComparedCalls& calls) {
  return JsonObject()
      .Add("calls", calls.calls)
      .AddSeconds("copse_s", Ns(calls.copse_ns))
      .AddSeconds("mpi_s", Ns(calls.mpi_ns))
      .Get();
}

// Returns the counts that are not 0, by the names of their reasons.
template <typename Reason, typename Counts>
std::string JsonOfReasons(const Counts& counts) {
  JsonObject reasons;
  for (size_t reason = 0; reason < counts.size(); ++reason) {
    if (counts[reason] > 0) reasons.Add(NameOf(static_cast<Reason>(reason)), counts[reason]);
  }
  return reasons.Get();
}

std::string JsonOf(const CollectiveFigures& row) {
  return JsonObject()
      .AddText("name", NameOf(row.entry))
      .Add("offloaded", row.offloaded)
      .AddSeconds("offloaded_s", Ns(row.offloaded_ns))
      .Add("by_mpi", row.all_passed())
      .AddSeconds("by_mpi_s", Ns(row.passed_ns))
      .AddJson("reasons", JsonOfReasons<Reason>(row.passed))
      .AddJson("compared_by_copse", JsonOf(row.by_copse))
      .AddJson("compared_by_mpi", JsonOf(row.by_mpi))
      .Get();
}

std::string JsonOf(const RunFigures::Teams& formed, const RunFigures::Teams& not_formed) {
  return JsonObject()
      .Add("formed", formed.count)
      .AddSeconds("formed_s", Ns(formed.ns))
      .Add("not_formed", not_formed.count)
      .AddSeconds("not_formed_s", Ns(not_formed.ns))
      .Get();
}

std::string JsonOf(const EarlyFigures& early) {
  return JsonObject()
      .Add("calls", early.calls)
      .AddJson("blocked", JsonOfReasons<BlockReason>(early.blocked))
      .AddSeconds("inside_s", Ns(early.inside_ns))
      .AddSeconds("behind_s", Ns(early.behind_ns))
      .Add("waits", early.waits)
      .AddSeconds("waited_s", Ns(early.waited_ns))
      .AddSeconds("hidden_s", HiddenNs(early))
      .AddText("text", VerdictOf(early))
      .Get();
}

std::string JsonOf(const RunVerdict& verdict) {
  return JsonObject()
      .AddText("outcome", NameOf(verdict.outcome))
      .Add("calls", verdict.calls)
      .Add("offloaded", verdict.offloaded)
      .AddSeconds("offloaded_s", Ns(verdict.offloaded_ns))
      .AddJson("compared_by_copse", JsonOf(verdict.by_copse))
      .AddJson("compared_by_mpi", JsonOf(verdict.by_mpi))
      .AddText("text", verdict.text)
      .Get();
}

}  // namespace

std::string JsonOf(const RunFigures& figures, const RunVerdict& verdict) {
  std::string collectives;
  for (const CollectiveFigures& row : figures.collectives) {
    collectives += (collectives.empty() ? "" : ", ") + JsonOf(row);
  }
  JsonObject all;
  all.Add("rank", static_cast<uint64_t>(figures.rank))
      .Add("ranks", static_cast<uint64_t>(figures.size))
      .AddJson("collectives", "[" + collectives + "]")
      .AddJson("teams", JsonOf(figures.formed, figures.not_formed));
  if (figures.early.has_value()) all.AddJson("early", JsonOf(*figures.early));
  return all.AddJson("verdict", JsonOf(verdict)).Get();
}

}  // namespace copse::mpi
