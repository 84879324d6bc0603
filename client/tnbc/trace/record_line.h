// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads lines of traces and profiles: a word, followed by KEY=VALUE pairs. Uses the standard library only,
// since it is loaded into users' processes.
#ifndef COPSE_CLIENT_TNBC_TRACE_RECORD_LINE_H_
#define COPSE_CLIENT_TNBC_TRACE_RECORD_LINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace copse::tnbc {

// A RecordWriter writes one line: RecordWriter("call").Add("kind", 3).Finish() is "call kind=3\n".
class RecordWriter {
 public:
  explicit RecordWriter(std::string_view word) : line_(word) {}
  RecordWriter& Add(std::string_view key, uint64_t value);
  // Writes text with blanks, control characters and '%' as %XX; "-" if it is empty.
  RecordWriter& Add(std::string_view key, std::string_view value);
  // Writes 16 hexadecimal digits.
  RecordWriter& AddHex(std::string_view key, uint64_t value);
  // Writes "2,0,1"; "-" if there are no values.
  RecordWriter& Add(std::string_view key, const std::vector<uint32_t>& values);
  std::string Finish() { return line_ + '\n'; }

 private:
  std::string line_;
};

// A RecordReader reads one line, and keeps the first error.
class RecordReader {
 public:
  explicit RecordReader(std::string_view line);

  const std::string& word() const { return word_; }
  // Take a key's value, which can be taken once. If the key is missing or its value is of another kind or above
  // `limit`, they set an error, and what they return is not valid.
  uint64_t Number(const std::string& key, uint64_t limit = UINT64_MAX);
  uint64_t Hex(const std::string& key);
  std::string Text(const std::string& key);
  std::vector<uint32_t> Numbers(const std::string& key);
  bool Has(const std::string& key) const { return values_.count(key) != 0; }
  void Fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }
  // Returns whether there is no error; a key that was not taken is an error.
  bool Finish();
  // Returns the first error, such as "order: not numbers (value=1,x)"; empty if there is none.
  const std::string& error() const { return error_; }

 private:
  std::string Take(const std::string& key);

  std::string word_, error_;
  std::map<std::string, std::string> values_;
};

// Calls `read` with each line of `text` that is not empty and does not begin with '#', except the first, which has to
// be "WORD VERSION". Returns the first error, such as "line 3: order: not numbers (value=1,x)", or an empty string.
std::string ReadRecords(std::string_view text, std::string_view word, uint64_t version,
                        const std::function<void(RecordReader*)>& read);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_RECORD_LINE_H_
