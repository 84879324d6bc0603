// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/traces.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "cli/trace/turns.h"

namespace copse::trace {
namespace {

using Order = std::vector<uint32_t>;

constexpr size_t kDisagreementsMax = 20;

absl::StatusOr<tnbc::TraceFile> ReadTrace(const std::filesystem::path& path) {
  const std::optional<std::string> text = ReadFile(path);
  if (!text.has_value()) return absl::InvalidArgumentError(absl::StrCat(path.string(), ": cannot be read"));
  tnbc::TraceFile trace;
  const std::string error = tnbc::ParseTrace(*text, &trace);
  if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", error));
  return trace;
}

// Returns each fragment's place in the order of a call's first accesses; nothing if the result was never accessed.
std::optional<std::vector<uint64_t>> PlacesOf(const tnbc::TraceCall& call) {
  const std::vector<uint64_t> touches = FirstTouches(call);
  if (std::all_of(touches.begin(), touches.end(), [](uint64_t ns) { return ns == UINT64_MAX; })) return std::nullopt;
  Order order(call.parts);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return touches[a] < touches[b]; });
  std::vector<uint64_t> places(call.parts);
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

// Places counts, for each fragment, the places that it has had in the access orders of calls.
class Places {
 public:
  void Add(const std::vector<uint64_t>& places) {
    parts_.resize(places.size());
    for (size_t part = 0; part < places.size(); ++part) {
      ++parts_[part].calls_at[places[part]];
      parts_[part].sum += places[part];
    }
    ++calls_;
  }

  uint64_t calls() const { return calls_; }
  // Returns the fragments sorted by the median of their places, so that a few exceptional calls change nothing; equal
  // medians are sorted by the mean.
  Order OrderOf(uint32_t parts) const {
    std::vector<std::pair<uint64_t, uint64_t>> keys;
    for (const Part& part : parts_) keys.emplace_back(MedianOf(part), part.sum);
    keys.resize(parts);
    Order order(parts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return order;
  }

 private:
  struct Part {
    std::map<uint64_t, uint64_t> calls_at;  // by place
    uint64_t sum = 0;
  };

  uint64_t MedianOf(const Part& part) const {
    uint64_t calls = 0;
    for (const auto& [place, here] : part.calls_at) {
      calls += here;
      if (2 * calls >= calls_) return place;
    }
    return 0;
  }

  std::vector<Part> parts_;
  uint64_t calls_ = 0;
};

// A Tally counts how many calls had each access order.
class Tally {
 public:
  void Add(const std::vector<uint64_t>& places) {
    places_.Add(places);
    ++calls_of_[places];
  }

  CommonOrder Finish(uint32_t parts) const {
    CommonOrder common = {.order = places_.OrderOf(parts), .calls = places_.calls()};
    std::vector<uint64_t> in_order(parts);
    for (uint32_t i = 0; i < parts; ++i) in_order[common.order[i]] = i;
    const auto found = calls_of_.find(in_order);
    if (found != calls_of_.end()) common.in_order = found->second;
    return common;
  }

 private:
  Places places_;
  std::map<std::vector<uint64_t>, uint64_t> calls_of_;
};

// Returns the time, in ns, that the program would have waited if the call's data had arrived in the order of first
// accesses, at the recorded arrival times, with unchanged computation between the accesses.
uint64_t WaitedAtBest(const tnbc::TraceCall& call) {
  std::vector<uint64_t> there;
  std::vector<const tnbc::TracePiece*> touched;
  for (const tnbc::TracePiece& piece : call.pieces) {
    if (!piece.there.has_value()) continue;
    there.push_back(*piece.there);
    if (piece.touch.has_value()) touched.push_back(&piece);
  }
  std::sort(there.begin(), there.end());
  std::sort(touched.begin(), touched.end(), [](const auto* a, const auto* b) { return *a->touch < *b->touch; });
  // `before` is the recorded end of the previous access, with its wait; `now` is the replayed time.
  uint64_t before = 0, now = 0, waited = 0;
  for (size_t i = 0; i < touched.size(); ++i) {
    now += *touched[i]->touch - std::min(before, *touched[i]->touch);
    before = *touched[i]->touch + touched[i]->waited;
    if (there[i] <= now) continue;
    waited += there[i] - now;
    now = there[i];
  }
  return waited;
}

class Summarizer {
 public:
  void Add(uint32_t rank, const KindKey& key, const std::string& site, const tnbc::TraceCall& call) {
    Sums& sums = sums_[{key, site}];
    sums.ranks.insert(rank);
    SiteSummary& summary = sums.summary;
    summary.kind = key;
    summary.site = site;
    summary.parts.resize(key.parts);
    ++summary.calls;
    if (!call.early) return;
    ++summary.early;
    summary.inside += static_cast<double>(call.inside);
    AddPieces(call, &summary);
    AddParts(call, &summary);
    summary.waited_at_best += static_cast<double>(WaitedAtBest(call));
    if (const auto places = PlacesOf(call); places.has_value()) sums.places.Add(*places);
  }

