// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/ghash.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace copse::emu {
namespace {

#define COPSE_NARROW __attribute__((target("pclmul,ssse3")))
#define COPSE_WIDE __attribute__((target("avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul")))

// x^128 + x^127 + x^126 + x^121 + 1 without its ends, as its bits are reflected here.
constexpr int64_t kPolynomial = static_cast<int64_t>(0xc200000000000000);

// A Product has 256 bits, not yet reduced; `middle` overlaps both others.
struct Product {
  __m128i low, middle, high;
};

COPSE_NARROW __m128i Load(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
COPSE_NARROW void Store(__m128i block, uint8_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), block); }

COPSE_NARROW __m128i Reversed(__m128i block) {
  return _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

COPSE_NARROW Product Multiplied(__m128i a, __m128i b) {
  return {.low = _mm_clmulepi64_si128(a, b, 0x00),
          .middle = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)),
          .high = _mm_clmulepi64_si128(a, b, 0x11)};
}

// Takes `from`'s half of the product off by adding a multiple of the polynomial.
COPSE_NARROW __m128i TakenOff(__m128i from, __m128i rest) {
  const __m128i multiple = _mm_clmulepi64_si128(_mm_set1_epi64x(kPolynomial), from, 0x01);
  return _mm_xor_si128(rest, _mm_xor_si128(_mm_shuffle_epi32(from, 0x4e), multiple));
}

COPSE_NARROW __m128i Reduced(const Product& product) {
  return TakenOff(TakenOff(product.low, product.middle), product.high);
}

// Returns the sum `y` after `count` >= 1 blocks more; `powers` are those of the key from number `count` on.
COPSE_NARROW __m128i Added(__m128i y, const uint8_t* blocks, const uint8_t* powers, size_t count) {
  Product sum = Multiplied(_mm_xor_si128(y, Reversed(Load(blocks))), Load(powers));
  for (size_t i = 1; i < count; ++i) {
    const Product one =
        Multiplied(Reversed(Load(blocks + i * Ghash::kBlockBytes)), Load(powers + i * Ghash::kBlockBytes));
    sum = {.low = _mm_xor_si128(sum.low, one.low),
           .middle = _mm_xor_si128(sum.middle, one.middle),
           .high = _mm_xor_si128(sum.high, one.high)};
  }
  return Reduced(sum);
}

// Adds up the four blocks. gcc 12 warns of intrinsics that take a part of a vector.
COPSE_WIDE __m128i Folded(__m512i blocks) {
  const __m256i half = _mm256_xor_si256(__builtin_shufflevector(blocks, blocks, 0, 1, 2, 3),
                                        __builtin_shufflevector(blocks, blocks, 4, 5, 6, 7));
  return _mm_xor_si128(__builtin_shufflevector(half, half, 0, 1), __builtin_shufflevector(half, half, 2, 3));
}

// As Added, for sixteen blocks at a time, `bytes` in all.
COPSE_WIDE __m128i AddedWide(__m128i y, const uint8_t* blocks, const uint8_t* powers, size_t bytes) {
  constexpr size_t kStride = 256, kVector = 64;
  constexpr int64_t kLow = 0x08090a0b0c0d0e0f, kHigh = 0x0001020304050607;
  const __m512i reverse = _mm512_set_epi64(kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow);
  for (size_t at = 0; at < bytes; at += kStride) {
    __m512i low = _mm512_setzero_si512(), middle = low, high = low;
    for (size_t i = 0; i < kStride; i += kVector) {
      __m512i block = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks + at + i), reverse);
      if (i == 0) block = _mm512_xor_si512(block, __m512i{y[0], y[1]});
      const __m512i power = _mm512_loadu_si512(powers + i);
      low = _mm512_xor_si512(low, _mm512_clmulepi64_epi128(block, power, 0x00));
      middle = _mm512_ternarylogic_epi64(middle, _mm512_clmulepi64_epi128(block, power, 0x01),
                                         _mm512_clmulepi64_epi128(block, power, 0x10), 0x96);  // exclusive or
      high = _mm512_xor_si512(high, _mm512_clmulepi64_epi128(block, power, 0x11));
    }
    y = Reduced({.low = Folded(low), .middle = Folded(middle), .high = Folded(high)});
  }
  return y;
}

// The key times x, so that products of reflected blocks need no shift.
COPSE_NARROW __m128i Shifted(__m128i key) {
  const __m128i carry = _mm_slli_si128(_mm_srli_epi64(key, 63), 8);
  const __m128i shifted = _mm_or_si128(_mm_slli_epi64(key, 1), carry);
  const __m128i top = _mm_shuffle_epi32(_mm_srai_epi32(key, 31), 0xff);
  return _mm_xor_si128(shifted, _mm_and_si128(top, _mm_set_epi64x(kPolynomial, 1)));
}

COPSE_NARROW void ComputePowers(const uint8_t* key, uint8_t* powers, size_t count) {
  const __m128i first = Shifted(Reversed(Load(key)));
  __m128i power = first;
  for (size_t i = count; i-- > 0;) {
    Store(power, powers + i * Ghash::kBlockBytes);
    power = Reduced(Multiplied(power, first));
  }
}

COPSE_NARROW void SumOf(absl::Span<const uint8_t> message, const std::array<uint64_t, 2>& bits, const uint8_t* powers,
                        size_t powers_count, bool wide, uint8_t* sum) {
  constexpr size_t kBlock = Ghash::kBlockBytes;
  const auto powers_from = [&](size_t count) { return powers + (powers_count - count) * kBlock; };
  const size_t stride = powers_count * kBlock;
  __m128i y = _mm_setzero_si128();
  if (const size_t strides = message.size() / stride * stride; wide && strides > 0) {
    y = AddedWide(y, message.data(), powers, strides);
    message.remove_prefix(strides);
  }
  while (message.size() >= kBlock) {
    const size_t count = std::min(message.size() / kBlock, powers_count);
    y = Added(y, message.data(), powers_from(count), count);
    message.remove_prefix(count * kBlock);
  }
  uint8_t last[kBlock] = {};
  if (!message.empty()) {
    std::memcpy(last, message.data(), message.size());
    y = Added(y, last, powers_from(1), 1);
  }
  for (size_t i = 0; i < kBlock; ++i) last[i] = static_cast<uint8_t>(bits[i / 8] >> (56 - 8 * (i % 8)));
  Store(Reversed(Added(y, last, powers_from(1), 1)), sum);
}

}  // namespace

bool Ghash::IsSupported() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3"); }

bool Ghash::IsWideSupported() {
  return IsSupported() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
}

Ghash::Ghash(const Block& hash_key, bool wide) : wide_(wide) {
  CHECK(IsSupported());
  ComputePowers(hash_key.data(), powers_.data(), kPowers);
}

Ghash::Block Ghash::Sum(absl::Span<const uint8_t> message, std::array<uint64_t, 2> bits) const {
  Block sum;
  SumOf(message, bits, powers_.data(), kPowers, wide_, sum.data());
  return sum;
}

}  // namespace copse::emu

#else

namespace copse::emu {

bool Ghash::IsSupported() { return false; }
bool Ghash::IsWideSupported() { return false; }
Ghash::Ghash(const Block&, bool wide) : wide_(wide) { CHECK(IsSupported()); }
Ghash::Block Ghash::Sum(absl::Span<const uint8_t>, std::array<uint64_t, 2>) const { return {}; }

}  // namespace copse::emu

#endif

namespace copse::emu {

Ghash::~Ghash() { OPENSSL_cleanse(powers_.data(), powers_.size()); }

}  // namespace copse::emu
