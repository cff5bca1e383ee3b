// Our own kernels. tools/make-ptx.mjs turns them into kernels_ptx.inc; the tests compile them for the CPU.
#include "numbers.cuh"

#ifndef __CUDACC__
#include "on_cpu.h"
#endif

// The order is that of NCCL's operations.
enum { kSum, kProduct, kMaximum, kMinimum };

enum { kMostInputs = 64 };

struct Inputs {
  const void* at[kMostInputs];
};

struct Piece {
  unsigned char* into;
  const unsigned char* from;
  uint64_t bytes;
};

COLL_DEVICE uint64_t first_index() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
COLL_DEVICE uint64_t all_threads() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

// Integers wrap around; signed ones through unsigned, where that is defined.
template <class T>
struct Wrapping {
  typedef T Type;
};
template <>
struct Wrapping<int8_t> {
  typedef uint32_t Type;
};
template <>
struct Wrapping<int32_t> {
  typedef uint32_t Type;
};
template <>
struct Wrapping<int64_t> {
  typedef uint64_t Type;
};

template <class T>
COLL_DEVICE bool is_nan(T value) {
  return value != value;
}

template <class T>
COLL_DEVICE T combined(T a, T b, int op) {
  typedef typename Wrapping<T>::Type W;
  if (op == kSum) return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  if (op == kProduct) return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  // Zero is more than minus zero.
  if (a == b) return (op == kMaximum) == has_sign(a) ? b : a;
  return (op == kMaximum) == (a > b) ? a : b;
}

template <class T>
COLL_DEVICE void combine(T* into, const Inputs& inputs, int input_count, int op, uint64_t count) {
  for (uint64_t i = first_index(); i < count; i += all_threads()) {
    auto value = widened(static_cast<const T*>(inputs.at[0])[i]);
    for (int input = 1; input < input_count; ++input) value = combined(value, widened(static_cast<const T*>(inputs.at[input])[i]), op);
    into[i] = narrowed_to(T(), value);
  }
}

// Floating types are divided in the type that carries them, which is exact enough for the divisor of a mean; integers in float64.
template <class T>
struct Quotient {
  typedef double Type;
};
template <>
struct Quotient<float> {
  typedef float Type;
};

template <class Into, class From>
COLL_DEVICE void divide(Into* into, const From* from, uint64_t count, double divisor) {
  typedef decltype(widened(Into())) Wide;
  typedef typename Quotient<decltype(widened(From()))>::Type Type;
  for (uint64_t i = first_index(); i < count; i += all_threads()) {
    const Wide value = static_cast<Wide>(static_cast<Type>(widened(from[i])) / static_cast<Type>(divisor));
    into[i] = narrowed_to(Into(), value);
  }
}

COLL_DEVICE bool are_aligned(const Piece& piece, uint64_t to) {
  return ((reinterpret_cast<uint64_t>(piece.into) | reinterpret_cast<uint64_t>(piece.from)) & (to - 1)) == 0;
}

template <class Word>
COLL_DEVICE uint64_t copy_words(const Piece& piece) {
  const uint64_t words = piece.bytes / sizeof(Word);
  for (uint64_t i = threadIdx.x; i < words; i += blockDim.x) {
    reinterpret_cast<Word*>(piece.into)[i] = reinterpret_cast<const Word*>(piece.from)[i];
  }
  return words * sizeof(Word);
}

struct alignas(16) SixteenBytes {
  uint64_t low;
  uint64_t high;
};

extern "C" {

// Each block copies whole pieces, one after another.
__global__ void coll_copy_pieces(const Piece* pieces, uint64_t count) {
  for (uint64_t p = blockIdx.x; p < count; p += gridDim.x) {
    const Piece piece = pieces[p];
    uint64_t done = 0;
    if (are_aligned(piece, 16)) done = copy_words<SixteenBytes>(piece);
    else if (are_aligned(piece, 4)) done = copy_words<uint32_t>(piece);
    for (uint64_t i = done + threadIdx.x; i < piece.bytes; i += blockDim.x) piece.into[i] = piece.from[i];
  }
}

// A kernel is found by its name, so each instance needs one that C++ does not mangle.
#define COLL_COMBINE(name, T) \
  __global__ void coll_combine_##name(T* into, Inputs inputs, int input_count, int op, uint64_t count) { combine(into, inputs, input_count, op, count); }
#define COLL_DIVIDE(name, Into, From) \
  __global__ void coll_divide_##name(Into* into, const From* from, uint64_t count, double divisor) { divide(into, from, count, divisor); }
#include "instances.inc"
}