  std::vector<SiteSummary> Finish() {
    std::vector<SiteSummary> summaries;
    for (auto& [key, sums] : sums_) {
      SiteSummary& summary = sums.summary;
      summary.ranks = static_cast<uint32_t>(sums.ranks.size());
      summary.order = sums.places.OrderOf(summary.kind.parts);
      const auto early = static_cast<double>(std::max<uint64_t>(summary.early, 1));
      for (double* sum : {&summary.inside, &summary.there, &summary.waited, &summary.waited_at_best}) *sum /= early;
      for (PartTimes& part : summary.parts) {
        part.there /= static_cast<double>(std::max<uint64_t>(part.calls, 1));
        part.waited /= static_cast<double>(std::max<uint64_t>(part.calls, 1));
        part.touch /= static_cast<double>(std::max<uint64_t>(part.touched_calls, 1));
      }
      summaries.push_back(std::move(summary));
    }
    return summaries;
  }

 private:
  struct Sums {
    SiteSummary summary;
    std::set<uint32_t> ranks;
    Places places;
  };

  static void AddPieces(const tnbc::TraceCall& call, SiteSummary* summary) {
    uint64_t last = 0;
    for (const tnbc::TracePiece& piece : call.pieces) {
      ++summary->pieces;
      if (!piece.touch.has_value()) ++summary->untouched;
      last = std::max(last, piece.there.value_or(0));
      summary->waited += static_cast<double>(piece.waited);
    }
    summary->there += static_cast<double>(last);
  }

  static void AddParts(const tnbc::TraceCall& call, SiteSummary* summary) {
    const std::vector<uint64_t> touches = FirstTouches(call);
    for (uint32_t part = 0; part < call.parts; ++part) {
      PartTimes& times = summary->parts[part];
      uint64_t there = 0, waited = 0;
      bool has_piece = false;
      for (const tnbc::TracePiece& piece : call.pieces) {
        if (piece.parts != Order{part}) continue;
        has_piece = true;
        there = std::max(there, piece.there.value_or(0));
        waited += piece.waited;
      }
      if (!has_piece) continue;
      ++times.calls;
      times.there += static_cast<double>(there);
      times.waited += static_cast<double>(waited);
      if (touches[part] == UINT64_MAX) continue;
      ++times.touched_calls;
      times.touch += static_cast<double>(touches[part]);
    }
  }

  std::map<std::pair<KindKey, std::string>, Sums> sums_;
};

// Calls `visit(file, call, key)` for each call.
template <typename Visit>
void ForEachCall(const Traces& traces, Visit visit) {
  for (const tnbc::TraceFile& file : traces.files) {
    for (const tnbc::TraceCall& call : file.calls) visit(file, call, KeyOf(file.kinds[call.kind], call));
  }
}

// Returns the key within which calls are numbered: the number of fragments makes no difference.
KindKey OfAnyParts(KindKey key) {
  key.parts = 0;
  return key;
}

// PlacesOfKind holds the places (call sites) from which the calls of one kind are made.
struct PlacesOfKind {
  CallPlaces::InTurn in_turn;
  std::map<uint32_t, std::set<std::string>> sites;  // by place: its names on all ranks

