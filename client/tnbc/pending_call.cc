// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pending_call.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/context.h"
#include "client/tnbc/free_syscall.h"
#include "client/tnbc/held_signals.h"
#include "client/tnbc/memory_kind.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/tnbc/page_bytes.h"

namespace copse::tnbc {
namespace {

// Shorter ones are copied at once: from there on that takes longer than to protect and open them (bench/tnbc_cost.cc).
constexpr uint64_t kSnapshotBytesMin = 512 << 10;

// Of a call that does not wait for them: what they take is not to exceed the waiting.
constexpr size_t kEdgesLeftMax = 4;

constexpr char kUnmapped[] = "its buffer is not mapped any more";

}  // namespace

PendingCall::PendingCall(const Owner& owner, copse_team_t* stream, const copse_coll_args_t& args,
                         const Division& division, RecordedCall* record, std::shared_ptr<Caller> caller)
    : context_(owner.context),
      memory_(owner.memory),
      adopted_(owner.adopted),
      guard_(owner.guard),
      counters_(owner.counters),
      way_(owner.way),
      stream_(stream),
      division_(division),
      record_(record),
      caller_(std::move(caller)),
      snapshot_(owner.guard),
      sent_(owner.guard, owner.adopted) {
  user_receive_ = static_cast<uint8_t*>(args.recv);
  if (args.recv == COPSE_IN_PLACE) user_receive_ = nullptr;
  user_send_ = division.sends_received ? user_receive_ + division.send_at : static_cast<const uint8_t*>(args.send);
}

PendingCall::~PendingCall() {
  const HeldSignals held;
  DropAliases();
  bool complete = true;
  if (announcement_ != nullptr) requests_.push_back(announcement_);
  for (copse_request_t* request : requests_) {
    if (copse_finalize(request) == COPSE_OK) continue;
    complete = false;
    copse_cancel(request);
    copse_finalize(request);
  }
  // The daemon may still use what a call was given that has been given up.
  for (const CopyMemory::Block& block : {send_copy_, receive_copy_}) {
    if (complete) memory_->GiveBack(block);
    if (!complete) memory_->Drop(block);
  }
  if (!complete && buffer_ != nullptr) adopted_->Spoil(buffer_);
  if (!complete) sent_.Spoil();
}

bool PendingCall::Prepare() {
  const HeldSignals held;
  const auto address = reinterpret_cast<uintptr_t>(user_receive_);
  const bool receives = !division_.runs.empty();
  if (PageBytes() > division_.edge_bytes) return false;
  const bool writes_parts_only = WritesPartsOnly(division_);
  lands_by_itself_ = receives && writes_parts_only && context_->ReachesPages(user_receive_, division_.receive_bytes);
  if (receives && !lands_by_itself_) {
    const Range result{address, address + division_.receive_bytes};
    if (adopted_ != nullptr) buffer_ = adopted_->Use(result, writes_parts_only);
    if (KindOf(result) < (buffer_ == nullptr ? MemoryKind::kPrivate : MemoryKind::kOurs)) return false;
  }
  const bool lands_in_buffer = buffer_ != nullptr && writes_parts_only;
  const bool copies_received = division_.receive_bytes > 0 && !lands_by_itself_ && !lands_in_buffer;
  const bool copies_sent = division_.send_bytes > 0 && !PrepareSent();
  if (copies_sent) send_copy_ = memory_->Take(division_.send_bytes);
  if (copies_received) receive_copy_ = memory_->Take(division_.receive_bytes);
  is_early_ = (!copies_sent || send_copy_.address != nullptr) && (!copies_received || receive_copy_.address != nullptr);
  return is_early_;
}

bool PendingCall::MayProtectSent() const {
  const uint8_t* const from = division_.is_source ? user_receive_ : user_send_;
  const uint64_t bytes = division_.is_source ? division_.receive_bytes : division_.send_bytes;
  const auto begin = reinterpret_cast<uintptr_t>(from);
  return bytes >= kSnapshotBytesMin && way_ == SendSnapshot::Way::kInPieces &&
         (MayProtect({begin, begin + bytes}) || context_->ReachesPages(from, bytes));
}

// What is sent from where results come, or packed, is copied before they come.
bool PendingCall::PrepareSent() {
  if (division_.send_bytes < kSnapshotBytesMin || way_ != SendSnapshot::Way::kInPieces || division_.sends_received ||
      !division_.send_pack.empty()) {
    return false;
  }
  const auto begin = reinterpret_cast<uintptr_t>(user_send_);
  return sent_.Prepare({begin, begin + division_.send_bytes}, context_->ReachesPages(user_send_, division_.send_bytes));
}

copse_status_t PendingCall::Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive) {
  const HeldSignals held;
  copse_coll_args_t args = sub.args;
  if (sub.sends) args.send = send;
  if (sub.receives) args.recv = receive;
  if (sub.keeps_own) args.recv = COPSE_IN_PLACE;
  const auto give = [&args](const std::vector<uint64_t>& values, uint64_t field, const uint64_t** where) {
    if (values.empty()) return;
    args.mask |= field;
    *where = values.data();
  };
  give(sub.send_counts, COPSE_COLL_ARGS_FIELD_SEND_COUNTS, &args.send_counts);
  give(sub.send_displacements, COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS, &args.send_displacements);
  give(sub.receive_counts, COPSE_COLL_ARGS_FIELD_RECV_COUNTS, &args.recv_counts);
  give(sub.receive_displacements, COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS, &args.recv_displacements);
  copse_request_t* request = nullptr;
  if (const auto status = copse_collective_init(team, &args, &request); status != COPSE_OK) return status;
  request->plan.under_way_max = sub.under_way_max;
  if (sub.pair_count_max > 0) {
    request->plan.pairs_bounded = true;
    request->plan.count = sub.pair_count_max;
  }
  requests_.push_back(request);
  return COPSE_OK;
}

