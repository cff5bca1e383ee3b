#pragma once

#include <cstdint>

#include "half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// For formats that are converted element by element; the compiler vectorizes their loops.
struct NoLanes {
  static constexpr int kCount = 0;
};

#if defined(__AVX512F__)

struct Float16Lanes {
  static constexpr int kCount = 16;
  // Masks that select all lanes: g++ warns about its own intrinsics without masks.
  static constexpr __mmask16 kAll = 0xffff;

  static void widen(float* into, const std::uint16_t* from) {
    _mm512_storeu_ps(into, _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }

  static void narrow(std::uint16_t* into, const float* from) {
    const __m256i halves = _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into), halves);
  }
};

#elif defined(__F16C__)

struct Float16Lanes {
  static constexpr int kCount = 8;

  static void widen(float* into, const std::uint16_t* from) {
    _mm256_storeu_ps(into, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }

  static void narrow(std::uint16_t* into, const float* from) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into), halves);
  }
};

#else

using Float16Lanes = NoLanes;

#endif

// The 16-bit format of IEEE 754, converted by instructions if the processor has them.
struct Float16 {
  using Stored = std::uint16_t;
  using Wide = float;
  using Lanes = Float16Lanes;

#if defined(__F16C__)
  static constexpr bool kHasInstructions = true;
  static Wide widen(Stored value) { return _cvtsh_ss(value); }
  static Stored narrow(Wide value) { return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(__ARM_FP16_FORMAT_IEEE)
  static constexpr bool kHasInstructions = true;
  static Wide widen(Stored value) { return static_cast<float>(bits_as<__fp16>(value)); }
  static Stored narrow(Wide value) { return bits_as<Stored>(static_cast<__fp16>(value)); }
#else
  static constexpr bool kHasInstructions = false;
  static Wide widen(Stored value) { return float16_to_float(value); }
  static Stored narrow(Wide value) { return float_to_float16(value); }
#endif
};

}  // namespace
}  // namespace coll
