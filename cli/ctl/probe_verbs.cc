// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/probe_verbs.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/ctl/table.h"

namespace copse::ctl {
namespace {

constexpr double kSecondsDefault = 60;
constexpr double kSecondsMax = 3600;
// Time for a measurement that begins at the last moment, and for switching teams to new plans.
constexpr absl::Duration kGrace = absl::Seconds(30);

Json ToJson(const v1::ProbeTopologyReply& reply) {
  Json links = Json::array(), nodes = Json::array(), pairs = Json::array(), notes = Json::array();
  for (const v1::ProbedLinkRow& row : reply.links()) {
    Json link = {{"from", row.from()},
                 {"to", row.to()},
                 {"latency_ns", row.latency_ns()},
                 {"latency_spread_ns", row.latency_spread_ns()},
                 {"latency_doubt", row.latency_doubt()},
                 {"bandwidth_bps", row.bandwidth_bps()},
                 {"rate_doubt", row.rate_doubt()}};
    if (row.has_latency_before_ns()) {
      link["latency_before_ns"] = row.latency_before_ns();
      link["bandwidth_before_bps"] = row.bandwidth_before_bps();
    }
    links.push_back(std::move(link));
  }
  for (const v1::ProbedNodeRow& row : reply.nodes()) {
    nodes.push_back({{"name", row.name()},
                     {"measured", row.measured()},
                     {"overhead_ns", row.overhead_ns()},
                     {"receive_overhead_ns", row.receive_overhead_ns()}});
  }
  for (const v1::ProbedPairRow& row : reply.pairs()) {
    Json pair = {{"from", row.from()}, {"to", row.to()}, {"measured", row.measured()}};
    if (row.measured()) {
      pair["latency_ns"] = row.latency_ns();
      pair["latency_spread_ns"] = row.latency_spread_ns();
      pair["fitted_latency_ns"] = row.fitted_latency_ns();
      pair["bandwidth_bps"] = row.bandwidth_bps();
    } else {
      pair["why"] = row.why();
    }
    pairs.push_back(std::move(pair));
  }
  for (const std::string& note : reply.notes()) notes.push_back(note);
  Json replanned = Json::array();
  for (const uint64_t team : reply.replanned()) replanned.push_back(team);
  return {{"tree", reply.tree()},
          {"taken", reply.taken()},
          {"took_s", reply.took_s()},
          {"links", std::move(links)},
          {"nodes", std::move(nodes)},
          {"pairs", std::move(pairs)},
          {"latency_error_ns", reply.latency_error_ns()},
          {"latency_error_max_ns", reply.latency_error_max_ns()},
          {"notes", std::move(notes)},
          {"topology", reply.topology()},
          {"applied", reply.applied()},
          {"version", reply.version()},
          {"replanned", std::move(replanned)}};
}

std::string LatencyOf(const v1::ProbedLinkRow& row) {
  if (row.latency_doubt() == "unmeasured") return "-";
  return absl::StrCat(FormatNanoseconds(row.latency_ns()), " ± ", FormatNanoseconds(row.latency_spread_ns()));
}

std::string RateOf(const v1::ProbedLinkRow& row) {
  if (row.rate_doubt() == "unmeasured") return "-";
  return absl::StrCat(row.rate_doubt() == "at-least" ? "≥ " : "", FormatBitsPerSecond(row.bandwidth_bps()));
}

absl::Status Stop(const Arguments& arguments, VerbContext& context) {
  for (const char* option : {"nodes", "tree", "seconds", "apply"}) {
    if (arguments.Has(option)) {
      return absl::InvalidArgumentError(absl::StrCat("--stop ends the probe that runs (with=--", option, ")"));
    }
  }
  RETURN_IF_ERROR(context.client->StopProbe({}).status());
  context.out = context.style.format == Format::kJson ? DumpJson({{"stopped", true}}) : "stopped\n";
  return absl::OkStatus();
}

absl::Status Probe(const Arguments& arguments, VerbContext& context) {
  if (arguments.Has("stop")) return Stop(arguments, context);
  v1::ProbeTopologyRequest request;
  double seconds = kSecondsDefault;
  if (arguments.Has("seconds")) {
    if (!absl::SimpleAtod(arguments.Text("seconds"), &seconds) || !(seconds > 0 && seconds <= kSecondsMax)) {
      return absl::InvalidArgumentError(absl::StrFormat("not a number of seconds above 0 (seconds=%s, limit=%g)",
                                                        arguments.Text("seconds"), kSecondsMax));
    }
  }
  request.set_seconds(seconds);
  if (arguments.Has("nodes")) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(arguments.Text("nodes")));
    for (const std::string& name : names) request.add_nodes(name);
  }
  request.set_tree(arguments.Text("tree"));
  if (!request.tree().empty() && request.tree() != "known" && request.tree() != "find") {
    return absl::InvalidArgumentError(absl::StrCat("unknown (tree=", request.tree(), ", known=known find)"));
  }
  request.set_apply(arguments.Has("apply"));
  context.client->Extend(absl::Seconds(seconds) + kGrace);
  ASSIGN_OR_RETURN(const v1::ProbeTopologyReply reply, context.client->ProbeTopology(request));
  for (const std::string& note : reply.notes()) context.notes.push_back(note);
  for (const std::string& note : reply.not_replanned()) context.notes.push_back(note);
  context.out = RenderProbe(reply, context.style);
  return absl::OkStatus();
}

}  // namespace