  std::optional<uint32_t> PlaceOf(uint64_t number) const {
    if (number == 0 || number > in_turn.places.size()) return std::nullopt;
    return in_turn.places[number - 1];
  }
};

std::map<KindKey, PlacesOfKind> PlacesOfKinds(const Traces& traces) {
  std::map<KindKey, CallPlaces> places;
  ForEachCall(traces, [&](const tnbc::TraceFile& file, const tnbc::TraceCall& call, const KindKey& key) {
    places[OfAnyParts(key)].Add(file.rank, call.number, call.site);
  });
  std::map<KindKey, PlacesOfKind> kinds;
  for (const auto& [key, of_kind] : places) kinds[key].in_turn = of_kind.Find();
  ForEachCall(traces, [&](const tnbc::TraceFile& file, const tnbc::TraceCall& call, const KindKey& key) {
    PlacesOfKind& kind = kinds.at(OfAnyParts(key));
    const std::optional<uint32_t> place = kind.PlaceOf(call.number);
    if (place.has_value()) kind.sites[*place].insert(NameOf(file.sites[call.site]));
  });
  return kinds;
}

}  // namespace

absl::StatusOr<Traces> ReadTraces(const std::string& folder) {
  std::error_code error;
  std::map<std::string, std::filesystem::path> paths;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (absl::EndsWith(at->path().string(), tnbc::kTraceSuffix)) paths[at->path().string()] = at->path();
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  if (paths.empty()) return absl::NotFoundError(absl::StrCat(folder, ": no file *", tnbc::kTraceSuffix));
  Traces traces;
  for (const auto& [name, path] : paths) {
    ASSIGN_OR_RETURN(tnbc::TraceFile trace, ReadTrace(path));
    const tnbc::TraceFile& first = traces.files.empty() ? trace : traces.files.front();
    if (trace.launch != first.launch || trace.ranks != first.ranks) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": of another launch than other files of this folder"));
    }
    traces.files.push_back(std::move(trace));
  }
  std::sort(traces.files.begin(), traces.files.end(),
            [](const tnbc::TraceFile& a, const tnbc::TraceFile& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < traces.files.size(); ++i) {
    if (traces.files[i].rank != traces.files[i - 1].rank) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": two files of one rank (rank=", traces.files[i].rank, ")"));
  }
  traces.ranks = traces.files.front().ranks;
  return traces;
}

KindKey KeyOf(const tnbc::TraceKind& kind, const tnbc::TraceCall& call) {
  return {.communicator = kind.communicator,
          .size = kind.size,
          .collective = kind.collective,
          .length = kind.length,
          .parts = call.parts};
}

std::string NameOf(const tnbc::TraceSite& site) {
  std::string name = absl::StrCat(site.object.empty() ? "?" : site.object, "+0x", absl::Hex(site.offset));
  if (!site.function.empty()) absl::StrAppend(&name, " (", site.function, ")");
  return name;
}

std::string NameOfLength(uint32_t length) {
  constexpr const char* kNames[] = {"any length", "to 1 KiB", "to 16 KiB", "to 256 KiB", "over 256 KiB"};
  return length < std::size(kNames) ? kNames[length] : absl::StrCat("length class ", length);
}

std::vector<uint64_t> FirstTouches(const tnbc::TraceCall& call) {
  std::vector<uint64_t> own(call.parts, UINT64_MAX), shared(call.parts, UINT64_MAX);
  std::vector<bool> has_own(call.parts, false);
  for (const tnbc::TracePiece& piece : call.pieces) {
    const uint64_t touch = piece.touch.value_or(UINT64_MAX);
    if (piece.parts.size() == 1) has_own[piece.parts[0]] = true;
    for (const uint32_t part : piece.parts) {
      uint64_t& first = (piece.parts.size() == 1 ? own : shared)[part];
      first = std::min(first, touch);
    }
  }
  for (uint32_t part = 0; part < call.parts; ++part) {
    if (!has_own[part]) own[part] = shared[part];
  }
  return own;
}

std::vector<SiteSummary> Summarize(const Traces& traces) {
  Summarizer summarizer;
  ForEachCall(traces, [&](const tnbc::TraceFile& file, const tnbc::TraceCall& call, const KindKey& key) {
    summarizer.Add(file.rank, key, NameOf(file.sites[call.site]), call);
  });
  return summarizer.Finish();
}