copse_status_t PendingCall::Announce(copse_team_t* team) {
  const HeldSignals held;
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BARRIER;
  return copse_collective_init(team, &args, &announcement_);
}

// The ends come first, and the rest follows when they are there.
copse_status_t PendingCall::Start(copse_team_t* team) {
  since_ns_ = NowNs();
  send_ = const_cast<uint8_t*>(user_send_);  // never written to
  receive_ = user_receive_;
  if (is_early_) {
    send_ = sent_.is_used() ? sent_.Start() : send_copy_.address;
    if (buffer_ != nullptr && receive_copy_.address == nullptr) {
      receive_ = buffer_->At(reinterpret_cast<uintptr_t>(user_receive_));
    } else if (!lands_by_itself_) {
      receive_ = receive_copy_.address;
    }
  } else if ((division_.sends_received || !division_.send_pack.empty()) && division_.send_bytes > 0) {
    kept_send_.resize(division_.send_bytes);  // before calls overwrite it
    send_ = kept_send_.data();
  }
  const Edges& edges = division_.edges;
  edges_send_.resize(edges.send_bytes);
  edges_receive_.resize(edges.receive_bytes);
  // A broadcast's root has what it sends where others receive.
  uint8_t* const packed = division_.is_source ? edges_receive_.data() : edges_send_.data();
  const uint8_t* const whole = division_.is_source ? user_receive_ : user_send_;
  for (const Move& move : edges.pack) memcpy(packed + move.to, whole + move.from, move.bytes);
  const auto at = [](uint8_t* buffer, uint64_t offset) { return buffer == nullptr ? nullptr : buffer + offset; };
  copse_status_t status = Make(team, edges.call, edges_send_.data(), edges_receive_.data());
  if (status == COPSE_OK) status = caller_->Post(requests_[0]);
  if (status == COPSE_OK && division_.announces) status = Announce(team);
  if (status == COPSE_OK && division_.announces) status = caller_->Post(announcement_);
  if (status != COPSE_OK) return status;
  // While they are on their way. What lies in the receive buffer goes as results come.
  if (send_ != user_send_ && !division_.send_pack.empty()) {
    for (const Move& move : division_.send_pack) memcpy(send_ + move.to, user_send_ + move.from, move.bytes);
  } else if (division_.sends_received && division_.send_bytes > 0) {
    memcpy(send_, user_send_, division_.send_bytes);
  } else if (is_early_ && !sent_.is_used()) {
    const auto way = MayProtectSent() ? way_ : SendSnapshot::Way::kAtOnce;
    snapshot_.Start(division_, division_.is_source ? user_receive_ : user_send_, division_.is_source ? receive_ : send_,
                    way, PageBytes());
  }
  for (const SubCall& sub : division_.calls) {
    if (status != COPSE_OK) return status;
    status = Make(stream_, sub, at(send_, sub.send_offset), at(receive_, sub.receive_offset));
  }
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  is_complete_.assign(division_.calls.size(), false);
  landed_.assign(division_.calls.size(), false);
  landed_ns_.resize(division_.calls.size());
  guarded_of_call_.resize(division_.calls.size() + 1);  // the last one's: the edges
  is_started_ = status == COPSE_OK;
  return status;
}

