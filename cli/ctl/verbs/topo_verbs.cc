// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/node_hardware.h"

namespace copse::ctl {
namespace {

// Limits a file's text. It leaves room for the other fields in the largest message that the planner accepts.
constexpr size_t kTextBytesMax = size_t{60} << 20;

// Reads a whole file, or standard input if `path` is "-".
absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::optional<std::string> text = ReadFile(path, kTextBytesMax, /*or_input=*/true);
  if (!text.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the file: ", strerror(errno), " (file=", path, ")"));
  }
  if (text->size() <= kTextBytesMax) return *std::move(text);
  return absl::InvalidArgumentError(
      absl::StrCat("the file is too large (file=", path, ", limit=", FormatBytes(kTextBytesMax), ")"));
}

absl::Status SetFile(const std::string& path, v1::TopologySource* source) {
  ASSIGN_OR_RETURN(*source->mutable_text(), ReadText(path));
  source->set_file(path);
  return absl::OkStatus();
}

absl::Status SetVersion(const Arguments& arguments, const std::string& name, v1::TopologySource* source) {
  if (!arguments.Has(name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint64_t version, ParseId(name, arguments.Text(name)));
  source->set_version(version);
  return absl::OkStatus();
}

// Replaces lstopo's text in `*source` by the numbers that the planner needs.
absl::Status SetHardware(const std::string& nodes, v1::TopologySource* source) {
  ASSIGN_OR_RETURN(*source->mutable_hardware(), ReadHwloc(source->text(), source->file()));
  source->clear_text();
  source->mutable_hardware()->set_nodes(nodes);
  return absl::OkStatus();
}

// Sets `*source` to the file that FILE or --hwloc names, and to the options that define its format. Without either,
// leaves `*source` unchanged.
absl::Status SetSource(const Arguments& arguments, v1::TopologySource* source) {
  if (arguments.Has("file") && arguments.Has("hwloc")) {
    return absl::InvalidArgumentError("FILE and --hwloc exclude each other");
  }
  const std::string path = arguments.Text(arguments.Has("hwloc") ? "hwloc" : "file");
  if (path.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(SetFile(path, source));
  // Only hwloc's XML begins with "<".
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(source->text());
  const std::string format = arguments.Text("format");
  const bool hwloc = arguments.Has("hwloc") || format == "hwloc" || (format.empty() && absl::StartsWith(text, "<"));
  if (hwloc != arguments.Has("node")) {
    return absl::InvalidArgumentError(hwloc ? "a file of hwloc needs --node: which nodes does it describe?"
                                            : "--node is for a file of hwloc");
  }
  if (hwloc) return SetHardware(arguments.Text("node"), source);
  source->set_format(format);
  v1::SlurmFigures* figures = source->mutable_slurm();
  figures->set_link_speed(arguments.Text("link-speed"));
  figures->set_node_bandwidth(arguments.Text("node-bandwidth"));
  figures->set_latency(arguments.Text("latency"));
  figures->set_overhead(arguments.Text("overhead"));
  figures->set_root(arguments.Text("root"));
  return absl::OkStatus();
}

absl::Status Import(const Arguments& arguments, VerbContext& context) {
  v1::ImportTopologyRequest request;
  RETURN_IF_ERROR(SetSource(arguments, request.mutable_source()));
  RETURN_IF_ERROR(SetVersion(arguments, "version", request.mutable_source()));
  const bool given = !request.source().file().empty() || request.source().version() != 0;
  if (!given) return absl::InvalidArgumentError("nothing to import: FILE, --hwloc or --version is needed");
  request.set_dry_run(arguments.Has("dry-run"));
  context.Note("the planner compares topologies, and switches teams that they concern");
  ASSIGN_OR_RETURN(const v1::ImportTopologyReply reply, context.client->Call(PlannerAdmin::ImportTopology, request));
  context.out = RenderImport(reply, request.dry_run(), context.style);
  if (context.style.format == Format::kTable) context.notes.assign(reply.notes().begin(), reply.notes().end());
  return absl::OkStatus();
}

absl::Status Diff(const Arguments& arguments, VerbContext& context) {
  v1::DiffTopologyRequest request;
  RETURN_IF_ERROR(SetSource(arguments, request.mutable_after()));
  RETURN_IF_ERROR(SetVersion(arguments, "to", request.mutable_after()));
  RETURN_IF_ERROR(SetVersion(arguments, "from", request.mutable_before()));
  const bool given = !request.after().file().empty() || request.after().version() != 0;
  if (!given && !arguments.Has("from")) {
    // Without FILE and versions, compares the two newest versions.
    ASSIGN_OR_RETURN(const v1::ListTopologiesReply list, context.client->Call(PlannerAdmin::ListTopologies, {}));
    if (list.versions_size() < 2) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is nothing to compare with: give a FILE (versions=", list.versions_size(), ")"));
    }
    request.mutable_before()->set_version(list.versions(list.versions_size() - 2).version());
    request.mutable_after()->set_version(list.versions(list.versions_size() - 1).version());
  }
  ASSIGN_OR_RETURN(const v1::DiffTopologyReply reply, context.client->Call(PlannerAdmin::DiffTopology, request));
  return context.Answer(RenderChanges(reply, context.style));
}

absl::Status Export(const Arguments& arguments, VerbContext& context) {
  v1::ExportTopologyRequest request;
  RETURN_IF_ERROR(SetVersion(arguments, "version", request.mutable_source()));
  request.set_format(arguments.Text("format"));
  request.set_link_speed(arguments.Text("link-speed"));
  ASSIGN_OR_RETURN(const v1::ExportTopologyReply reply, context.client->Call(PlannerAdmin::ExportTopology, request));
  return context.Answer({{"format", reply.format()}, {"text", reply.text()}}, cli::Printable(reply.text(), true));
}

absl::Status List(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::ListTopologiesReply reply, context.client->Call(PlannerAdmin::ListTopologies, {}));
  return context.Answer(RenderVersions(reply, context.style));
}

// Formats one line per change: "+ node n[1-4]: switch: core, ...", "~ switch rack1: latency: 1000ns -> 2000ns".
std::string ChangesToText(const google::protobuf::RepeatedPtrField<v1::TopologyChange>& changes, const Style& style) {
  std::string text;
  for (const v1::TopologyChange& change : changes) {
    const std::string name = absl::StrCat(change.thing(), change.names().empty() ? "" : " ", change.names());
    if (change.kind() == "added") {
      absl::StrAppend(&text, "+ ", name, ": ", change.after(), "\n");
    } else if (change.kind() == "removed") {
      absl::StrAppend(&text, "- ", name, ": ", change.before(), "\n");
    } else {
      absl::StrAppend(&text, "~ ", name, ": ", change.key(), ": ", change.before(), " -> ", change.after(), "\n");
    }
  }
  return cli::CutLines(cli::Printable(text, true), style.width);
}

absl::Status Show(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::ShowTopologyReply reply, context.client->Call(PlannerAdmin::ShowTopology, {}));
  return context.Answer(RenderTopology(reply, context.style));
}