std::map<KindKey, WantedOrder> WantedOrders(const Traces& traces) {
  const std::map<KindKey, PlacesOfKind> kinds = PlacesOfKinds(traces);
  struct Touched {
    Tally all;
    std::map<uint32_t, Tally> by_place;
  };
  std::map<KindKey, Touched> touched;
  ForEachCall(traces, [&](const tnbc::TraceFile&, const tnbc::TraceCall& call, const KindKey& key) {
    if (key.parts < 2) return;
    const auto places = PlacesOf(call);
    if (!places.has_value()) return;
    Touched& mine = touched[key];
    mine.all.Add(*places);
    const std::optional<uint32_t> place = kinds.at(OfAnyParts(key)).PlaceOf(call.number);
    if (place.has_value()) mine.by_place[*place].Add(*places);
  });
  std::map<KindKey, WantedOrder> orders;
  for (const auto& [key, mine] : touched) {
    const PlacesOfKind& kind = kinds.at(OfAnyParts(key));
    WantedOrder& wanted = orders[key];
    wanted.all = mine.all.Finish(key.parts);
    wanted.why_none = kind.in_turn.why_none;
    if (!kind.in_turn.turns.has_value()) continue;
    wanted.first = kind.in_turn.turns->first;
    bool differ = false;
    for (uint32_t i = 0; i < kind.in_turn.turns->period; ++i) {
      const uint32_t place = *kind.PlaceOf(wanted.first + i);
      const auto found = mine.by_place.find(place);
      WantedOrder::Slot slot = {.site = absl::StrJoin(kind.sites.at(place), " or "), .common = {}};
      if (found == mine.by_place.end()) {
        slot.common.order = wanted.all.order;
      } else {
        slot.common = found->second.Finish(key.parts);
      }
      differ = differ || slot.common.order != wanted.all.order;
      wanted.slots.push_back(std::move(slot));
    }
    if (!differ) wanted.slots.clear();
  }
  return orders;
}

absl::StatusOr<tnbc::OrderProfile> ProfileOf(const Traces& traces) {
  if (traces.files.size() < traces.ranks) {
    return absl::FailedPreconditionError(
        absl::StrCat("traces of some ranks are missing (files=", traces.files.size(), ", ranks=", traces.ranks, ")"));
  }
  tnbc::OrderProfile profile;
  for (const auto& [key, wanted] : WantedOrders(traces)) {
    tnbc::ProfileOrders& orders = profile.orders[{key.communicator, key.collective, key.length, key.parts}];
    orders.order = wanted.all.order;
    if (wanted.slots.empty()) continue;
    orders.first = wanted.first;
    for (const WantedOrder::Slot& slot : wanted.slots) orders.slots.push_back(slot.common.order);
  }
  return profile;
}

// Communicators with equal members share call numbers, so a rank may have several calls with one number: the first of
// them is compared with the first of another rank, and so on.
std::vector<std::string> Disagreements(const Traces& traces) {
  std::vector<std::string> lines;
  if (traces.files.size() < traces.ranks) {
    lines.push_back(
        absl::StrCat("traces of ", traces.ranks - traces.files.size(), " of ", traces.ranks, " ranks are missing"));
  }
  struct Seen {
    std::map<uint32_t, std::vector<const tnbc::TraceCall*>> of_rank;
    uint32_t size = 0;
  };
  using CallKey = std::tuple<uint64_t, std::string, uint32_t, uint64_t>;
  std::map<CallKey, Seen> calls;
  bool is_complete = traces.files.size() == traces.ranks;
  for (const tnbc::TraceFile& file : traces.files) {
    is_complete = is_complete && file.left_out == 0;
    for (const tnbc::TraceCall& call : file.calls) {
      const tnbc::TraceKind& kind = file.kinds[call.kind];
      Seen& seen = calls[{kind.communicator, kind.collective, kind.length, call.number}];
      seen.of_rank[file.rank].push_back(&call);
      seen.size = kind.size;
    }
  }
  for (const auto& [key, seen] : calls) {
    const auto& [first_rank, first] = *seen.of_rank.begin();
    const std::string name =
        absl::StrCat("call ", std::get<3>(key), " of ", std::get<1>(key), ", ", NameOfLength(std::get<2>(key)));
    if (is_complete && seen.of_rank.size() < seen.size) {
      lines.push_back(absl::StrCat(name, ": on ", seen.of_rank.size(), " of ", seen.size, " ranks"));
    }
    for (const auto& [rank, mine] : seen.of_rank) {
      for (size_t i = 0; i < std::min(first.size(), mine.size()); ++i) {
        if (mine[i]->order == first[i]->order && mine[i]->parts == first[i]->parts) continue;
        lines.push_back(absl::StrCat(name, ": rank ", rank, " was brought ", absl::StrJoin(mine[i]->order, ","),
                                     ", rank ", first_rank, " ", absl::StrJoin(first[i]->order, ",")));
      }
    }
  }
  if (lines.size() > kDisagreementsMax) {
    const size_t more = lines.size() - kDisagreementsMax;
    lines.resize(kDisagreementsMax);
    lines.push_back(absl::StrCat("and ", more, " more"));
  }
  return lines;
}

}  // namespace copse::trace
