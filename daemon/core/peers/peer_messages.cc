// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/peer_messages.h"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "offload_emu/packet.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kTextBytesMax = 1024;
constexpr uint32_t kNoRank = 0xffffffff;  // encodes a missing rank
// A MeterBulk's filler pads the body to kMeterBulkBytes; before it come query, ack_every, last and the filler's length.
constexpr uint32_t kFillerBytes = kMeterBulkBytes - (8 + 4 + 1 + 4);
static_assert(kMeterBulkBytes <= emu::kControlBytesMax);

// A Writer appends fields to a body; a Reader extracts them from a body that may have any bytes. Both have the same
// functions, so that one Fields function describes a message's body for both directions.
class Writer {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      out_.PutText(std::string_view(value).substr(0, kTextBytesMax));
    } else if constexpr (std::is_same_v<T, bool>) {
      out_.Put(static_cast<uint8_t>(value ? 1 : 0));
    } else if constexpr (std::is_integral_v<T>) {
      out_.Put(static_cast<std::make_unsigned_t<T>>(value));
    } else {
      out_.Put(value.value());
    }
  }
  template <typename E>
  void Enum(const E& value, E, E) {
    out_.Put(static_cast<uint8_t>(value));
  }
  template <typename E>
  void EnumOrDefault(const E& value, int) {
    out_.Put(static_cast<uint8_t>(value));
  }
  void OptionalRank(const std::optional<Rank>& rank) { out_.Put(rank.has_value() ? rank->value() : kNoRank); }
  void Hashes(const std::vector<uint16_t>& hashes) {
    out_.Put(static_cast<uint32_t>(hashes.size()));
    for (const uint16_t hash : hashes) out_.Put(hash);
  }
  void Ranks(const std::vector<Rank>& ranks) {
    out_.Put(static_cast<uint32_t>(ranks.size()));
    for (const Rank rank : ranks) out_.Put(rank.value());
  }
  void Runs(const std::vector<RankRun>& runs) {
    out_.Put(static_cast<uint32_t>(runs.size()));
    for (const RankRun& run : runs) {
      out_.Put(run.node.value());
      out_.Put(run.count);
    }
  }
  void Addresses(const std::vector<std::string>& addresses) {
    out_.Put(static_cast<uint32_t>(addresses.size()));
    for (const std::string& address : addresses) Address(address);
  }
  void Address(const std::string& address) { out_.PutText(address); }
  void Filler() {
    static const auto& filler = *new std::string(kFillerBytes, '\0');
    out_.PutText(filler);
  }
  void Require(bool) {}
  std::string Take() { return out_.Take(); }

 private:
  ByteWriter out_;
};

