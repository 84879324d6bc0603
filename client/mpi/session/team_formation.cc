// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/team_formation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "client/mpi/api/output_line.h"
#include "client/mpi/api/quiet_thread.h"
#include "client/mpi/api/wait_time.h"
#include "client/port/nonce.h"

namespace copse::mpi {
namespace {

// The pause after the n-th failure in a row is 2, 4, 8, 16, 20, 20... times the time that it took. So lasting failures,
// such as without a planner, cost a small share of a program's time, and the end of a short one is noticed soon.
constexpr uint64_t kRestPerFailureMax = 20;
constexpr uint64_t kRestMinNs = 1'000'000'000;

uint64_t RestAfter(uint32_t failures, uint64_t taken_ns) {
  const uint64_t times = std::min(uint64_t{1} << std::min(failures, 8U), kRestPerFailureMax);
  return std::max(times * taken_ns, kRestMinNs);
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
  if (!formed) formation->error = copse_last_error();  // this thread's error
  formation->done = true;
  formation->done_or_not.notify_one();
}

// Forms the team in another thread while this one lets MPI make progress: other ranks may still need the messages of
// the broadcast before. The MPI thread level does not matter, since the other thread calls no MPI.
void FormDrivingMpi(Session* session, const copse_team_params_t& params, Formation* formation) {
  std::thread thread;
  try {
    thread = QuietThread([session, &params, formation] { Form(session->context, params, formation); });
  } catch (const std::system_error& error) {
    formation->error = std::string("no thread: ") + error.what();
  }
  if (!thread.joinable()) return;
  std::unique_lock lock(formation->mutex);
  const auto rest = [&] { return std::chrono::duration<double>(session->progress.slice()); };
  while (!formation->done_or_not.wait_for(lock, rest(), [&] { return formation->done; })) {
    lock.unlock();
    session->progress.Turn();
    lock.lock();
  }
  lock.unlock();
  thread.join();
}

// Returns whether `parent` is the parent that all ranks give. A rank in another thread may have freed it.
bool HaveAll(uint64_t parent, const TeamMember& member) {
  const int has = member.parent.id == parent ? 1 : 0;
  int all_have = 0;
  Mpi().Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, member.comm);
  return all_have != 0;
}

}  // namespace

FormedTeam FormTeamTogether(Session* session, const TeamMember& member) {
  TeamFormationTimes& times = session->formation_times;
  const uint64_t start = NowNanoseconds();
  // Rank 0 gives its nonce, or 0 during the pause after a failure. Rank 0 decides, since failures are equal on all
  // ranks.
  struct {
    uint64_t nonce = 0;
    uint64_t parent = 0;
  } offer;
  if (member.rank == 0 && start >= times.none_before_ns) offer = {client::RandomNonce(), member.parent.id};
  Mpi().Bcast(&offer, sizeof(offer), MPI_BYTE, 0, member.comm);
  if (offer.nonce == 0) return {};
  const bool has_parent = offer.parent != 0 && HaveAll(offer.parent, member);
  copse_team_params_t params{};
  // The time-out is 0, the cluster's default: COPSE_TIMEOUT is meant for calls and may be much longer.
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE |
                COPSE_TEAM_PARAM_FIELD_NONCE | COPSE_TEAM_PARAM_FIELD_TIMEOUT;
  params.name = member.name;
  params.rank = static_cast<uint32_t>(member.rank);
  params.size = static_cast<uint32_t>(member.size);
  params.nonce = offer.nonce;
  if (has_parent) {
    params.mask |= COPSE_TEAM_PARAM_FIELD_PARENT;
    params.parent = member.parent.team.get();
  }
  Formation formation;
  FormDrivingMpi(session, params, &formation);
  const int mine[] = {formation.team != nullptr ? 1 : 0, member.flag ? 1 : 0};
  int all[2] = {};
  Mpi().Allreduce(mine, all, 2, MPI_INT, MPI_MIN, member.comm);
  const uint64_t end = NowNanoseconds(), taken = end - start;
  session->statistics.CountTeam(all[0] != 0, taken);
  if (all[0] != 0) {
    times.least_ns = std::min<uint64_t>(times.least_ns, taken);
    times.failures_in_a_row = 0;
    return {.team = formation.team,
            .all_flags = all[1] != 0,
            .taken_ns = taken,
            .id = offer.nonce,
            .had_parent = has_parent};
  }
  times.none_before_ns = end + RestAfter(++times.failures_in_a_row, taken);
  if (formation.team != nullptr) copse_team_destroy(formation.team);
  static std::atomic<bool> said = false;  // publishes nothing else
  if (member.rank == 0 && !said.exchange(true, std::memory_order_relaxed)) {
    PrintLine("a communicator goes by MPI for now: %s (ranks=%d)",
              mine[0] != 0 ? "its team could not be formed on another rank" : formation.error.c_str(), member.size);
  }
  return {.taken_ns = taken, .had_parent = has_parent};
}

}  // namespace copse::mpi