bool PendingCall::CopyMeanwhile() {
  return !snapshot_.HasAll() && copse_test(requests_[0]) == COPSE_INPROGRESS && snapshot_.CopyNext();
}

copse_status_t PendingCall::Finish() {
  if (const copse_status_t status = caller_->Await(requests_[0]); status != COPSE_OK) return status;
  for (const Move& move : division_.edges.unpack) {
    memcpy(user_receive_ + move.to, edges_receive_.data() + move.from, move.bytes);
  }
  CopyOwn();
  const std::lock_guard lock(mutex_);
  has_edges_ = true;
  return COPSE_OK;
}

copse_status_t PendingCall::AwaitAnnouncement() { return caller_->Await(announcement_); }

// False if it is under way, or has failed.
bool PendingCall::IsAnnounced() {
  const copse_status_t status = announcement_ == nullptr ? COPSE_OK : copse_test(announcement_);
  if (status == COPSE_OK) return true;
  if (status != COPSE_INPROGRESS) Lose(status, copse_last_error());
  return false;
}

void PendingCall::CopyOwn() {
  const Move& own = division_.own;
  if (own.bytes > 0) memcpy(user_receive_ + own.to, user_send_ + own.from, own.bytes);
}

// Who looks at first touches has parts for them; the edges are of none.
bool PendingCall::MayLeaveEdges() const {
  return is_early_ && record_ == nullptr && division_.edges.unpack.size() <= kEdgesLeftMax &&
         EdgesFillPages(division_, PlaceOfReceived());
}

BufferPlace PendingCall::PlaceOfReceived() const {
  const auto begin = reinterpret_cast<uintptr_t>(user_receive_);
  BufferPlace place = {begin, PageBytes()};
  if (lands_by_itself_) return place;
  const Spare spare = SpareAround({begin, begin + division_.receive_bytes});
  place.spare_before = spare.before;
  if (!leaves_rest_) place.spare_behind = spare.behind;
  return place;
}

// A shared mapping of length 0 that is moved leaves the old one where it is (mremap(2)). The kernel would not write
// where memory is shared and inaccessible.
bool PendingCall::AddAliases() {
  if (!lands_by_itself_) return true;
  for (const Move& move : division_.edges.unpack) {
    const uintptr_t to = reinterpret_cast<uintptr_t>(user_receive_) + move.to;
    const uintptr_t begin = to / PageBytes() * PageBytes();
    const uint64_t bytes = (to + move.bytes - begin + PageBytes() - 1) / PageBytes() * PageBytes();
    const long alias = Free(SYS_mremap, begin, 0, bytes, MREMAP_MAYMOVE);
    if (alias < 0 && alias > -4096) {
      DropAliases();
      return false;
    }
    aliases_.push_back({static_cast<uintptr_t>(alias), static_cast<uintptr_t>(alias) + bytes});
  }
  return true;
}

