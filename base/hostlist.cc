// SPDX-License-Identifier: Apache-2.0

#include "base/hostlist.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse {
namespace {

// Limits a number's digits, so that values fit into 64 bits. Expansion refuses longer numbers; compression takes the
// digits before these as text.
constexpr size_t kDigitsMax = 18;

// A name with more brackets is refused: expansion recurses once for each.
constexpr size_t kBracketsMax = 64;

// An error quotes only the beginning of a very long list.
constexpr size_t kQuotedBytesMax = 200;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

std::string Padded(uint64_t value, size_t width) {
  const std::string digits = absl::StrCat(value);
  return digits.size() < width ? absl::StrCat(std::string(width - digits.size(), '0'), digits) : digits;
}

struct NumberRange {
  uint64_t first;
  uint64_t last;
  size_t width;
};

// A NamePart is a part of a name: fixed text, or one of the numbers in the ranges.
struct NamePart {
  std::string text;
  std::vector<NumberRange> ranges;
};

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) { return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b; }

// A HostlistParser reads one list from left to right.
class HostlistParser {
 public:
  HostlistParser(std::string_view text, uint64_t hosts_max) : text_(text), hosts_max_(hosts_max) {}

  absl::StatusOr<std::vector<std::string>> Parse() {
    SkipBlanks();
    if (AtEnd()) return std::move(hosts_);
    while (true) {
      SkipBlanks();
      std::vector<NamePart> pieces;
      const size_t begin = position_;
      RETURN_IF_ERROR(ParseName(&pieces));
      RETURN_IF_ERROR(AppendHosts(begin, pieces));
      SkipBlanks();
      if (AtEnd()) return std::move(hosts_);
      if (text_[position_] != ',') return Unexpected();
      ++position_;
    }
  }

 private:
  bool AtEnd() const { return position_ == text_.size(); }
  bool At(char c) const { return !AtEnd() && text_[position_] == c; }

  void SkipBlanks() {
    while (!AtEnd() && absl::ascii_isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }

  std::string Quoted() const {
    if (text_.size() <= kQuotedBytesMax) return absl::StrCat("host list '", AbslView(text_), "'");
    return absl::StrCat("host list '", AbslView(text_.substr(0, kQuotedBytesMax)), "...'");
  }

  absl::Status Error(size_t position, const std::string& why) const {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(), ": position ", position + 1, ": ", why));
  }

  absl::Status Unexpected() const {
    if (AtEnd()) return Error(position_, "unexpected end");
    return Error(position_, absl::StrCat("unexpected '", AbslView(text_.substr(position_, 1)), "'"));
  }

  absl::Status ParseName(std::vector<NamePart>* pieces) {
    size_t brackets = 0;
    while (!AtEnd()) {
      if (At('[')) {
        const size_t bracket = position_++;
        if (++brackets > kBracketsMax) {
          return Error(bracket, absl::StrCat("too many brackets in a name (limit ", kBracketsMax, ")"));
        }
        NamePart piece;
        RETURN_IF_ERROR(ParseRanges(bracket, &piece.ranges));
        pieces->push_back(std::move(piece));
      } else if (IsNameCharacter(text_[position_])) {
        const size_t begin = position_;
        while (!AtEnd() && IsNameCharacter(text_[position_])) ++position_;
        pieces->push_back({.text = std::string(text_.substr(begin, position_ - begin)), .ranges = {}});
      } else {
        break;
      }
    }
    if (pieces->empty()) {
      return AtEnd() || At(',') ? Error(position_, "empty host name") : Unexpected();
    }
    return absl::OkStatus();
  }

  // Parses the ranges after the "[" at position `bracket`, up to and including "]".
  absl::Status ParseRanges(size_t bracket, std::vector<NumberRange>* ranges) {
    while (true) {
      NumberRange range;
      const size_t begin = position_;
      RETURN_IF_ERROR(ParseNumber(bracket, &range.first, &range.width));
      range.last = range.first;
      if (At('-')) {
        ++position_;
        size_t last_width;
        RETURN_IF_ERROR(ParseNumber(bracket, &range.last, &last_width));
      }
      if (range.last < range.first) {
        return Error(begin, absl::StrCat("range runs backwards (", range.first, " to ", range.last, ")"));
      }
      ranges->push_back(range);
      if (At(']')) {
        ++position_;
        return absl::OkStatus();
      }
      if (AtEnd()) return Error(bracket, "'[' is never closed");
      if (!At(',')) return Unexpected();
      ++position_;
    }
  }

  absl::Status ParseNumber(size_t bracket, uint64_t* value, size_t* width) {
    const size_t begin = position_;
    *value = 0;
    while (!AtEnd() && IsDigit(text_[position_])) {
      if (position_ - begin == kDigitsMax) {
        return Error(begin, absl::StrCat("number has too many digits (limit ", kDigitsMax, ")"));
      }
      *value = *value * 10 + static_cast<uint64_t>(text_[position_] - '0');
      ++position_;
    }
    *width = position_ - begin;
    if (*width > 0) return absl::OkStatus();
    if (AtEnd()) return Error(bracket, "'[' is never closed");
    return Error(position_, absl::StrCat("expected a number, not '", AbslView(text_.substr(position_, 1)), "'"));
  }

  // Appends the hosts of the name that starts at position `begin`, after it has checked their lengths and number.
  absl::Status AppendHosts(size_t begin, const std::vector<NamePart>& pieces) {
    uint64_t count = 1;
    size_t bytes = 0;
    for (const NamePart& piece : pieces) {
      bytes += piece.text.size();
      if (piece.ranges.empty()) continue;
      uint64_t numbers = 0;
      size_t digits = 0;
      for (const NumberRange& range : piece.ranges) {
        numbers = SaturatingAdd(numbers, range.last - range.first + 1);
        digits = std::max({digits, range.width, absl::StrCat(range.last).size()});
      }
      count = SaturatingMultiply(count, numbers);
      bytes += digits;
    }
    if (bytes > kHostnameBytesMax) {
      return Error(begin, absl::StrCat("name too long (bytes ", bytes, ", limit ", kHostnameBytesMax, ")"));
    }
    if (SaturatingAdd(hosts_.size(), count) > hosts_max_) {
      return absl::ResourceExhaustedError(absl::StrCat(Quoted(), ": too many hosts (limit ", hosts_max_, ")"));
    }
    std::string host;
    AppendFrom(pieces, 0, &host);
    return absl::OkStatus();
  }

  // Appends every host that starts with `*host` and continues with pieces[index...].
  void AppendFrom(const std::vector<NamePart>& pieces, size_t index, std::string* host) {
    // Text needs no branching: it is consumed here, so that the recursion is only as deep as there are brackets.
    const size_t begin = host->size();
    while (index < pieces.size() && pieces[index].ranges.empty()) host->append(pieces[index++].text);
    if (index == pieces.size()) {
      hosts_.push_back(*host);
    } else {
      const size_t end = host->size();
      for (const NumberRange& range : pieces[index].ranges) {
        for (uint64_t value = range.first; value <= range.last; ++value) {
          host->append(Padded(value, range.width));
          AppendFrom(pieces, index + 1, host);
          host->resize(end);
        }
      }
    }
    host->resize(begin);
  }

  const std::string_view text_;
  const uint64_t hosts_max_;
  size_t position_ = 0;
  std::vector<std::string> hosts_;
};