std::string RenderProbe(const v1::ProbeTopologyReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply));
  constexpr auto kRight = Table::Align::kRight;
  const bool known = reply.tree() == "known";
  std::vector<Table::Column> columns = {{"LINK"}, {"TO"}, {"LATENCY", kRight}, {"KNOWN"}, {"RATE", kRight}, {"KNOWN"}};
  if (known) columns.insert(columns.end(), {{"LATENCY BEFORE", kRight}, {"RATE BEFORE", kRight}});
  Table links(std::move(columns));
  for (const v1::ProbedLinkRow& row : reply.links()) {
    std::vector<std::string> cells = {row.from(),          row.to(),    LatencyOf(row),
                                      row.latency_doubt(), RateOf(row), row.rate_doubt()};
    if (known) {
      cells.push_back(FormatNanoseconds(row.latency_before_ns()));
      cells.push_back(FormatBitsPerSecond(row.bandwidth_before_bps()));
    }
    links.AddRow(std::move(cells));
  }
  Table nodes({{"NODE"}, {"SEND", kRight}, {"RECEIVE", kRight}});
  int measured_nodes = 0;
  for (const v1::ProbedNodeRow& row : reply.nodes()) {
    if (!row.measured()) continue;
    ++measured_nodes;
    nodes.AddRow({row.name(), FormatNanoseconds(row.overhead_ns()), FormatNanoseconds(row.receive_overhead_ns())});
  }
  Table missing({{"FROM"}, {"TO"}, {"NOT MEASURED"}});
  int measured = 0, failed = 0;
  for (const v1::ProbedPairRow& row : reply.pairs()) {
    if (row.measured()) {
      ++measured;
    } else {
      ++failed;
      missing.AddRow({row.from(), row.to(), row.why()});
    }
  }
  std::string out = absl::StrCat(links.Render(style.width), "\n", nodes.Render(style.width), "\n");
  if (failed > 0) absl::StrAppend(&out, missing.Render(style.width), "\n");
  absl::StrAppend(&out, known ? "known tree" : "tree found", ", ", measured_nodes, " nodes, ", measured,
                  " pairs measured in ", FormatSeconds(reply.took_s()), "; fitted latencies are off by ",
                  FormatNanoseconds(reply.latency_error_ns()), " (root mean square), ",
                  FormatNanoseconds(reply.latency_error_max_ns()), " at most\n");
  if (reply.applied()) {
    absl::StrAppend(&out, "topology version ", reply.version(), " is in force, of ", reply.taken(),
                    "; teams replanned: ", reply.replanned_size(), "\n");
  } else {
    absl::StrAppend(&out, "not in force; --apply puts it there\n");
  }
  return out;
}

std::vector<Verb> ProbeVerbs() {
  return {{.family = "topo",
           .name = "probe",
           .help = "have daemons measure, and solve for latencies, rates and overheads",
           .options = {{"nodes", "LIST", "only these nodes take part; without it all that are connected", true},
                       {"tree", "known|find",
                        "solve for the links of the topology in force, or find a tree; without it known if there is "
                        "one"},
                       {"seconds", "S", "begin no measurement after so long; 60 if not given"},
                       {"apply", "", "put the result into force, and replan the teams that it concerns"},
                       {"stop", "", "end the probe that runs; its caller gets no result"}},
           .run = Probe}};
}

}  // namespace copse::ctl
