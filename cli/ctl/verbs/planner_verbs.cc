// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

// From one question for events to the next.
constexpr absl::Duration kEventPause = absl::Milliseconds(500);

constexpr char kPageFile[] = "/run/copse-web/page";
constexpr size_t kPageBytesMax = 4096;

std::string FormatMilliseconds(double ms) { return cli::FormatNanoseconds(1e6 * ms); }

absl::Status Status(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::GetPlannerStatusReply reply, context.client->Call(PlannerAdmin::GetPlannerStatus, {}));
  return context.Answer(RenderPlannerStatus(reply, context.style));
}

absl::Status Audit(const Arguments& arguments, VerbContext& context) {
  v1::ListAuditRequest request;
  uint32_t last = 0;
  if (arguments.Has("last") && (!absl::SimpleAtoi(arguments.Text("last"), &last) || last == 0)) {
    return absl::InvalidArgumentError(absl::StrCat("not a number above 0 (last=", arguments.Text("last"), ")"));
  }
  request.set_last(last);
  ASSIGN_OR_RETURN(const v1::ListAuditReply reply, context.client->Call(PlannerAdmin::ListAudit, request));
  return context.Answer(RenderAudit(reply, context.style));
}

// Names the nodes that were refused since their teams are of another cluster.
std::string Foreign(const v1::GetPlannerStatusReply& reply) {
  std::string text;
  for (const v1::ForeignTeams& teams : reply.foreign()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", teams.nodes_size(), " nodes of cluster ", teams.cluster());
  }
  return text.empty() ? "none" : text;
}

std::string RenderEvents(const v1::ListEventsReply& reply, const Style& style) {
  cli::TableRows rows = {{"TIME", "WHO", "WHAT", "WITH"}};
  for (const v1::EventRow& row : reply.rows()) rows.push_back({row.time(), row.who(), row.method(), row.result()});
  return cli::RenderTable(std::move(rows), style.width);
}

std::string JsonLine(const v1::EventRow& row) {
  return ToJson(row).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EventLine(const v1::EventRow& row) {
  return cli::Printable(absl::StrCat(row.time(), "  ", row.who(), "  ", row.method(), "  ", row.result()));
}

// Writes each event as a line when it happens, until the output is closed.
absl::Status FollowEvents(v1::ListEventsRequest request, VerbContext& context) {
  uint64_t planner = 0;
  while (true) {
    const absl::StatusOr<v1::ListEventsReply> reply = context.client->Call(PlannerAdmin::ListEvents, request);
    if (!reply.ok() && (planner == 0 || !absl::IsUnavailable(reply.status()))) return reply.status();
    std::string lines;
    if (reply.ok()) {
      const bool is_another = planner != 0 && reply->planner() != planner;
      planner = reply->planner();
      request.set_last(0);
      if (is_another) {
        request.set_after(0);
        continue;
      }
      for (const v1::EventRow& row : reply->rows()) {
        absl::StrAppend(&lines, context.wants_json() ? JsonLine(row) : EventLine(row), "\n");
        request.set_after(row.number());
      }
    }
    if (!context.print(lines)) return absl::OkStatus();
    absl::SleepFor(kEventPause);
    context.client->Renew();
  }
}

absl::Status Events(const Arguments& arguments, VerbContext& context) {
  v1::ListEventsRequest request;
  if (arguments.Has("last")) {
    ASSIGN_OR_RETURN(const uint64_t last, ParseId("last", arguments.Text("last")));
    request.set_last(static_cast<uint32_t>(std::min<uint64_t>(last, UINT32_MAX)));
  }
  if (arguments.Has("watch")) return FollowEvents(request, context);
  ASSIGN_OR_RETURN(const v1::ListEventsReply reply, context.client->Call(PlannerAdmin::ListEvents, request));
  return context.Answer(ToJson(reply.rows()), RenderEvents(reply, context.style));
}

// Prints what copse-web has written for its user and root.
absl::Status Page(const Arguments& arguments, VerbContext& context) {
  const std::string path = arguments.Has("file") ? arguments.Text("file") : kPageFile;
  const std::optional<std::string> text = ReadFile(path, kPageBytesMax);
  if (!text.has_value() || text->empty()) {
    return absl::NotFoundError(
        absl::StrCat("cannot be read: does copse-web run here, and is this its user, or root? (file=", path, ")"));
  }
  const std::string url(absl::StripAsciiWhitespace(*text));
  return context.Answer({{"url", url}}, absl::StrCat(url, "\n"));
}

}  // namespace

std::string RenderPlannerStatus(const v1::GetPlannerStatusReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply));
  std::string longest = FormatMilliseconds(reply.longest_turn_ms());
  if (!reply.longest_turn_at().empty()) absl::StrAppend(&longest, ", ended ", reply.longest_turn_at());
  return cli::RenderDetails(
      {{"role", reply.role()},
       {"address", reply.address()},
       {"leader", reply.leader()},
       {"version", reply.version()},
       {"since", absl::StrCat(cli::FormatSeconds(reply.since_s()), " ago")},
       {"term", absl::StrCat(reply.term())},
       {"cluster", reply.cluster()},
       {"store", reply.store()},
       {"sessions", absl::StrCat(reply.sessions())},
       {"oldest task", reply.oldest_task_ms() > 0 ? FormatMilliseconds(reply.oldest_task_ms()) : "none"},
       {"longest turn", longest},
       {"quarantined", absl::StrCat(reply.quarantined())},
       {"foreign", Foreign(reply)}},
      style.width);
}

std::string RenderAudit(const v1::ListAuditReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply.rows()));
  cli::TableRows rows = {{"TIME", "WHO", "FROM", "METHOD", "TOOK>", "RESULT", "REQUEST"}};
  for (const v1::AuditRow& row : reply.rows()) {
    rows.push_back({row.time(), row.who(), row.from(), row.method(), FormatMilliseconds(1e3 * row.duration_s()),
                    row.result(), row.request()});
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::vector<Verb> PlannerVerbs() {
  return {
      {.family = "planner", .name = "status", .help = "what the planner is, since when, and how busy", .run = Status},
      {.name = "audit",
       .help = "who has changed what since the planner's start, the last 1,000 changes; needs role operator",
       .options = {{.name = "last", .value_name = "N", .help = "only the last N changes"}},
       .run = Audit},
      {.name = "events",
       .help = "what happened to nodes and teams since this planner began to lead, the last 4,096 events",
       .options = {{.name = "last", .value_name = "N", .help = "only the last N events"},
                   {.name = "watch", .value_name = "", .help = "then each when it happens, until interrupted"}},
       .run = Events},
      {.name = "page",
       .help = "the address of the page that copse-web serves on this machine, with its token",
       .options = {{.name = "file",
                    .value_name = "FILE",
                    .help = "copse-web's page_file; default /run/copse-web/page"}},
       .run = Page}};
}

}  // namespace copse::ctl
