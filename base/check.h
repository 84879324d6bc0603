// SPDX-License-Identifier: Apache-2.0
//
// Checks invariants of our own code: a failed check is a bug of ours and ends the program.
//
// Never check what a peer, a file or a user supplied: return an absl::Status for errors in it. CHECK* are always on;
// DCHECK is for checks that would cost too much in a release build (NDEBUG), where its condition is compiled but not
// evaluated.

#ifndef COPSE_BASE_CHECK_H_
#define COPSE_BASE_CHECK_H_

#include <cstddef>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"

// Each prints "file:line: CHECK failed: condition (values)" to standard error and aborts.
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (ABSL_PREDICT_FALSE(!(condition))) {                                         \
      ::copse::check_internal::Fail(__FILE__, __LINE__, #condition, /*values=*/""); \
    }                                                                               \
  } while (false)

#define CHECK_EQ(a, b) COPSE_CHECK_OP_(Equal, ==, a, b)
#define CHECK_NE(a, b) COPSE_CHECK_OP_(NotEqual, !=, a, b)
#define CHECK_LT(a, b) COPSE_CHECK_OP_(Less, <, a, b)
#define CHECK_LE(a, b) COPSE_CHECK_OP_(LessEqual, <=, a, b)
#define CHECK_GT(a, b) COPSE_CHECK_OP_(Greater, >, a, b)
#define CHECK_GE(a, b) COPSE_CHECK_OP_(GreaterEqual, >=, a, b)

#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
    if (false) {          \
      CHECK(condition);   \
    }                     \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif

#define COPSE_CHECK_OP_(name, op, a, b) \
  ::copse::check_internal::Check##name((a), (b), __FILE__, __LINE__, #a " " #op " " #b)

namespace copse::check_internal {

[[noreturn]] void Fail(const char* file, int line, const char* condition, const std::string& values);

// It is true for the types that std::cmp_equal and the like compare by value, whatever their signs.
template <typename T>
inline constexpr bool kPlainInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

template <typename T>
std::string Text(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_integral_v<T>) {
    out << +value;
  } else if constexpr (std::is_pointer_v<T>) {
    out << static_cast<const void*>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << "?";
  }
  return out.str();
}

template <typename A, typename B>
[[noreturn]] void FailOp(const A& a, const B& b, const char* file, int line, const char* condition) {
  Fail(file, line, condition, " (" + Text(a) + " vs " + Text(b) + ")");
}

#define COPSE_DEFINE_CHECK_OP_(name, op, integer_op)                                                   \
  template <typename A, typename B>                                                                    \
  inline void Check##name(const A& a, const B& b, const char* file, int line, const char* condition) { \
    bool holds;                                                                                        \
    if constexpr (kPlainInteger<A> && kPlainInteger<B>) {                                              \
      holds = std::integer_op(a, b);                                                                   \
    } else {                                                                                           \
      holds = static_cast<bool>(a op b);                                                               \
    }                                                                                                  \
    if (ABSL_PREDICT_FALSE(!holds)) FailOp(a, b, file, line, condition);                               \
  }

COPSE_DEFINE_CHECK_OP_(Equal, ==, cmp_equal)
COPSE_DEFINE_CHECK_OP_(NotEqual, !=, cmp_not_equal)
COPSE_DEFINE_CHECK_OP_(Less, <, cmp_less)
COPSE_DEFINE_CHECK_OP_(LessEqual, <=, cmp_less_equal)
COPSE_DEFINE_CHECK_OP_(Greater, >, cmp_greater)
COPSE_DEFINE_CHECK_OP_(GreaterEqual, >=, cmp_greater_equal)

#undef COPSE_DEFINE_CHECK_OP_

}  // namespace copse::check_internal

#endif  // COPSE_BASE_CHECK_H_
