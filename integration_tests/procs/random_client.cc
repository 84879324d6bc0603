// SPDX-License-Identifier: Apache-2.0
//
// One rank of a team that makes random calls of libcopse and checks them: random_client RANK SIZE SEED ROUNDS BYTES_MAX
// [COLLECTIVE...], numbers all. Exit code: 0; 1 with a line that says what was wrong; 2 for wrong arguments.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "client/copse.h"
#include "client/testing/every_collective.h"

namespace {

int Fail(const std::string& what) {
  fprintf(stderr, "random_client: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "random_client: arguments: RANK SIZE SEED ROUNDS BYTES_MAX [COLLECTIVE...]\n");
    return 2;
  }
  const copse_team_params_t params{
      .mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE,
      .name = "random",
      .rank = static_cast<uint32_t>(strtoul(argv[1], nullptr, 10)),
      .size = static_cast<uint32_t>(strtoul(argv[2], nullptr, 10))};

  copse::client::EveryCollectiveOptions options;
  options.seed = strtoull(argv[3], nullptr, 10);
  options.rounds = atoi(argv[4]);
  options.bytes_max = strtoull(argv[5], nullptr, 10);
  for (int i = 6; i < argc; ++i) options.collectives.push_back(static_cast<copse_collective_t>(atoi(argv[i])));
  copse_context_t* context = nullptr;
  copse_team_t* team = nullptr;
  if (copse_init(nullptr, &context) != COPSE_OK) return Fail(copse_last_error());
  if (copse_team_create(context, &params, &team) != COPSE_OK) return Fail(copse_last_error());
  if (const std::string wrong = RunEveryCollective(context, team, options); !wrong.empty()) return Fail(wrong);
  if (copse_team_destroy(team) != COPSE_OK || copse_fini(context) != COPSE_OK) return Fail(copse_last_error());
  return 0;
}
