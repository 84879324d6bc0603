// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/team_calls.h"

#include <algorithm>

namespace copse::tnbc {
namespace {

// The ranks agree again, at the latest after this many calls, on whether irregular calls are fragmented.
constexpr uint64_t kAgreeAtLeastEvery = 1024;
// Limits the call sites with circuit breakers of their own: programs that generate code may have any number of sites.
constexpr size_t kSitesMax = 256;

copse_coll_args_t Combination(copse_op_t op, const std::vector<uint64_t>& mine, std::vector<uint64_t>* all) {
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_ALLREDUCE;
  args.type = COPSE_DT_UINT64;
  args.op = op;
  args.count = mine.size();
  args.send = mine.data();
  args.recv = all->data();
  return args;
}

}  // namespace

void CallSite::Learn(const Caller::Cost& cost) const {
  breaker->CountEarly(cost.inside_ns + cost.waited_ns);
  const std::lock_guard lock(kind->mutex);
  kind->waited_ns += cost.waited_ns;
  kind->trial.CountFragmented(cost.inside_ns + cost.waited_ns, /*returned_early=*/true);
  kind->order.Learn(address, cost.order, cost.accesses);
}

void CallSite::CountEarlyReturn() const {
  const std::lock_guard lock(kind->mutex);
  kind->trial.CountEarlyReturn();
}

void CallSite::CountBlocking(uint64_t nanoseconds) const {
  breaker->CountBlocking(nanoseconds);
  const std::lock_guard lock(kind->mutex);
  kind->trial.CountFragmented(nanoseconds, /*returned_early=*/false);
}

void CallKind::CountWhole(uint64_t nanoseconds) {
  const std::lock_guard lock(mutex);
  trial.CountWhole(nanoseconds);
}

CallSite CallKind::At(const void* address) {
  const bool has_own = breakers.size() < kSitesMax || breakers.contains(address);
  return {this, address, &breakers[has_own ? address : nullptr]};
}

bool TeamCalls::FragmentCall(const copse_coll_args_t& args, CallKind* kind, const void* site, TeamOperations* team,
                             Fragmentation* fragmentation) {
  if (size_ < 2 || !MayFragment(args, size_)) return false;
  if (NeedsAgreement(args.collective) && !AgreesOnIrregular(args, kind, team)) return false;
  if (!has_learned_) has_learned_ = LearnLayout(team);
  if (!layout_.has_value() || (tries_ && !IsFragmented(kind, team))) return false;
  ++kind->calls;
  if (!tnbc::FragmentCall(args, rank_, *layout_, OrderOf(args, kind, site, team), fragmentation)) return false;
  fragmentation->announces = announces_;
  return true;
}

// Ranks exchange their nodes; a rank without asynchronous completion makes another call here, which is a mismatch on
// all ranks. Calls are fragmented if all ranks have formed the second team. Returns false if a call fails; then the
// program's call fails, too, on all ranks.
bool TeamCalls::LearnLayout(TeamOperations* team) {
  std::vector<uint64_t> nodes(size_);
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_ALLGATHER;
  args.type = COPSE_DT_UINT64;
  args.count = 1;
  args.send = &node_;
  args.recv = nodes.data();
  if (team->Make(args) != COPSE_OK) return false;
  const std::vector<uint64_t> mine = {team->FormStream() ? uint64_t{1} : 0, team->tries() ? uint64_t{1} : 0,
                                      team->may_wait_idly() ? uint64_t{0} : 1};
  std::vector<uint64_t> least(mine.size());
  if (team->Make(Combination(COPSE_OP_MIN, mine, &least)) != COPSE_OK) return false;
  if (least[0] == 1) layout_ = NodeLayout::Of(nodes);
  tries_ = least[1] == 1;
  announces_ = least[2] == 0;
  return true;
}

// If a call of the agreement fails, the program's call that follows fails too, on all ranks.
bool TeamCalls::IsFragmented(CallKind* kind, TeamOperations* team) {
  std::unique_lock lock(kind->mutex);
  FragmentationTrial& trial = kind->trial;
  if (trial.AgreesBeforeNext()) {
    const FragmentationTrial::Figures figures = trial.Mine();
    lock.unlock();
    const std::vector<uint64_t> mine(figures.begin(), figures.end());
    std::vector<uint64_t> all(mine.size());
    if (team->Make(Combination(COPSE_OP_SUM, mine, &all)) != COPSE_OK) return false;
    FragmentationTrial::Figures sums;
    std::copy(all.begin(), all.end(), sums.begin());
    lock.lock();
    trial.Adopt(sums);
  }
  if (trial.is_new()) {
    for (auto& [site, breaker] : kind->breakers) breaker.TryAgain();
  }
  return trial.FragmentsNext();
}

// Calls 1, 2, 4 and so on of a kind decide for those that follow, by the LateBytes of the rank that has most.
bool TeamCalls::AgreesOnIrregular(const copse_coll_args_t& args, CallKind* kind, TeamOperations* team) {
  CallKind::IrregularAgreement& agreement = kind->agreement;
  if (++agreement.calls < agreement.at) return agreement.fragments;
  agreement.at = std::min(2 * agreement.calls, agreement.calls + kAgreeAtLeastEvery);
  const std::vector<uint64_t> mine = {LateBytes(args, rank_, size_)};
  std::vector<uint64_t> most(1);
  agreement.fragments =
      team->Make(Combination(COPSE_OP_MAX, mine, &most)) == COPSE_OK && IsWorthFragmenting(args.collective, most[0]);
  return agreement.fragments;
}

// First the ranks agree on the period: it is 1 if they see different ones. If a call of the agreement fails, the
// program's call that follows fails, too, on all ranks.
void TeamCalls::AgreeOnOrder(CallKind* kind, TeamOperations* team) {
  std::unique_lock lock(kind->mutex);
  const uint64_t mine = kind->order.Period();
  lock.unlock();
  // The allreduce gives the maxima, over all ranks, of the period, of its complement, which gives the shortest period,
  // and of may_wait_idly.
  std::vector<uint64_t> ends(3);
  const std::vector<uint64_t> my_ends = {mine, ~mine, team->may_wait_idly() ? uint64_t{1} : 0};
  if (team->Make(Combination(COPSE_OP_MAX, my_ends, &ends)) != COPSE_OK) return;
  announces_ = announces_ || ends[2] != 0;
  const uint32_t period = ends[0] == ~ends[1] ? static_cast<uint32_t>(mine) : 1;
  lock.lock();
  const std::vector<uint64_t> positions = kind->order.Positions(period);
  lock.unlock();
  std::vector<uint64_t> sums(positions.size());
  if (team->Make(Combination(COPSE_OP_SUM, positions, &sums)) != COPSE_OK) return;
  lock.lock();
  kind->order.Adopt(period, sums);
}

// Returns the order that all ranks know, or have learned and agreed on; empty: the order of the fragments' numbers.
std::vector<uint32_t> TeamCalls::OrderOf(const copse_coll_args_t& args, CallKind* kind, const void* site,
                                         TeamOperations* team) {
  const uint32_t fragments = FragmentsOf(args, *layout_);
  if (fragments < 2) return {};
  const std::vector<uint32_t>* const known = team->KnownOrder(fragments, kind->calls);
  if (known != nullptr) return *known;
  if (!team->learns()) return {};
  std::unique_lock lock(kind->mutex);
  kind->order.SetFragments(fragments);
  if (kind->order.BeginCall(site)) {
    lock.unlock();
    AgreeOnOrder(kind, team);
    lock.lock();
  }
  return kind->order.order();
}

}  // namespace copse::tnbc