std::string Link(double latency_ns, double bandwidth_bps) {
  return absl::StrCat(cli::FormatNanoseconds(latency_ns), ", ", cli::FormatBitsPerSecond(bandwidth_bps));
}

// A Tree renders the topology as lines of a tree. Consecutive nodes with equal figures on one switch share a line.
class Tree {
 public:
  explicit Tree(const v1::ShowTopologyReply& reply) {
    for (const v1::SwitchRow& row : reply.switches()) {
      children_[row.parent()].push_back({&row, {}});
      const bool is_root = row.parent().empty();
      children_[row.parent()].back().text =
          is_root ? row.name() : absl::StrCat(row.name(), "  ", Link(row.latency_ns(), row.bandwidth_bps()));
    }
    for (int first = 0; first < reply.nodes_size();) {
      int last = first;
      std::vector<std::string> names = {reply.nodes(first).name()};
      const std::string figures = Figures(reply.nodes(first));
      while (last + 1 < reply.nodes_size() && reply.nodes(last + 1).switch_() == reply.nodes(first).switch_() &&
             Figures(reply.nodes(last + 1)) == figures) {
        names.push_back(reply.nodes(++last).name());
      }
      children_[reply.nodes(first).switch_()].push_back(
          {nullptr, absl::StrCat(CompressHostlist(names), "  ", figures)});
      first = last + 1;
    }
  }

  // The walk is not recursive, since the server's reply determines the depth.
  std::string Draw() {
    struct Line {
      const Item* item;
      std::string prefix;
      bool is_root, is_last;
    };
    std::vector<Line> stack;
    const auto push_children = [&](const std::string& parent, const std::string& prefix) {
      const auto it = children_.find(parent);
      if (it == children_.end()) return;
      bool is_last = true;
      for (auto item = it->second.rbegin(); item != it->second.rend(); ++item) {
        stack.push_back({&*item, prefix, parent.empty(), is_last});
        is_last = false;
      }
    };
    push_children("", "");
    std::string out;
    while (!stack.empty()) {
      const Line line = std::move(stack.back());
      stack.pop_back();
      const char* branch = line.is_root ? "" : line.is_last ? "└─ " : "├─ ";
      absl::StrAppend(&out, line.prefix, branch, cli::Printable(line.item->text), "\n");
      if (line.item->row == nullptr || line.item->drawn) continue;
      line.item->drawn = true;  // else the walk would not end if the reply had a cycle
      const char* bar = line.is_root ? "" : line.is_last ? "   " : "│  ";
      push_children(line.item->row->name(), absl::StrCat(line.prefix, bar));
    }
    return out;
  }

 private:
  struct Item {
    const v1::SwitchRow* row;  // null: the item is a line of nodes
    std::string text;
    mutable bool drawn = false;
  };

