// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/svg.h"
#include "cli/command_line/table.h"
#include "nlohmann/json.hpp"

namespace copse::trace {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr double kNsPerMs = 1e6;
// Limits the fragments of a call whose times are listed and drawn, and the entries of an order in a table.
constexpr size_t kPartsShownMax = 32;

std::string Ms(double ns) { return absl::StrFormat("%.3f", ns / kNsPerMs); }

std::string Joined(const std::vector<uint32_t>& order) {
  if (order.size() < 2) return "-";
  if (order.size() <= kPartsShownMax) return absl::StrJoin(order, ",");
  return absl::StrCat(absl::StrJoin(order.begin(), order.begin() + kPartsShownMax, ","), ",...");
}

std::string Percent(uint64_t some, uint64_t all) {
  return all == 0 ? "-" : absl::StrFormat("%.0f %%", 100 * static_cast<double>(some) / static_cast<double>(all));
}

std::string TitleOf(const SiteSummary& site) {
  return absl::StrCat(site.site, ": ", site.kind.collective, " of ", site.kind.size, " ranks, ",
                      NameOfLength(site.kind.length));
}

std::string SitesText(const std::vector<SiteSummary>& sites) {
  cli::TableRows rows = {{"SITE", "COLLECTIVE", "LENGTH", "RANKS", "PARTS", "CALLS", "EARLY", "IN CALL", "THERE",
                          "WAITED", "AT BEST", "UNTOUCHED", "FIRST TOUCHES"}};
  for (const SiteSummary& site : sites) {
    rows.push_back({site.site, site.kind.collective, NameOfLength(site.kind.length),
                    absl::StrCat(site.ranks, "/", site.kind.size), absl::StrCat(site.kind.parts),
                    absl::StrCat(site.calls), absl::StrCat(site.early), Ms(site.inside), Ms(site.there),
                    Ms(site.waited), Ms(site.waited_at_best), Percent(site.untouched, site.pieces),
                    site.untouched == site.pieces ? "-" : Joined(site.order)});
  }
  return cli::RenderTable(std::move(rows));
}

std::string PartsText(const SiteSummary& site) {
  cli::TableRows rows = {{"PART", "THERE", "FIRST TOUCH", "WAITED", "TOUCHED"}};
  for (size_t part = 0; part < site.parts.size(); ++part) {
    const PartTimes& times = site.parts[part];
    rows.push_back({absl::StrCat(part), Ms(times.there), times.touched_calls == 0 ? "-" : Ms(times.touch),
                    Ms(times.waited), Percent(times.touched_calls, times.calls)});
  }
  return cli::RenderTable(std::move(rows));
}

Row RowOf(const CommonOrder& common, Row row) {
  row.insert(row.end(), {absl::StrCat(common.calls), Percent(common.in_order, common.calls), Joined(common.order)});
  return row;
}

std::string KindsText(const std::map<KindKey, WantedOrder>& orders) {
  cli::TableRows rows = {{"COLLECTIVE", "LENGTH", "RANKS", "PARTS", "NUMBERS", "SITE", "CALLS", "IN ORDER", "ORDER"}};
  for (const auto& [key, wanted] : orders) {
    rows.push_back(RowOf(wanted.all, {key.collective, NameOfLength(key.length), absl::StrCat(key.size),
                                      absl::StrCat(key.parts), "all", "all"}));
    for (size_t i = 0; i < wanted.slots.size(); ++i) {
      const uint64_t number = wanted.first + i;
      rows.push_back(RowOf(
          wanted.slots[i].common,
          {"", "", "", "", absl::StrCat(number, ", ", number + wanted.slots.size(), ", ..."), wanted.slots[i].site}));
    }
  }
  return cli::RenderTable(std::move(rows));
}

uint64_t LeftOut(const Traces& traces) {
  uint64_t left_out = 0;
  for (const tnbc::TraceFile& file : traces.files) left_out += file.left_out;
  return left_out;
}

Json JsonOf(const CommonOrder& common) {
  return {{"calls", common.calls}, {"in_order", common.in_order}, {"order", common.order}};
}

// --- The picture: a panel for each site, a row for each fragment ---

constexpr double kWidth = 900, kLeft = 60, kRight = 860, kTop = 60, kRowHeight = 18, kTitleHeight = 26, kPanelGap = 30;
constexpr double kBarHeight = 8;
constexpr const char *kThereColor = "#b6d7ff", *kTouchColor = "#0969da", *kWaitColor = "#cf222e";

bool IsDrawn(const SiteSummary& site) {
  return site.early > 0 && !site.parts.empty() && site.parts.size() <= kPartsShownMax;
}

double HeightOf(const SiteSummary& site) {
  return kTitleHeight + kRowHeight * static_cast<double>(site.parts.size() + 1) + kPanelGap;
}

void DrawSite(const SiteSummary& site, double top, Svg* svg) {
  svg->Text(kLeft - 40, top + 14, TitleOf(site), {.size = 13, .bold = true});
  double end = 1;  // ns
  for (const PartTimes& part : site.parts) end = std::max({end, part.there, part.touch + part.waited});
  const auto x_of = [end](double ns) { return kLeft + (kRight - kLeft) * ns / end; };
  for (size_t i = 0; i < site.parts.size(); ++i) {
    const PartTimes& part = site.parts[i];
    const double y = top + kTitleHeight + kRowHeight * (static_cast<double>(i) + 0.5);
    svg->Text(kLeft - 8, y + 4, absl::StrCat(i), {.anchor = Svg::Anchor::kEnd, .color = kSvgGray});
    svg->Rect({kLeft, y - kBarHeight / 2}, x_of(part.there) - kLeft, kBarHeight, kThereColor);
    if (part.touched_calls == 0) continue;
    if (part.waited > 0) svg->Line({x_of(part.touch), y}, {x_of(part.touch + part.waited), y}, kWaitColor, 2);
    svg->Circle({x_of(part.touch), y}, 3, kTouchColor);
  }
  const double axis = top + kTitleHeight + kRowHeight * static_cast<double>(site.parts.size());
  svg->Line({kLeft, axis}, {kRight, axis});
  svg->Text(kLeft, axis + 14, "the call returns", {.color = kSvgGray});
  svg->Text(kRight, axis + 14, Ms(end) + " ms", {.anchor = Svg::Anchor::kEnd, .color = kSvgGray});
}

}  // namespace

