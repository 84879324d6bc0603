// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/team_formation.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "client/mpi/quiet_thread.h"
#include "client/mpi/requests.h"
#include "client/mpi/say.h"
#include "client/mpi/wait_time.h"

namespace copse::mpi {
namespace {

// Tells teams of one name apart; 0 would be none.
uint64_t RandomNonce() {
  uint64_t nonce = 0;
  while (nonce == 0) {
    if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) nonce = 0;
  }
  return nonce;
}

struct Formation {
  std::mutex mutex;
  std::condition_variable done_or_not;
  bool done = false;
  copse_team_t* team = nullptr;
  std::string error;
};

void Form(copse_context_t* context, const copse_team_params_t& params, Formation* formation) {
  copse_team_t* team = nullptr;
  const bool formed = copse_team_create(context, &params, &team) == COPSE_OK;
  const std::lock_guard lock(formation->mutex);
  formation->team = formed ? team : nullptr;
  if (!formed) formation->error = copse_last_error();  // of this thread
  formation->done = true;
  formation->done_or_not.notify_one();
}

// Waits in another thread, as the MPI's last messages of what the ranks have just agreed on may still need this one.
void FormDrivingMpi(Session* session, const copse_team_params_t& params, Formation* formation) {
  std::thread thread;
  try {
    thread = QuietThread([session, &params, formation] { Form(session->context, params, formation); });
  } catch (const std::system_error& error) {
    formation->error = std::string("no thread: ") + error.what();
  }
  if (!thread.joinable()) return;
  std::unique_lock lock(formation->mutex);
  const auto rest = [&] { return std::chrono::duration<double>(session->slice()); };
  while (!formation->done_or_not.wait_for(lock, rest(), [&] { return formation->done; })) {
    lock.unlock();
    Drive(session);
    lock.lock();
  }
  lock.unlock();
  thread.join();
}

}  // namespace

FormedTeam FormTeamTogether(Session* session, const TeamMember& member) {
  const uint64_t start = NowNanoseconds();
  uint64_t nonce = member.rank == 0 ? RandomNonce() : 0;
  Mpi().Bcast(&nonce, sizeof(nonce), MPI_BYTE, 0, member.comm);
  copse_team_params_t params{};
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE |
                COPSE_TEAM_PARAM_FIELD_NONCE;
  params.name = member.name;
  params.rank = static_cast<uint32_t>(member.rank);
  params.size = static_cast<uint32_t>(member.size);
  params.nonce = nonce;
  Formation formation;
  FormDrivingMpi(session, params, &formation);
  const int mine[] = {formation.team != nullptr ? 1 : 0, member.flag ? 1 : 0};
  int all[2] = {};
  Mpi().Allreduce(mine, all, 2, MPI_INT, MPI_MIN, member.comm);
  if (all[0] != 0) {
    session->team_ns = std::min<uint64_t>(session->team_ns, NowNanoseconds() - start);
    return {.team = formation.team, .all_flags = all[1] != 0};
  }
  if (formation.team != nullptr) copse_team_destroy(formation.team);
  static std::atomic<bool> said = false;
  if (member.rank == 0 && !said.exchange(true)) {
    Say("a communicator stays with MPI: %s (ranks=%d)",
        mine[0] != 0 ? "its team could not be formed on another rank" : formation.error.c_str(), member.size);
  }
  return {};
}

}  // namespace copse::mpi
