// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/ctl/verbs/verbs.h"

namespace copse::ctl {
namespace {

absl::Status Save(const Arguments& arguments, VerbContext& context) {
  const std::string path = arguments.Text("file");
  ASSIGN_OR_RETURN(const v1::SaveStateReply reply, context.client->Call(PlannerAdmin::SaveState, {}));
  if (!WriteFile(path, reply.file())) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write the file: ", strerror(errno), " (file=", path, ")"));
  }
  return context.Answer(Json{{"ok", true},
                             {"file", path},
                             {"bytes", reply.file().size()},
                             {"cluster", reply.cluster()},
                             {"term", reply.term()},
                             {"teams", reply.teams()}},
                        absl::StrCat(path, ": ", reply.teams(), " teams of cluster ", reply.cluster(), ", ",
                                     reply.file().size(), " bytes\n"));
}

absl::Status Adopt(const Arguments& arguments, VerbContext& context) {
  v1::AdoptStateRequest request;
  request.set_cluster(arguments.Text("cluster"));
  request.set_force(arguments.Has("force"));
  ASSIGN_OR_RETURN(const v1::AdoptStateReply reply, context.client->Call(PlannerAdmin::AdoptState, request));
  return context.Answer(ToJson(reply),
                        absl::StrCat("the planner is of cluster ", reply.cluster(), " now (was ", reply.former(),
                                     "); teams of ", absl::StrJoin(reply.nodes(), ","), " are taken over\n"));
}

}  // namespace

std::vector<Verb> StateVerbs() {
  return {{.family = "state",
           .name = "save",
           .help = "save what the planner's store has, while it runs",
           .positionals = {{.name = "file", .value_name = {}, .help = "the file; `copse-planner --restore` reads it"}},
           .timeout_s = 60,
           .run = Save},
          {.family = "state",
           .name = "adopt",
           .help = "make the planner one of the cluster whose daemons it has refused",
           .options = {{.name = "cluster", .value_name = "UUID", .help = "which cluster, if it has refused several"},
                       {.name = "force", .value_name = {}, .help = "do it"}},
           .run = Adopt}};
}

}  // namespace copse::ctl