std::vector<std::string> NotLearned(const Traces& traces) {
  const std::map<KindKey, WantedOrder> orders = WantedOrders(traces);
  std::vector<std::string> lines;
  if (orders.empty()) {
    uint64_t calls = 0, early = 0, in_parts = 0;
    for (const SiteSummary& site : Summarize(traces)) {
      calls += site.calls;
      early += site.early;
      if (site.kind.parts > 1) in_parts += site.early;
    }
    lines.push_back(absl::StrCat("nothing to learn: no touch of a result in parts was seen (calls=", calls,
                                 ", early=", early, ", early in parts=", in_parts, ")"));
  }
  for (const auto& [key, wanted] : orders) {
    if (wanted.why_none.empty()) continue;
    lines.push_back(absl::StrCat(key.collective, " of ", key.size, " ranks, ", NameOfLength(key.length), ", ",
                                 key.parts, " parts: one order for all, since ", wanted.why_none));
  }
  return lines;
}

std::string TextOf(const Traces& traces) {
  const std::vector<SiteSummary> sites = Summarize(traces);
  std::string text = absl::StrFormat(
      "%d of %d ranks; times are means of early calls, ms; THERE, FIRST TOUCH: since the "
      "call returned; AT BEST: WAITED in the best order\n",
      traces.files.size(), traces.ranks);
  if (const uint64_t left_out = LeftOut(traces); left_out > 0) {
    absl::StrAppend(&text, left_out, " calls of all ranks were left out\n");
  }
  absl::StrAppend(&text, "\n", SitesText(sites));
  for (const SiteSummary& site : sites) {
    if (site.parts.size() < 2 || site.parts.size() > kPartsShownMax || site.early == 0) continue;
    absl::StrAppend(&text, "\n", TitleOf(site), "\n", PartsText(site));
  }
  if (const auto orders = WantedOrders(traces); !orders.empty()) {
    absl::StrAppend(&text, "\nOrders for a profile\n", KindsText(orders));
  }
  for (const std::string& line : NotLearned(traces)) absl::StrAppend(&text, line, "\n");
  return text;
}

std::string JsonOf(const Traces& traces) {
  Json json = {{"ranks", traces.ranks},  {"files", traces.files.size()}, {"left_out", LeftOut(traces)},
               {"sites", Json::array()}, {"orders", Json::array()},      {"disagreements", Disagreements(traces)}};
  for (const SiteSummary& site : Summarize(traces)) {
    Json parts = Json::array();
    for (const PartTimes& part : site.parts) {
      Json times = {{"there_ns", part.there}, {"waited_ns", part.waited}, {"calls", part.calls}};
      times["touched_calls"] = part.touched_calls;
      if (part.touched_calls > 0) times["first_touch_ns"] = part.touch;
      parts.push_back(std::move(times));
    }
    json["sites"].push_back({{"site", site.site},
                             {"collective", site.kind.collective},
                             {"length", site.kind.length},
                             {"size", site.kind.size},
                             {"ranks", site.ranks},
                             {"calls", site.calls},
                             {"early", site.early},
                             {"in_call_ns", site.inside},
                             {"there_ns", site.there},
                             {"waited_ns", site.waited},
                             {"waited_at_best_ns", site.waited_at_best},
                             {"pieces", site.pieces},
                             {"untouched", site.untouched},
                             {"order", site.order},
                             {"parts", std::move(parts)}});
  }
  for (const auto& [key, wanted] : WantedOrders(traces)) {
    Json order = {{"communicator", absl::StrCat(absl::Hex(key.communicator, absl::kZeroPad16))},
                  {"size", key.size},
                  {"collective", key.collective},
                  {"length", key.length},
                  {"parts", key.parts}};
    order.update(JsonOf(wanted.all));
    if (!wanted.why_none.empty()) order["why_none"] = wanted.why_none;
    if (!wanted.slots.empty()) order["first"] = wanted.first;
    for (const WantedOrder::Slot& slot : wanted.slots) {
      Json of_slot = {{"site", slot.site}};
      of_slot.update(JsonOf(slot.common));
      order["slots"].push_back(std::move(of_slot));
    }
    json["orders"].push_back(std::move(order));
  }
  return json.dump(2) + "\n";
}

std::string PictureOf(const Traces& traces) {
  std::vector<SiteSummary> sites = Summarize(traces);
  std::erase_if(sites, [](const SiteSummary& site) { return !IsDrawn(site); });
  double height = kTop;
  for (const SiteSummary& site : sites) height += HeightOf(site);
  Svg svg(kWidth, height, "Parts of results: until they were there (bars), first touches (dots), waits (red)");
  double top = kTop;
  for (const SiteSummary& site : sites) {
    DrawSite(site, top, &svg);
    top += HeightOf(site);
  }
  return std::move(svg).Finish();
}

}  // namespace copse::trace
