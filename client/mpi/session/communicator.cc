// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/communicator.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "client/mpi/api/error_text.h"
#include "client/mpi/api/failure_text.h"
#include "client/mpi/api/output_line.h"
#include "client/port/arguments.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/trace/order_profile.h"

namespace copse::mpi {
namespace {

int keyval = MPI_KEYVAL_INVALID;

// These are the upper limits of the classes of lengths, in bytes. Calls of one class are measured together, since they
// use similar plans and protocols and take similar times.
constexpr uint64_t kLengthClasses[] = {0, 1 << 10, 16 << 10, 256 << 10};

uint32_t LengthClassOf(const Offload& offload) {
  const auto* const found = std::lower_bound(std::begin(kLengthClasses), std::end(kLengthClasses), offload.known_bytes);
  return static_cast<uint32_t>(found - std::begin(kLengthClasses));
}

// Returns the number of the kind of a call: its collective and its class of lengths.
uint64_t KindOf(const Offload& offload) {
  return static_cast<uint64_t>(offload.args.collective) * (std::size(kLengthClasses) + 1) + LengthClassOf(offload);
}

// A duplicate of a communicator does not inherit the attribute, as it has another team and counts its own calls.
int OnCopy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// Without a session, the context has destroyed the team, or the team is that of a forked child's parent.
void Leave(copse_team_t* team) {
  if (TheSession() != nullptr) copse_team_destroy(team);
}

}  // namespace

int Communicator::OnDelete(MPI_Comm, int, void* attribute, void*) {
  auto* communicator = static_cast<Communicator*>(attribute);
  communicator->freed_ = true;
  communicator->Release();
  return MPI_SUCCESS;
}

void Communicator::Release() {
  // acq_rel: the last user sees what the others have written before their release.
  if (uses_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const tnbc::HeldSignals held;
  if (stream() != nullptr) Leave(stream());
  delete this;
}

void StartCommunicators() { Mpi().Comm_create_keyval(OnCopy, &Communicator::OnDelete, &keyval, nullptr); }

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  int inter = 0;
  Mpi().Comm_test_inter(comm, &inter);
  Mpi().Comm_rank(comm, &rank_);
  Mpi().Comm_size(comm, &size_);
  if (inter != 0) {
    by_mpi_ = Reason::kInterCommunicator;
  } else if (size_ == 1) {
    by_mpi_ = Reason::kOneRank;
  }
}

Communicator* Communicator::Of(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (Mpi().Comm_get_attr(comm, keyval, &attribute, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<Communicator*>(attribute);
  auto* made = new Communicator(comm);
  if (Mpi().Comm_set_attr(comm, keyval, made) == MPI_SUCCESS) return made;
  delete made;
  return nullptr;
}

Reason Communicator::Enter(Session* session, bool may_wait) {
  if (by_mpi_ != Reason::kNone || (team() != nullptr && decision_.is_final())) return by_mpi_;
  const Settings& settings = session->settings;
  const uint64_t first_look = comm_ == MPI_COMM_WORLD ? settings.calls_before_of_world : settings.calls_before;
  const bool is_time = decision_.Count(first_look, settings.weighs_teams, may_wait);
  if (team() != nullptr) return Reason::kNone;
  if (!is_time) return decision_.has_failed() ? Reason::kNoTeam : Reason::kFirstCalls;
  if (!decision_.is_final() && !IsWorthTeam(session)) {
    decision_.Postpone();
    return Reason::kFirstCalls;
  }
  FormTeam(session);
  if (team() != nullptr || by_mpi_ != Reason::kNone) return by_mpi_;
  decision_.OnNoTeam();
  return Reason::kNoTeam;
}

bool Communicator::MaySend(const Offload& offload) const {
  return decision_.is_final() || !offload.is_order_sensitive || size_ <= 2 || offload.combines_in_order();
}

// Returns whether the communicator's calls have cost many times as much as forming a team. Then the team costs a small
// share of the time even if few calls follow. The rank with the least cost decides, since the times of the others
// include their wait for a late rank, such as one that reads the input.
bool Communicator::IsWorthTeam(Session* session) const {
  const int is_worth = decision_.cost_ns() >= session->formation_times.worth_ns() ? 1 : 0;
  int on_all = 0;
  Mpi().Allreduce(&is_worth, &on_all, 1, MPI_INT, MPI_MIN, comm_);
  return on_all != 0;
}

bool Communicator::EndsOnErrors() const {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (Mpi().Comm_get_errhandler(comm_, &handler) != MPI_SUCCESS) return false;
  const bool ends = handler == MPI_ERRORS_ARE_FATAL;
  Mpi().Errhandler_free(&handler);
  return ends;
}

PathChoice* Communicator::ChoiceOf(const Session& session, const Offload& offload) {
  // A sum has to be the same in every run, so measured times must not choose its path. With two operands it is the same
  // in any order.
  const bool has_order = offload.is_order_sensitive && size_ > 2 && !offload.combines_in_order();
  if (!session.settings.chooses_path || !all_end_on_errors_ || has_order) return nullptr;
  return &choices_[KindOf(offload)];
}

std::vector<int> Communicator::WorldRanks() const {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  Mpi().Comm_group(comm_, &group);
  Mpi().Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(size_), world_ranks(size_, MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  Mpi().Group_translate_ranks(group, size_, ranks.data(), world, world_ranks.data());
  Mpi().Group_free(&group);
  Mpi().Group_free(&world);
  return world_ranks;
}

void Communicator::FormTeam(Session* session) {
  const std::vector<int> world_ranks = WorldRanks();
  // Members outside of this process's MPI_COMM_WORLD may have no daemon.
  if (std::find(world_ranks.begin(), world_ranks.end(), MPI_UNDEFINED) != world_ranks.end()) {
    by_mpi_ = Reason::kOtherJob;
    return;
  }
  const char* name = comm_ == MPI_COMM_WORLD ? "mpi-world" : "mpi-communicator";
  const FormedTeam formed = Form(session, name, session->parent_teams.Find(world_ranks), EndsOnErrors());
  all_end_on_errors_ = formed.all_flags;
  if (formed.team == nullptr) return;
  team_ = {.team = {formed.team, &Leave}, .id = formed.id};
  session->parent_teams.Add(world_ranks, team_);
}

FormedTeam Communicator::Form(Session* session, const char* name, ParentTeam parent, bool flag) {
  if (has_no_parent_) parent = {};
  const FormedTeam formed = FormTeamTogether(
      session, {.comm = comm_, .rank = rank_, .size = size_, .name = name, .flag = flag, .parent = std::move(parent)});
  has_no_parent_ = formed.team == nullptr && formed.had_parent;
  forming_ns_ += formed.taken_ns;
  return formed;
}

copse_team_t* Communicator::FormPersistentTeam(Session* session) { return Form(session, "mpi-persistent", team_).team; }

tnbc::TeamCalls* Communicator::DividedCalls(uint64_t node) {
  if (!divided_calls_.has_value()) {
    divided_calls_.emplace(static_cast<uint32_t>(rank_), static_cast<uint32_t>(size_), node);
  }
  return &*divided_calls_;
}

tnbc::CallKind* Communicator::AsyncKindOf(const Offload& offload) { return divided_calls_->KindOf(KindOf(offload)); }

tnbc::TraceKind Communicator::DescribeKind(const Offload& offload) {
  if (members_hash_ == 0) members_hash_ = tnbc::HashOf(WorldRanks());
  return {.communicator = members_hash_,
          .size = static_cast<uint32_t>(size_),
          .rank = static_cast<uint32_t>(rank_),
          .collective = client::CollectiveName(offload.args.collective),
          .length = LengthClassOf(offload)};
}

bool Communicator::FormStream(Session* session) {
  if (!stream_.has_value()) stream_ = Form(session, "mpi-stream", team_).team;
  return stream() != nullptr;
}

int Communicator::Fail(const char* function, copse_status_t status, const char* text) {
  if (failures_.IsFirst()) {
    PrintLine("%s: %s (rank=%d, size=%d)", function, text, rank_, size_);
    if (Session* const session = TheSession(); session != nullptr) session->parent_teams.Remove(team());
  }
  const int error = [&] {
    const std::lock_guard lock(error_codes_mutex_);
    return CodeOfText(ErrorClassOf(status), text, &error_codes_);
  }();
  return CallErrorHandler(error);
}

int Communicator::Refuse(const char* function, int error, const char* why) {
  PrintLine("%s: %s (rank=%d, size=%d)", function, why, rank_, size_);
  return CallErrorHandler(error);
}

int Communicator::CallErrorHandler(int error) {
  Mpi().Comm_call_errhandler(freed_ ? MPI_COMM_WORLD : comm_, error);
  return error;
}

}  // namespace copse::mpi