void PendingCall::DropAliases() {
  for (const Range& alias : aliases_) Free(SYS_munmap, alias.begin, alias.bytes());
  aliases_.clear();
}

bool PendingCall::LandEdges() {
  for (size_t i = 0; i < division_.edges.unpack.size(); ++i) {
    const Move& move = division_.edges.unpack[i];
    const uint8_t* const from = edges_receive_.data() + move.from;
    const uintptr_t to = reinterpret_cast<uintptr_t>(user_receive_) + move.to;
    if (lands_by_itself_) {
      memcpy(reinterpret_cast<uint8_t*>(aliases_[i].begin) + to % PageBytes(), from, move.bytes);  // NOLINT: as mapped
    } else if (!Write({move.to, move.bytes}, from)) {
      return false;
    }
  }
  DropAliases();
  has_edges_ = true;
  is_left_.store(true, std::memory_order_release);
  OpenAfter(static_cast<uint32_t>(division_.calls.size()));
  return true;
}

bool PendingCall::Protect(bool leaves_edges) {
  if (leaves_edges) CopyOwn();
  leaves_edges_ = leaves_edges && AddAliases();
  const bool is_early = leaves_edges_ == leaves_edges && snapshot_.Protect() && ProtectBuffers();
  if (is_early) {
    // Nothing is posted before the edges are there, and to wake who copies takes the caller longer than all else.
    if (!leaves_edges) is_left_.store(true, std::memory_order_release);
  } else {
    DropAliases();
    while (snapshot_.CopyNext()) {
    }
  }
  return is_early;
}

bool PendingCall::ProtectBuffers() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kUnderWay || !sent_.Protect(division_)) return false;
  if (ProtectReceived()) return true;
  sent_.Open();
  return false;
}

bool PendingCall::ProtectReceived() {
  // Of an attempt before.
  guarded_.clear();
  for (std::vector<uint32_t>& guarded : guarded_of_call_) guarded.clear();
  pending_bytes_ = 0;
  for (const Granule& granule : GranulesOf(division_, PlaceOfReceived(), leaves_edges_)) {
    for (const uint32_t call : granule.calls) guarded_of_call_[call].push_back(static_cast<uint32_t>(guarded_.size()));
    const Range range{granule.begin, granule.begin + granule.bytes};
    guarded_.push_back({range, static_cast<uint32_t>(granule.calls.size())});
    pending_bytes_ += granule.bytes;
  }
  is_protected_ = is_finished_ = CloseReceived();
  return is_protected_;
}

bool PendingCall::CloseReceived() {
  std::vector<Range> all;
  for (const Guarded& guarded : guarded_) all.push_back(guarded.range);
  return buffer_ != nullptr ? CloseAdopted(all) : guard_->Protect(all, Record());
}

bool PendingCall::CloseAdopted(std::span<const Range> all) {
  bool is_closed = false;
  exchanged_ = adopted_->Close(
      buffer_.get(), all, [&] { return guard_->Protect(all, Record()); },
      [this](std::span<const Range> pages) { KeepUnbrought(pages); }, &is_closed);
  return is_closed;
}

// Of pages that are to be exchanged: what no call brings. On the first and last there may be spare bytes, too.
void PendingCall::KeepUnbrought(std::span<const Range> pages) {
  const auto begin = reinterpret_cast<uintptr_t>(user_receive_);
  const Range result{begin, begin + division_.receive_bytes};
  const auto keep = [this](uintptr_t from, uintptr_t to) {
    if (from < to) guard_->Read(buffer_->At(from), from, to - from);
  };
  std::vector<Part> parts;
  for (const Range& range : pages) {
    const Range inside{std::max(range.begin, result.begin), std::min(range.end, result.end)};
    parts.push_back({inside.begin - begin, inside.bytes()});
    keep(range.begin, inside.begin);
    keep(inside.end, range.end);
  }
  for (const Part& part : UnbroughtOf(division_, leaves_edges_, parts)) {
    keep(begin + part.offset, begin + part.offset + part.bytes);
  }
}

