// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

constexpr double kSecondsDefault = 60;
constexpr double kSecondsMax = 3600;
// It is added to the deadline for the last measurement, which may begin when the seconds are over, and for switching
// teams to new plans.
constexpr absl::Duration kGrace = absl::Seconds(30);

Json ProbeJson(const v1::ProbeTopologyReply& reply) {
  Json json = ToJson(reply);
  json.erase("not_replanned");
  for (Json& pair : json["pairs"]) {
    if (pair["measured"]) {
      pair.erase("why");
    } else {
      for (const char* key : {"latency_ns", "latency_spread_ns", "fitted_latency_ns", "bandwidth_bps"}) pair.erase(key);
    }
  }
  return json;
}

std::string LatencyOf(const v1::ProbedLinkRow& row) {
  if (row.latency_doubt() == "unmeasured") return "-";
  return absl::StrCat(cli::FormatNanoseconds(row.latency_ns()), " ± ", cli::FormatNanoseconds(row.latency_spread_ns()));
}

std::string RateOf(const v1::ProbedLinkRow& row) {
  if (row.rate_doubt() == "unmeasured") return "-";
  return absl::StrCat(row.rate_doubt() == "at-least" ? "≥ " : "", cli::FormatBitsPerSecond(row.bandwidth_bps()));
}

absl::Status Stop(const Arguments& arguments, VerbContext& context) {
  for (const char* option : {"nodes", "tree", "seconds", "apply"}) {
    if (arguments.Has(option)) {
      return absl::InvalidArgumentError(absl::StrCat("--stop ends the probe that runs (with=--", option, ")"));
    }
  }
  RETURN_IF_ERROR(context.client->Call(PlannerAdmin::StopProbe, {}).status());
  return context.Answer({{"stopped", true}}, "stopped\n");
}

absl::Status Probe(const Arguments& arguments, VerbContext& context) {
  if (arguments.Has("stop")) return Stop(arguments, context);
  v1::ProbeTopologyRequest request;
  double seconds = kSecondsDefault;
  if (arguments.Has("seconds")) {
    ASSIGN_OR_RETURN(seconds, ParseSeconds("seconds", arguments.Text("seconds"), kSecondsMax));
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
  context.Note(
      absl::StrCat("daemons measure (nodes=", request.nodes_size() == 0 ? "all" : absl::StrCat(request.nodes_size()),
                   ", seconds=", seconds, ")"));
  ASSIGN_OR_RETURN(const v1::ProbeTopologyReply reply, context.client->Call(PlannerAdmin::ProbeTopology, request));
  for (const std::string& note : reply.notes()) context.notes.push_back(note);
  for (const std::string& note : reply.not_replanned()) context.notes.push_back(note);
  return context.Answer(RenderProbe(reply, context.style));
}

}  // namespace

std::string RenderProbe(const v1::ProbeTopologyReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ProbeJson(reply));
  const bool known = reply.tree() == "known";
  cli::TableRows links = {{"LINK", "TO", "LATENCY>", "KNOWN", "RATE>", "KNOWN"}};
  if (known) links[0].insert(links[0].end(), {"LATENCY BEFORE>", "RATE BEFORE>"});
  for (const v1::ProbedLinkRow& row : reply.links()) {
    std::vector<std::string> cells = {row.from(),          row.to(),    LatencyOf(row),
                                      row.latency_doubt(), RateOf(row), row.rate_doubt()};
    if (known) {
      cells.push_back(cli::FormatNanoseconds(row.latency_before_ns()));
      cells.push_back(cli::FormatBitsPerSecond(row.bandwidth_before_bps()));
    }
    links.push_back(std::move(cells));
  }
  cli::TableRows nodes = {{"NODE", "SEND>", "RECEIVE>"}};
  for (const v1::ProbedNodeRow& row : reply.nodes()) {
    if (!row.measured()) continue;
    nodes.push_back(
        {row.name(), cli::FormatNanoseconds(row.overhead_ns()), cli::FormatNanoseconds(row.receive_overhead_ns())});
  }
  cli::TableRows missing = {{"FROM", "TO", "NOT MEASURED"}};
  for (const v1::ProbedPairRow& row : reply.pairs()) {
    if (!row.measured()) missing.push_back({row.from(), row.to(), row.why()});
  }
  const size_t failed = missing.size() - 1, measured = static_cast<size_t>(reply.pairs_size()) - failed;
  std::string out =
      absl::StrCat(cli::RenderTable(links, style.width), "\n", cli::RenderTable(nodes, style.width), "\n");
  if (failed > 0) absl::StrAppend(&out, cli::RenderTable(missing, style.width), "\n");
  absl::StrAppend(&out, known ? "known tree" : "tree found", ", ", nodes.size() - 1, " nodes, ", measured,
                  " pairs measured in ", cli::FormatSeconds(reply.took_s()), "; fitted latencies are off by ",
                  cli::FormatNanoseconds(reply.latency_error_ns()), " (root mean square), ",
                  cli::FormatNanoseconds(reply.latency_error_max_ns()), " at most\n");
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
