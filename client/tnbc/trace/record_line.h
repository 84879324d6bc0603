// SPDX-License-Identifier: Apache-2.0
//
// Lines of traces and profiles: a word, and KEY=VALUE behind it. Nothing but the standard library, since it is loaded
// into users' processes.
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

// Writes one line: RecordWriter("call").Add("kind", 3).Finish() is "call kind=3\n".
class RecordWriter {
 public:
  explicit RecordWriter(std::string_view word) : line_(word) {}
  RecordWriter& Add(std::string_view key, uint64_t value);
  // Writes text as it is, except that blanks, controls and '%' become %XX.
  RecordWriter& Add(std::string_view key, std::string_view value);
  RecordWriter& AddHex(std::string_view key, uint64_t value);
  // "2,0,1"; "-" if empty.
  RecordWriter& Add(std::string_view key, const std::vector<uint32_t>& values);
  std::string Finish() { return line_ + '\n'; }

 private:
  std::string line_;
};

// One line that is being read. The first error stays in error().
class RecordReader {
 public:
  explicit RecordReader(std::string_view line);

  const std::string& word() const { return word_; }
  // Take a key's value; an error if the key is missing, or has another kind of value.
  uint64_t Number(const std::string& key, uint64_t limit = UINT64_MAX);
  uint64_t Hex(const std::string& key);
  std::string Text(const std::string& key);
  std::vector<uint32_t> Numbers(const std::string& key);
  bool Has(const std::string& key) const { return values_.count(key) != 0; }
  void Fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }
  // Returns whether all of the line has been read, without an error.
  bool Finish();
  // "order: not numbers (value=1,x)".
  const std::string& error() const { return error_; }

 private:
  std::string Take(const std::string& key);

  std::string word_, error_;
  std::map<std::string, std::string> values_;
};

// Calls `read` with each line of `text` that is not empty and no comment (#); the first has to be "WORD VERSION".
// Returns an error, "line 3: order: not numbers (value=1,x)", or nothing.
std::string ReadRecords(std::string_view text, std::string_view word, uint64_t version,
                        const std::function<void(RecordReader*)>& read);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_RECORD_LINE_H_