// Who is told what is touched; by range.
std::vector<FirstTouch*> PendingCall::Record() {
  std::vector<FirstTouch*> touches;
  if (record_ == nullptr) return touches;
  record_->pieces = std::vector<RecordedCall::Piece>(guarded_.size());
  for (uint32_t i = 0; i < guarded_.size(); ++i) {
    RecordedCall::Piece& piece = record_->pieces[i];
    piece.range = guarded_[i].range;
    piece.offset = piece.range.begin - reinterpret_cast<uintptr_t>(user_receive_);
    touches.push_back(&piece.touch);
  }
  for (size_t call = 0; call < division_.calls.size(); ++call) {
    for (const uint32_t i : guarded_of_call_[call]) record_->pieces[i].parts.push_back(division_.calls[call].part);
  }
  record_->recorder->LookAt(record_);
  return touches;
}

void PendingCall::CopyOut() {
  if (receive_ == user_receive_) return;
  for (const SubCall& sub : division_.calls) {
    for (const Part& part : sub.parts) memcpy(user_receive_ + part.offset, receive_ + part.offset, part.bytes);
  }
}

// False if memory is not there any more: the program has unmapped it behind our back.
bool PendingCall::LandCall(uint32_t index) {
  landed_[index] = true;
  landed_ns_[index] = NowNs();
  sent_.EndCall(index);
  for (const Part& part : division_.calls[index].parts) {
    // What lies outside pages was brought before, and may be the program's again.
    if (!lands_by_itself_ && !Write(part, receive_ + part.offset)) return false;
  }
  OpenAfter(index);
  return true;
}

// To memory that is closed.
bool PendingCall::Write(const Part& part, const uint8_t* from) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(user_receive_) + part.offset, end = begin + part.bytes;
  if (buffer_ != nullptr) return WriteAround(Range{begin, end}, from);
  return guard_->Write(begin, from, part.bytes);
}

// What is exchanged is accessible elsewhere, and there already unless it has come by a copy.
bool PendingCall::WriteAround(const Range& range, const uint8_t* from) {
  uintptr_t at = range.begin;
  for (const Range& pages : exchanged_) {
    const uintptr_t begin = std::clamp(pages.begin, at, range.end), end = std::clamp(pages.end, at, range.end);
    if (begin > at && !guard_->Write(at, from + (at - range.begin), begin - at)) return false;
    const uint8_t* const data = from + (begin - range.begin);
    if (end > begin && buffer_->At(begin) != data) memcpy(buffer_->At(begin), data, end - begin);
    at = std::max(at, end);
  }
  return at == range.end || guard_->Write(at, from + (at - range.begin), range.end - at);
}

void PendingCall::OpenAfter(uint32_t index) {
  for (const uint32_t i : guarded_of_call_[index]) {
    if (--guarded_[i].missing == 0) Open(i);
  }
}

void PendingCall::Open(uint32_t index) {
  const Range& range = guarded_[index].range;
  if (record_ == nullptr) {
    guard_->Release(range);
  } else {
    record_->pieces[index].there_ns = NowNs();
    guard_->ReleaseAtTouch(range);
  }
}

// In order, each as soon as what it sends is there. What they wait for then is the daemon's matter.
void PendingCall::PostNext() {
  wants_room_ = false;
  while (posted_ < landed_.size() && snapshot_.HasCall(posted_)) {
    const copse_status_t status = copse_post(requests_[1 + posted_]);
    wants_room_ = status == COPSE_ERR_NO_RESOURCE;
    if (wants_room_) return;
    if (status != COPSE_OK) return Lose(status, copse_last_error());
    ++posted_;
  }
  lets_others_post_ = posted_ == landed_.size() && complete_ + 1 >= posted_;
}

void PendingCall::Lose(copse_status_t status, const char* why) {
  state_ = State::kLost;
  status_ = status;
  lets_others_post_ = true;                        // nothing more comes
  if (is_finished_) caller_->OnLate(status, why);  // first: who waits is to know whose it is
  snapshot_.Drop();
  sent_.Open();
  for (const Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->MarkLost(guarded.range);
  }
}