class Reader {
 public:
  explicit Reader(std::string_view body) : in_(body) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      value = in_.GetText(kTextBytesMax);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = in_.Get<uint8_t>() == 1;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(in_.Get<std::make_unsigned_t<T>>());
    } else {
      value = T(in_.Get<typename T::ValueType>());
    }
  }
  template <typename E>
  void Enum(E& value, E least, E most) {
    const auto number = in_.Get<uint8_t>();
    in_range_ &= number >= static_cast<uint8_t>(least) && number <= static_cast<uint8_t>(most);
    if (in_range_) value = static_cast<E>(number);
  }
  // A newer daemon may send a value that this one does not know; `value` then keeps its default.
  template <typename E>
  void EnumOrDefault(E& value, int count) {
    if (const auto number = in_.Get<uint8_t>(); number < count) value = static_cast<E>(number);
  }
  void OptionalRank(std::optional<Rank>& rank) {
    if (const auto number = in_.Get<uint32_t>(); number != kNoRank) rank = Rank(number);
  }
  void Hashes(std::vector<uint16_t>& hashes) {
    const auto count = in_.Get<uint32_t>();
    in_range_ &= count <= kCallsPerMessageMax;
    for (uint32_t i = 0; in_range_ && i < count; ++i) hashes.push_back(in_.Get<uint16_t>());
  }
  void Ranks(std::vector<Rank>& ranks) {
    const auto count = in_.Get<uint32_t>();
    in_range_ &= count <= kRanksPerJoinMax;
    for (uint32_t i = 0; in_range_ && i < count; ++i) ranks.push_back(Rank(in_.Get<uint32_t>()));
  }
  void Runs(std::vector<RankRun>& runs) {
    const auto count = in_.Get<uint32_t>();
    in_range_ &= count <= kRankRunsMax;
    for (uint32_t i = 0; in_range_ && i < count; ++i) {
      const NodeIndex node(in_.Get<uint32_t>());
      runs.push_back({node, in_.Get<uint32_t>()});
    }
  }
  void Addresses(std::vector<std::string>& addresses) {
    const auto count = in_.Get<uint32_t>();
    in_range_ &= count <= kAddressedRunsMax;
    for (uint32_t i = 0; in_range_ && in_.ok() && i < count; ++i) Address(addresses.emplace_back());
  }
  void Address(std::string& address) { address = in_.GetText(kPeerAddressBytesMax); }
  void Filler() {
    in_range_ &= in_.Get<uint32_t>() == kFillerBytes;
    unread_ = kFillerBytes;
  }
  void Require(bool condition) { in_range_ &= condition; }
  // Returns whether the body had exactly the fields, with values in range.
  bool ok() const { return in_.ok() && in_range_ && in_.left() == unread_; }

 private:
  ByteReader in_;
  bool in_range_ = true;
  size_t unread_ = 0;
};

template <typename T, typename Message>
concept Is = std::is_same_v<std::remove_const_t<T>, Message>;

void Fields(auto& field, Is<CallArguments> auto& m) {
  field.Enum(m.collective, Collective{0}, static_cast<Collective>(kCollectiveCount - 1));
  field.Enum(m.type, ElementType{0}, static_cast<ElementType>(kElementTypeCount - 1));
  field.Enum(m.op, ElementOp{0}, static_cast<ElementOp>(kElementOpCount - 1));
  field(m.count);
  field(m.root);
  field(m.options);
  field(m.counts_hash);
}
void Fields(auto&, Is<HeartbeatMessage> auto&) {}
void Fields(auto& field, Is<schedule::FailureReport> auto& why) {
  field.Enum(why.failure, schedule::Failure::kNone, schedule::Failure::kInternal);
  field(why.text);
  field.EnumOrDefault(why.cause, kFailureCauseCount);
  field(why.node);
  field.OptionalRank(why.rank);
  field(why.limit);
}
void Fields(auto& field, Is<schedule::TeamIdentity> auto& identity) {
  field(identity.uid);
  field(identity.job);
  field(identity.nonce);
  field(identity.name);
}
void Fields(auto& field, Is<BreakMessage> auto& m) {
  field(m.team);
  Fields(field, m.why);
  field.Require(m.why.failure != schedule::Failure::kNone);
}
void Fields(auto& field, Is<ArgumentsMessage> auto& m) {
  field(m.team);
  field(m.sequence);
  field(m.given.rank);
  field(m.node);
  Fields(field, m.given.arguments);
}
void Fields(auto& field, Is<LeftMessage> auto& m) {
  field(m.team);
  field(m.calls);
  field(m.rank);
  field(m.all);
}
void Fields(auto& field, Is<EpochAskMessage> auto& m) {
  field(m.team);
  field(m.epoch);
}
void Fields(auto& field, Is<EpochAnswerMessage> auto& m) {
  field(m.team);
  field(m.epoch);
  field(m.committed);
  field(m.first_call);
  field(m.label);
}
void Fields(auto& field, Is<MeterPing> auto& m) {
  field(m.query);
  field(m.number);
}
void Fields(auto& field, Is<MeterPong> auto& m) {
  field(m.query);
  field(m.number);
  field(m.send_ns);
  field(m.receive_ns);
}
void Fields(auto& field, Is<MeterBulk> auto& m) {
  field(m.query);
  field(m.ack_every);
  field(m.last);
  field.Filler();
}
void Fields(auto& field, Is<MeterAck> auto& m) {
  field(m.query);
  field(m.bytes);
  field(m.at_ns);
}
void Fields(auto& field, Is<MeterEnd> auto& m) { field(m.query); }
void Fields(auto& field, Is<CloseRequestMessage> auto& m) { field(m.number); }
void Fields(auto& field, Is<CloseReplyMessage> auto& m) {
  field(m.number);
  field(m.agreed);
}
void Fields(auto& field, Is<CallsMessage> auto& m) {
  field(m.team);
  field(m.first);
  field.Hashes(m.hashes);
}
void Fields(auto& field, Is<CallsDifferMessage> auto& m) {
  field(m.team);
  field(m.number);
  field(m.given.rank);
  field(m.node);
  Fields(field, m.given.arguments);
}
void Fields(auto& field, Is<SubTeamJoinMessage> auto& m) {
  field(m.team);
  Fields(field, m.identity);
  field(m.size);
  field(m.node);
  field.Ranks(m.ranks);
  Fields(field, m.why);
  field(m.prepared);
  field(m.parent_epoch);
  field.Address(m.address);
}
void Fields(auto& field, Is<SubTeamPrepareMessage> auto& m) {
  field(m.team);
  Fields(field, m.identity);
  field(m.id);
  field(m.parent_epoch);
  field.Runs(m.runs);
  field.Addresses(m.addresses);
}
void Fields(auto& field, Is<SubTeamReplyMessage> auto& m) {
  field(m.team);
  field(m.id);
  Fields(field, m.why);
  field(m.again);
  field(m.plans);
}
void Fields(auto& field, Is<SubTeamDecisionMessage> auto& m) {
  field(m.team);
  Fields(field, m.identity);
  field(m.id);
  Fields(field, m.why);
  field(m.again);
  field(m.next);
}
void Fields(auto& field, Is<SubTeamLabelMessage> auto& m) {
  field(m.team);
  field(m.id);
  field(m.label);
}

