// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads little-endian fixed-width formats: the plan format and the daemons' messages.

#ifndef COPSE_BASE_BYTES_H_
#define COPSE_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace copse {

// A ByteWriter appends unsigned integers and texts to a string.
class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  // Appends a 32-bit length and the bytes.
  void PutText(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// A ByteReader reads what a ByteWriter wrote, from untrusted bytes, which must outlive it. After the first failed read,
// every value is 0 or empty and ok() stays false, so a caller may check once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_unsigned_v<T>);
    if (rest_.size() < sizeof(T)) {
      Fail();
      return 0;
    }
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<uint8_t>(rest_[i])) << (8 * i)));
    }
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  // Reads a text of PutText. Fails if it is longer than `bytes_max`.
  std::string GetText(uint32_t bytes_max) {
    const auto bytes = Get<uint32_t>();
    if (bytes > bytes_max || bytes > rest_.size()) {
      Fail();
      return "";
    }
    std::string text(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
    return text;
  }
  // Reads a 32-bit count of items of at least `item_bytes` > 0 bytes each. Fails if the rest cannot hold them, so that
  // callers may allocate memory for the count.
  uint32_t GetCount(size_t item_bytes) {
    const auto count = Get<uint32_t>();
    if (count > rest_.size() / item_bytes) {
      Fail();
      return 0;
    }
    return count;
  }

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }

 private:
  void Fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace copse

#endif  // COPSE_BASE_BYTES_H_
