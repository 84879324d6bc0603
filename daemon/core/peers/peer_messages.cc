// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/peer_messages.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "offload_emu/packet.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kTextBytesMax = 1024;
constexpr uint32_t kNobody = 0xffffffff;  // in place of a rank
// Of a MeterBulk, before its filler: query, ack_every, last, the filler's length.
constexpr uint32_t kBulkHeadBytes = 8 + 4 + 1 + 4;
static_assert(kMeterBulkBytes <= emu::kControlBytesMax);

void PutArguments(const CallArguments& arguments, ByteWriter* out) {
  out->Put(static_cast<uint8_t>(arguments.collective));
  out->Put(static_cast<uint8_t>(arguments.type));
  out->Put(static_cast<uint8_t>(arguments.op));
  out->Put(arguments.count);
  out->Put(arguments.root);
  out->Put(arguments.options);
  out->Put(arguments.counts_hash);
}

// False if an enumeration is out of range.
bool GetArguments(ByteReader* in, CallArguments* arguments) {
  const auto collective = in->Get<uint8_t>();
  const auto type = in->Get<uint8_t>();
  const auto op = in->Get<uint8_t>();
  if (collective >= kCollectiveCount || type >= kElementTypeCount || op >= kElementOpCount) return false;
  *arguments = {.collective = static_cast<Collective>(collective),
                .type = static_cast<ElementType>(type),
                .op = static_cast<ElementOp>(op)};
  arguments->count = in->Get<uint64_t>();
  arguments->root = in->Get<uint32_t>();
  arguments->options = in->Get<uint8_t>();
  arguments->counts_hash = in->Get<uint32_t>();
  return true;
}

// Writes the body of each message; the type is its place in PeerMessage, plus one.
struct BodyWriter {
  ByteWriter* out;
  void operator()(const HeartbeatMessage&) const {}
  void operator()(const BreakMessage& m) const {
    out->Put(m.team.value());
    out->Put(static_cast<uint8_t>(m.why.failure));
    out->PutText(std::string_view(m.why.text).substr(0, kTextBytesMax));
    out->Put(static_cast<uint8_t>(m.why.cause));
    out->PutText(std::string_view(m.why.node).substr(0, kTextBytesMax));
    out->Put(m.why.rank.has_value() ? m.why.rank->value() : kNobody);
    out->Put(m.why.limit);
  }
  void operator()(const ArgumentsMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.sequence.value());
    out->Put(m.rank.value());
    out->PutText(std::string_view(m.node).substr(0, kTextBytesMax));
    PutArguments(m.arguments, out);
  }
  void operator()(const LeftMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.calls.value());
    out->Put(m.rank.value());
    out->Put(static_cast<uint8_t>(m.all ? 1 : 0));
  }
  void operator()(const EpochAskMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.epoch.value());
  }
  void operator()(const EpochAnswerMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.epoch.value());
    out->Put(static_cast<uint8_t>(m.committed ? 1 : 0));
    out->Put(m.first_call.value());
    out->Put(m.label);
  }
  void operator()(const MeterPing& m) const {
    out->Put(m.query);
    out->Put(m.number);
  }
  void operator()(const MeterPong& m) const {
    out->Put(m.query);
    out->Put(m.number);
    out->Put(static_cast<uint64_t>(m.send_ns));
    out->Put(static_cast<uint64_t>(m.receive_ns));
  }
  void operator()(const MeterBulk& m) const {
    static const auto& filler = *new std::string(kMeterBulkBytes - kBulkHeadBytes, '\0');
    out->Put(m.query);
    out->Put(m.ack_every);
    out->Put(static_cast<uint8_t>(m.last ? 1 : 0));
    out->PutText(filler);
  }
  void operator()(const MeterAck& m) const {
    out->Put(m.query);
    out->Put(m.bytes);
    out->Put(static_cast<uint64_t>(m.at_ns));
  }
  void operator()(const MeterEnd& m) const { out->Put(m.query); }
  void operator()(const PartAskMessage& m) const { out->Put(m.number); }
  void operator()(const PartAnswerMessage& m) const {
    out->Put(m.number);
    out->Put(static_cast<uint8_t>(m.agreed ? 1 : 0));
  }
  void operator()(const CallsMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.first);
    out->Put(static_cast<uint32_t>(m.hashes.size()));
    for (const uint16_t hash : m.hashes) out->Put(hash);
  }
  void operator()(const CallsDifferMessage& m) const {
    out->Put(m.team.value());
    out->Put(m.number);
    out->Put(m.rank.value());
    out->PutText(std::string_view(m.node).substr(0, kTextBytesMax));
    PutArguments(m.arguments, out);
  }
};

struct MeterTaker {
  template <typename Message>
  std::optional<MeterMessage> operator()(const Message& m) const {
    if constexpr (std::is_constructible_v<MeterMessage, const Message&>) {
      return MeterMessage(m);
    } else {
      return std::nullopt;
    }
  }
};

absl::Status Malformed(uint16_t type) {
  return absl::InvalidArgumentError(absl::StrCat("peer message: malformed (type=", type, ")"));
}

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

std::optional<MeterMessage> AsMeterMessage(const PeerMessage& message) { return std::visit(MeterTaker{}, message); }

