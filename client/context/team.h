// SPDX-License-Identifier: Apache-2.0
//
// Creates and destroys teams.
#ifndef COPSE_CLIENT_CONTEXT_TEAM_H_
#define COPSE_CLIENT_CONTEXT_TEAM_H_

#include "client/context/context.h"
#include "client/copse.h"

namespace copse::client {

// These do the work of the functions of copse.h, for handles that were checked. *team is set only if a team was formed.
copse_status_t CreateTeam(copse_context_t* context, const copse_team_params_t& params, copse_team_t** team);
copse_status_t CreateSubteam(copse_team_t* parent, const copse_subteam_params_t& params, copse_team_t** team);
copse_status_t DestroyTeam(copse_team_t* team);

// A TeamSpec identifies a new team and this process's rank in it. Members agree in all but `rank`, `parent` and
// `timeout_s`.
struct TeamSpec {
  std::string name;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint64_t nonce = 0;
  uint32_t parent = 0;   // handle of the parent team; 0: none
  double timeout_s = 0;  // <= 0: the cluster's default
};
// Asks the daemon to form the team, and waits for its answer (5 s longer than `timeout_s`, or without limit). Errors:
// the status of the daemon's refusal; NO_DAEMON; TIMED_OUT if it does not answer.
copse_status_t FormTeam(copse_context_t* context, const TeamSpec& spec, copse_team_t** team);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_TEAM_H_
