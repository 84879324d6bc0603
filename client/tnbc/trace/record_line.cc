// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/record_line.h"

#include <charconv>
#include <utility>

namespace copse::tnbc {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != 0x7f && c != '%') {
      escaped += c;
    } else {
      escaped += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return escaped.empty() ? "-" : escaped;
}

bool Parse(std::string_view text, int base, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

std::string Unescaped(std::string_view text) {
  if (text == "-") return "";
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    uint64_t byte = 0;
    if (text[i] == '%' && i + 2 < text.size() && Parse(text.substr(i + 1, 2), 16, &byte)) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Returns the text before the separator, or all of it, and removes both from *text.
std::string_view Cut(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view piece = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return piece;
}

}  // namespace

RecordWriter& RecordWriter::Add(std::string_view key, uint64_t value) { return Add(key, std::to_string(value)); }

RecordWriter& RecordWriter::Add(std::string_view key, std::string_view value) {
  line_.append(" ").append(key).append("=").append(Escaped(value));
  return *this;
}

RecordWriter& RecordWriter::AddHex(std::string_view key, uint64_t value) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[value >> shift & 15];
  return Add(key, text);
}

RecordWriter& RecordWriter::Add(std::string_view key, const std::vector<uint32_t>& values) {
  std::string text;
  for (const uint32_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return Add(key, text);
}

RecordReader::RecordReader(std::string_view line) {
  word_ = Cut(&line, ' ');
  while (!line.empty()) {
    std::string_view value = Cut(&line, ' ');
    if (value.empty()) continue;
    const std::string_view whole = value;
    const std::string key(Cut(&value, '='));
    if (key.size() == whole.size()) {
      Fail("not KEY=VALUE (value=" + std::string(whole) + ")");
    } else if (!values_.emplace(key, value).second) {
      Fail(key + ": given twice (value=" + std::string(value) + ")");
    }
  }
}

std::string RecordReader::Take(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    Fail(key + ": missing");
    return "";
  }
  std::string value = std::move(found->second);
  values_.erase(found);
  return value;
}

uint64_t RecordReader::Number(const std::string& key, uint64_t limit) {
  const std::string text = Take(key);
  uint64_t value = 0;
  if (!Parse(text, 10, &value)) Fail(key + ": not a number (value=" + text + ")");
  if (value <= limit) return value;
  Fail(key + ": too large (value=" + text + ", limit=" + std::to_string(limit) + ")");
  return 0;
}

uint64_t RecordReader::Hex(const std::string& key) {
  const std::string text = Take(key);
  uint64_t value = 0;
  if (!Parse(text, 16, &value)) Fail(key + ": not a hexadecimal number (value=" + text + ")");
  return value;
}

std::string RecordReader::Text(const std::string& key) { return Unescaped(Take(key)); }

std::vector<uint32_t> RecordReader::Numbers(const std::string& key) {
  const std::string text = Take(key);
  std::vector<uint32_t> values;
  std::string_view rest = text == "-" ? std::string_view() : text;
  while (!rest.empty()) {
    uint64_t value = 0;
    if (!Parse(Cut(&rest, ','), 10, &value) || value > UINT32_MAX) {
      Fail(key + ": not numbers (value=" + text + ")");
      return {};
    }
    values.push_back(static_cast<uint32_t>(value));
  }
  return values;
}

bool RecordReader::Finish() {
  if (!values_.empty()) {
    Fail(values_.begin()->first + ": not known (value=" + values_.begin()->second + ")");
  }
  return error_.empty();
}

std::string ReadRecords(std::string_view text, std::string_view word, uint64_t version,
                        const std::function<void(RecordReader*)>& read) {
  const std::string head = std::string(word) + " " + std::to_string(version);
  size_t number = 0;
  bool has_head = false;
  while (!text.empty()) {
    std::string_view line = Cut(&text, '\n');
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    if (!has_head) {
      constexpr size_t kShown = 40;
      if (line != head) {
        return where + "not what it should begin with, \"" + head + "\" (value=" + Escaped(line.substr(0, kShown)) +
               ")";
      }
      has_head = true;
      continue;
    }
    RecordReader record(line);
    read(&record);
    if (!record.Finish()) return where + record.word() + ": " + record.error();
  }
  return has_head ? "" : "line 1: not what it should begin with, \"" + head + "\" (value=)";
}

}  // namespace copse::tnbc