// False if one has failed.
bool PendingCall::CountComplete() {
  complete_ = 0;
  for (uint32_t i = 0; i < posted_; ++i) {
    if (!is_complete_[i]) {
      const copse_status_t status = copse_test(requests_[1 + i]);
      if (status == COPSE_INPROGRESS) continue;
      if (status != COPSE_OK) {
        Lose(status, copse_last_error());
        return false;
      }
      is_complete_[i] = true;
    }
    ++complete_;
  }
  return true;
}

bool PendingCall::LandAll() {
  for (uint32_t i = 0; i < posted_ && is_protected_; ++i) {
    if (!is_complete_[i] || landed_[i] || LandCall(i)) continue;
    Lose(COPSE_ERR_INTERNAL, kUnmapped);
    return false;
  }
  return true;
}

PendingCall::State PendingCall::Advance(bool may_post) {
  const std::lock_guard lock(mutex_);
  if (!is_started_ || state_ != State::kUnderWay) return state_;
  if (is_protected_ && !has_edges_) {
    const copse_status_t status = copse_test(requests_[0]);
    if (status == COPSE_INPROGRESS) return state_;
    if (status != COPSE_OK) {
      Lose(status, copse_last_error());
      return state_;
    }
    if (!LandEdges()) {
      Lose(COPSE_ERR_INTERNAL, kUnmapped);
      return state_;
    }
  }
  if (!CountComplete()) return state_;
  // What the program waits for has the network for itself. The next ones travel while these are copied.
  if (may_post && has_edges_ && !lets_others_post_) PostNext();
  if (state_ != State::kUnderWay || !LandAll()) return state_;
  if (complete_ < landed_.size() || !(is_protected_ || is_awaited_) || !IsAnnounced()) return state_;
  state_ = State::kOver;
  if (is_protected_) counters_->behind_ns.fetch_add(NowNs() - since_ns_, std::memory_order_relaxed);
  return state_;
}

void PendingCall::Report() {
  if (!is_finished_) return;
  Caller::Cost cost = {inside_ns_, guard_->counters().wait_ns - waited_before_ns_, OrderOf(division_), {}};
  const uint64_t end = guard_->touches();
  const uint64_t begin = std::max(touches_before_, end - std::min(end, PageGuard::kTouchesKept));
  const uint64_t last = landed_ns_.empty() ? since_ns_ : *std::max_element(landed_ns_.begin(), landed_ns_.end());
  bool has_waited_to_write = false;
  for (uint64_t i = begin; i < end; ++i) {
    const PageGuard::Touch touch = guard_->TouchAt(i);
    // Shortly before the end there may be a little left to send, for which a copy of all is too much.
    has_waited_to_write |= sent_.Has(touch.address) && touch.ns < last && 4 * (last - touch.ns) > last - since_ns_;
    const auto there = std::count_if(landed_ns_.begin(), landed_ns_.end(), [&](uint64_t ns) { return ns < touch.ns; });
    // Of a page that several parts share, those are wanted that were not there.
    for (size_t call = 0; call < division_.calls.size(); ++call) {
      const std::vector<uint32_t>& guarded = guarded_of_call_[call];
      const bool brings = std::any_of(guarded.begin(), guarded.end(), [&](uint32_t index) {
        return touch.address >= guarded_[index].range.begin && touch.address < guarded_[index].range.end;
      });
      if (!brings || landed_ns_[call] < touch.ns) continue;
      cost.touches.push_back({division_.calls[call].part, static_cast<uint32_t>(there)});
    }
  }
  if (has_waited_to_write) sent_.Regret();
  caller_->OnEnd(cost);
}

void PendingCall::Forget() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  snapshot_.Drop();
  sent_.Open();
  for (Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->Release(guarded.range);
    guarded.missing = 0;
  }
  state_ = State::kOver;
  lets_others_post_ = true;
}

}  // namespace copse::tnbc