EncodedPeerMessage EncodePeerMessage(const PeerMessage& message) {
  ByteWriter out;
  std::visit(BodyWriter{&out}, message);
  return {static_cast<uint16_t>(message.index() + 1), out.Take()};
}

absl::StatusOr<PeerMessage> DecodePeerMessage(uint16_t type, std::string_view body) {
  ByteReader in(body);
  PeerMessage message;
  switch (static_cast<PeerMessageType>(type)) {
    case PeerMessageType::kHeartbeat:
      message = HeartbeatMessage{};
      break;
    case PeerMessageType::kBreak: {
      BreakMessage m{.team = TeamId(in.Get<uint64_t>())};
      const auto failure = in.Get<uint8_t>();
      if (failure == 0 || failure > static_cast<uint8_t>(schedule::Failure::kInternal)) return Malformed(type);
      m.why.failure = static_cast<schedule::Failure>(failure);
      m.why.text = in.GetText(kTextBytesMax);
      const auto cause = in.Get<uint8_t>();
      if (cause < kFailureCauseCount) m.why.cause = static_cast<FailureCause>(cause);
      m.why.node = in.GetText(kTextBytesMax);
      if (const auto rank = in.Get<uint32_t>(); rank != kNobody) m.why.rank = Rank(rank);
      m.why.limit = in.Get<uint64_t>();
      message = std::move(m);
      break;
    }
    case PeerMessageType::kArguments: {
      ArgumentsMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.sequence = CallSeq(in.Get<uint64_t>());
      m.rank = Rank(in.Get<uint32_t>());
      m.node = in.GetText(kTextBytesMax);
      if (!GetArguments(&in, &m.arguments)) return Malformed(type);
      message = std::move(m);
      break;
    }
    case PeerMessageType::kLeft: {
      LeftMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.calls = CallSeq(in.Get<uint64_t>());
      m.rank = Rank(in.Get<uint32_t>());
      m.all = in.Get<uint8_t>() == 1;
      message = m;
      break;
    }
    case PeerMessageType::kEpochAsk: {
      EpochAskMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.epoch = EpochId(in.Get<uint32_t>());
      message = m;
      break;
    }
    case PeerMessageType::kEpochAnswer: {
      EpochAnswerMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.epoch = EpochId(in.Get<uint32_t>());
      m.committed = in.Get<uint8_t>() == 1;
      m.first_call = CallSeq(in.Get<uint64_t>());
      m.label = in.Get<uint32_t>();
      message = m;
      break;
    }
    case PeerMessageType::kMeterPing: {
      MeterPing m{.query = in.Get<uint64_t>()};
      m.number = in.Get<uint32_t>();
      message = m;
      break;
    }
    case PeerMessageType::kMeterPong: {
      MeterPong m{.query = in.Get<uint64_t>()};
      m.number = in.Get<uint32_t>();
      m.send_ns = static_cast<int64_t>(in.Get<uint64_t>());
      m.receive_ns = static_cast<int64_t>(in.Get<uint64_t>());
      message = m;
      break;
    }
    case PeerMessageType::kMeterBulk: {
      MeterBulk m{.query = in.Get<uint64_t>(), .bytes = kMeterBulkBytes};
      m.ack_every = in.Get<uint32_t>();
      m.last = in.Get<uint8_t>() == 1;
      if (in.Get<uint32_t>() != kMeterBulkBytes - kBulkHeadBytes || body.size() != kMeterBulkBytes) {
        return Malformed(type);
      }
      return m;  // nobody reads the filler
    }
    case PeerMessageType::kMeterAck: {
      MeterAck m{.query = in.Get<uint64_t>()};
      m.bytes = in.Get<uint64_t>();
      m.at_ns = static_cast<int64_t>(in.Get<uint64_t>());
      message = m;
      break;
    }
    case PeerMessageType::kMeterEnd:
      message = MeterEnd{.query = in.Get<uint64_t>()};
      break;
    case PeerMessageType::kPartAsk:
      message = PartAskMessage{.number = in.Get<uint64_t>()};
      break;
    case PeerMessageType::kPartAnswer: {
      PartAnswerMessage m{.number = in.Get<uint64_t>()};
      m.agreed = in.Get<uint8_t>() == 1;
      message = m;
      break;
    }
    case PeerMessageType::kCalls: {
      CallsMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.first = in.Get<uint64_t>();
      const auto count = in.Get<uint32_t>();
      if (count > kCallsPerMessageMax) return Malformed(type);
      for (uint32_t i = 0; i < count; ++i) m.hashes.push_back(in.Get<uint16_t>());
      message = std::move(m);
      break;
    }
    case PeerMessageType::kCallsDiffer: {
      CallsDifferMessage m{.team = TeamId(in.Get<uint64_t>())};
      m.number = in.Get<uint64_t>();
      m.rank = Rank(in.Get<uint32_t>());
      m.node = in.GetText(kTextBytesMax);
      if (!GetArguments(&in, &m.arguments)) return Malformed(type);
      message = std::move(m);
      break;
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat("peer message: unknown (type=", type, ")"));
  }
  if (!in.ok() || in.left() != 0) return Malformed(type);
  return message;
}

}  // namespace copse::daemon