// A SplitHost is a host name, split into the text before its trailing number, and that number.
struct SplitHost {
  std::string_view prefix;
  std::string_view digits;
};

SplitHost Split(std::string_view host) {
  size_t begin = host.size();
  while (begin > 0 && IsDigit(host[begin - 1]) && host.size() - begin < kDigitsMax) --begin;
  return {host.substr(0, begin), host.substr(begin)};
}

uint64_t Value(std::string_view digits) {
  uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(std::string_view text, uint64_t hosts_max) {
  return HostlistParser(text, hosts_max).Parse();
}

std::string CompressHostlist(const std::vector<std::string>& hosts) {
  std::string list;
  for (size_t i = 0; i < hosts.size();) {
    if (!list.empty()) list.push_back(',');
    const SplitHost first = Split(hosts[i]);
    // `ranges` collects the numbers of all adjacent names with the same prefix.
    std::string ranges;
    const size_t group_begin = i;
    bool bracket = false;
    while (i < hosts.size()) {
      const SplitHost low = Split(hosts[i]);
      if (low.prefix != first.prefix || low.digits.empty()) break;
      const uint64_t low_value = Value(low.digits);
      uint64_t count = 1;
      while (i + count < hosts.size()) {
        const SplitHost next = Split(hosts[i + count]);
        if (next.prefix != first.prefix || next.digits != Padded(low_value + count, low.digits.size())) break;
        ++count;
      }
      if (!ranges.empty()) ranges.push_back(',');
      absl::StrAppend(&ranges, AbslView(low.digits));
      if (count > 1) absl::StrAppend(&ranges, "-", Padded(low_value + count - 1, low.digits.size()));
      bracket = bracket || count > 1 || i > group_begin;
      i += count;
    }
    if (bracket) {
      absl::StrAppend(&list, AbslView(first.prefix), "[", ranges, "]");
    } else {
      absl::StrAppend(&list, hosts[group_begin]);
      i = group_begin + 1;
    }
  }
  return list;
}

}  // namespace copse