  static std::string Figures(const v1::TopologyNodeRow& row) {
    return absl::StrCat(Link(row.latency_ns(), row.bandwidth_bps()), ", overhead ",
                        cli::FormatNanoseconds(row.overhead_ns()),
                        row.cores() == 0 ? "" : absl::StrCat(", ", row.cores(), row.cores() == 1 ? " core" : " cores"),
                        row.registered() ? "" : ", not registered");
  }

  std::map<std::string, std::vector<Item>> children_;  // by name of the parent switch; "": roots
};

}  // namespace

std::string RenderTopology(const v1::ShowTopologyReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply));
  const char* said = reply.is_default() ? "no topology is in force; plans are made as if it were this one:\n" : "";
  return cli::CutLines(absl::StrCat(said, Tree(reply).Draw()), style.width);
}

std::string RenderChanges(const v1::DiffTopologyReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply.changes()));
  return reply.changes().empty() ? "no difference\n" : ChangesToText(reply.changes(), style);
}

std::string RenderImport(const v1::ImportTopologyReply& reply, bool dry_run, const Style& style) {
  if (style.format == Format::kJson) {
    const Json json = ToJson(reply);
    return DumpJson({{"ok", true},
                     {"version", json["version"]},
                     {"changed", json["changed"]},
                     {"dry_run", dry_run},
                     {"changes", json["changes"]},
                     {"replanned", json["replanned"]},
                     {"not_replanned", json["not_replanned"]},
                     {"notes", json["notes"]}});
  }
  std::string out = ChangesToText(reply.changes(), style);
  if (!reply.changed()) {
    absl::StrAppend(&out, "the same is in force: nothing changes (version=", reply.version(), ")\n");
    return out;
  }
  if (dry_run) {
    absl::StrAppend(&out, "nothing was changed: a dry run (version=", reply.version(), ")\n");
    return out;
  }
  absl::StrAppend(&out, "version ", reply.version(), " is in force; teams with new plans: ", reply.replanned_size(),
                  "\n");
  for (const v1::TeamNotReplanned& row : reply.not_replanned()) {
    absl::StrAppend(&out, "keeps its plans: ", cli::Printable(row.why()), "\n");
  }
  return out;
}

std::string RenderVersions(const v1::ListTopologiesReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply.versions()));
  cli::TableRows rows = {{"VERSION>", "APPLIED", "IN FORCE", "SOURCE"}};
  for (const v1::TopologyVersionRow& row : reply.versions()) {
    rows.push_back({absl::StrCat(row.version()), row.applied(), row.in_force() ? "yes" : "", row.source()});
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::vector<Verb> TopoVerbs() {
  const std::vector<cli::Parameter> reading = {
      {"format", "yaml|slurm|hwloc", "of FILE; default: found out from the text"},
      {"hwloc", "FILE", "instead of FILE: lstopo's XML of one node, for its cores; needs --node"},
      {"node", "NODES", "with --hwloc: the nodes that are like it, a host list"},
      {"link-speed", "RATE", "of slurm: what LinkSpeed=1 means; default 1Gbit"},
      {"node-bandwidth", "RATE", "of slurm: nodes' links; default: the LinkSpeed of their switch"},
      {"latency", "TIME,...", "of slurm: nodes' links, then switches' by level; default 500ns,1us"},
      {"overhead", "TIME", "of slurm: of a node, to send or receive a message; default 2us"},
      {"root", "NAME", "of slurm: switches without a parent hang on a new one of this name"}};
  const auto with = [](std::vector<cli::Parameter> options, const std::vector<cli::Parameter>& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  return {{.family = "topo",
           .name = "show",
           .help = "switches, nodes and links, with latencies and bandwidths",
           .run = Show},
          {.family = "topo",
           .name = "import",
           .help = "put another topology into force",
           .positionals = {{.name = "file", .help = "what to read; -: standard input", .optional = true}},
           .options = with({{"dry-run", "", "only say what would change"},
                            {"version", "N", "instead of FILE: a version of `topo list` again"}},
                           reading),
           .timeout_s = 30,
           .run = Import},
          {.family = "topo",
           .name = "diff",
           .help = "what a file or another version has otherwise; without FILE: what the newest version changed",
           .positionals = {{.name = "file",
                            .help = "to compare with what is in force; -: standard input",
                            .optional = true}},
           .options = with({{"from", "N", "a version; default: what is in force"},
                            {"to", "N", "a version; default: FILE, or what is in force"}},
                           reading),
           .run = Diff},
          {.family = "topo",
           .name = "export",
           .help = "write the topology as a file",
           .options = {{"format", "yaml|slurm", "default yaml; slurm is a topology.conf"},
                       {"version", "N", "a version of `topo list`; default: what is in force"},
                       {"link-speed", "RATE", "of slurm: what LinkSpeed=1 is to mean; default 1Gbit"}},
           .run = Export},
          {.family = "topo",
           .name = "list",
           .help = "versions of the topology, with their dates and sources",
           .run = List}};
}

}  // namespace copse::ctl