template <typename Message>
std::optional<PeerMessage> Decode(std::string_view body) {
  Message message;
  Reader reader(body);
  Fields(reader, message);
  return reader.ok() ? std::optional<PeerMessage>(std::move(message)) : std::nullopt;
}

// Returns the decoders by type minus one: the types of messages follow their order in PeerMessage.
template <size_t... i>
constexpr auto DecodersOf(std::index_sequence<i...>) {
  return std::array{&Decode<std::variant_alternative_t<i, PeerMessage>>...};
}
constexpr auto kDecoders = DecodersOf(std::make_index_sequence<std::variant_size_v<PeerMessage>>());

}  // namespace

TeamId TeamOf(const PeerMessage& message) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.team; }) {
          return m.team;
        } else {
          return TeamId(0);
        }
      },
      message);
}

std::optional<MeterMessage> AsMeterMessage(const PeerMessage& message) {
  return std::visit(
      [](const auto& m) -> std::optional<MeterMessage> {
        if constexpr (std::is_constructible_v<MeterMessage, decltype(m)>) {
          return m;
        } else {
          return std::nullopt;
        }
      },
      message);
}

EncodedPeerMessage EncodePeerMessage(const PeerMessage& message) {
  Writer out;
  std::visit([&out](const auto& m) { Fields(out, m); }, message);
  return {static_cast<uint16_t>(message.index() + 1), out.Take()};
}

absl::StatusOr<PeerMessage> DecodePeerMessage(uint16_t type, std::string_view body) {
  if (type == 0 || type > kDecoders.size()) {
    return absl::InvalidArgumentError(absl::StrCat("peer message: unknown (type=", type, ")"));
  }
  if (std::optional<PeerMessage> message = kDecoders[type - 1](body)) return *std::move(message);
  return absl::InvalidArgumentError(absl::StrCat("peer message: malformed (type=", type, ")"));
}

}  // namespace copse::daemon
