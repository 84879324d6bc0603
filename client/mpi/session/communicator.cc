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

// When a communicator gets a team, if teams are weighed: when its calls by MPI have cost so many times what it takes to
// form one. So many, as first plans, which are fetched, and calls that find out which way is faster cost several times
// as much, where MPI is.
constexpr uint64_t kTimesTeam = 200;
// After as many calls it gets one, whatever they have cost: the same in every run.
constexpr uint64_t kCallsBeforeOrder = 16384;

// After a team could not be formed all ranks find out, at least each so many calls, whether it is time to try again.
constexpr uint64_t kCallsBeforeRetry = 1024;

// Lengths that are about as long have calls that take about as long, within what plans and protocols differ by.
constexpr uint64_t kLengthClasses[] = {0, 1 << 10, 16 << 10, 256 << 10};

uint32_t LengthClassOf(const Offload& offload) {
  const auto* const found = std::lower_bound(std::begin(kLengthClasses), std::end(kLengthClasses), offload.known_bytes);
  return static_cast<uint32_t>(found - std::begin(kLengthClasses));
}

// The number of a kind of calls, which are measured together.
uint64_t KindOf(const Offload& offload) {
  return static_cast<uint64_t>(offload.args.collective) * (std::size(kLengthClasses) + 1) + LengthClassOf(offload);
}

// A copy of a communicator has calls and a team of its own.
int OnCopy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

}  // namespace

int Communicator::OnDelete(MPI_Comm, int, void* attribute, void*) {
  auto* communicator = static_cast<Communicator*>(attribute);
  communicator->freed_ = true;
  communicator->Release();
  return MPI_SUCCESS;
}

void Communicator::Release() {
  // acq_rel: the last user sees what the others did before they released it.
  if (uses_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const tnbc::HeldSignals held;
  // Without a session its team goes with the context, or is another process's.
  for (copse_team_t* const team : {stream_, team_}) {
    if (team != nullptr && TheSession() != nullptr) copse_team_destroy(team);
  }
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
  if (by_mpi_ != Reason::kNone || (team_ != nullptr && !order_may_change_)) return by_mpi_;
  const Settings& settings = session->settings;
  if (calls_ == 0) look_at_ = comm_ == MPI_COMM_WORLD ? settings.calls_before_of_world : settings.calls_before;
  const uint64_t before = calls_++;
  if (may_wait && before >= (settings.weighs_teams ? kCallsBeforeOrder : look_at_)) order_may_change_ = false;
  if (team_ != nullptr) return Reason::kNone;
  if (before < look_at_ || !may_wait) return has_no_team_ ? Reason::kNoTeam : Reason::kFirstCalls;
  if (order_may_change_ && !IsWorthTeam(session)) {
    look_at_ = std::min(2 * calls_, std::max(calls_, kCallsBeforeOrder));
    return Reason::kFirstCalls;
  }
  FormTeam(session);
  if (team_ != nullptr || by_mpi_ != Reason::kNone) return by_mpi_;
  has_no_team_ = true;
  look_at_ = calls_ + std::min(calls_, kCallsBeforeRetry);
  return Reason::kNoTeam;
}

bool Communicator::MaySend(const Offload& offload) const {
  return !order_may_change_ || !offload.is_order_sensitive || size_ <= 2 || offload.combines_in_order();
}

// A communicator gets a team only after its calls have cost many times what a team does, so a team costs a small share,
// however few calls are still to come. The rank whose calls have cost least decides: the time of the others includes
// waiting for it, as ranks wait for one that reads the input.
bool Communicator::IsWorthTeam(Session* session) const {
  const int is_worth = first_ns_ >= kTimesTeam * session->formation_times.least_ns ? 1 : 0;
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
  // A sum has to be the same in every run. Of two operands it is, in any order.
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

// Returns whether all members were started with this process: others may have no daemon.
bool Communicator::IsOfThisJob() const {
  const std::vector<int> world_ranks = WorldRanks();
  return std::find(world_ranks.begin(), world_ranks.end(), MPI_UNDEFINED) == world_ranks.end();
}

void Communicator::FormTeam(Session* session) {
  if (!IsOfThisJob()) {
    by_mpi_ = Reason::kOtherJob;
    return;
  }
  const char* name = comm_ == MPI_COMM_WORLD ? "mpi-world" : "mpi-communicator";
  const FormedTeam formed = Form(session, name, EndsOnErrors());
  team_ = formed.team;
  all_end_on_errors_ = formed.all_flags;
}

FormedTeam Communicator::Form(Session* session, const char* name, bool flag) {
  const FormedTeam formed =
      FormTeamTogether(session, {.comm = comm_, .rank = rank_, .size = size_, .name = name, .flag = flag});
  forming_ns_ += formed.taken_ns;
  return formed;
}

copse_team_t* Communicator::FormPersistentTeam(Session* session) { return Form(session, "mpi-persistent").team; }

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
  if (stream_ == nullptr && !has_no_stream_) {
    stream_ = Form(session, "mpi-stream").team;
    has_no_stream_ = stream_ == nullptr;
  }
  return stream_ != nullptr;
}

int Communicator::Fail(const char* function, copse_status_t status, const char* text) {
  if (!has_failed_) PrintLine("%s: %s (rank=%d, size=%d)", function, text, rank_, size_);
  has_failed_ = true;
  return CallErrorHandler(CodeOfText(ErrorClassOf(status), text, &error_codes_));
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
