// Our own kernels. tools/make-ptx.mjs turns them into kernels_ptx.inc; the tests compile them for the CPU.
#include "numbers.cuh"

#ifndef __CUDACC__
#include "on_cpu.h"
#endif

// The order is that of NCCL's operations.
enum { kSum, kProduct, kMaximum, kMinimum };

enum { kMostInputs = 64, kMostFew = 168 };

struct Inputs {
  const void* at[kMostInputs];
};

struct Piece {
  unsigned char* into;
  const unsigned char* from;
  uint64_t bytes;
};

// Pieces that fit into a kernel's arguments, of which there are 4096 bytes. The tiles of all are numbered in a row.
struct FewPieces {
  struct {
    unsigned char* into;
    const unsigned char* from;
    uint32_t bytes;
    uint32_t first_tile;
  } at[kMostFew];
};

COLL_DEVICE uint64_t first_index() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
COLL_DEVICE uint64_t all_threads() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

// Integers wrap around. Signed ones are combined as unsigned, for which C++ defines this.
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
  // Orders zero above minus zero.
  if (a == b) return (op == kMaximum) == has_sign(a) ? b : a;
  return (op == kMaximum) == (a > b) ? a : b;
}

// The elements that a thread moves at once, 128 bits in total.
template <class T, int kCount>
struct alignas(16) Run {
  T at[kCount];
};
template <class T>
using Word = Run<T, 16 / sizeof(T)>;

template <class T>
COLL_DEVICE bool are_aligned(const T* into, const Inputs& inputs, int input_count) {
  uint64_t bits = reinterpret_cast<uint64_t>(into);
  for (int input = 0; input < input_count; ++input) bits |= reinterpret_cast<uint64_t>(inputs.at[input]);
  return bits % sizeof(Word<T>) == 0;
}

// Returns the number of elements that were combined.
template <class T>
COLL_DEVICE uint64_t combine_words(T* into, const Inputs& inputs, int input_count, int op, uint64_t count) {
  constexpr int kElements = sizeof(Word<T>) / sizeof(T);
  const uint64_t words = count / kElements;
  for (uint64_t i = first_index(); i < words; i += all_threads()) {
    Word<T> next = static_cast<const Word<T>*>(inputs.at[0])[i];
    decltype(widened(T())) values[kElements];
    for (int k = 0; k < kElements; ++k) values[k] = widened(next.at[k]);
    for (int input = 1; input < input_count; ++input) {
      next = static_cast<const Word<T>*>(inputs.at[input])[i];
      for (int k = 0; k < kElements; ++k) values[k] = combined(values[k], widened(next.at[k]), op);
    }
    for (int k = 0; k < kElements; ++k) next.at[k] = narrowed_to(T(), values[k]);
    reinterpret_cast<Word<T>*>(into)[i] = next;
  }
  return words * kElements;
}

template <class T>
COLL_DEVICE void combine(T* into, const Inputs& inputs, int input_count, int op, uint64_t count) {
  const uint64_t done = are_aligned(into, inputs, input_count) ? combine_words(into, inputs, input_count, op, count) : 0;
  for (uint64_t i = done + first_index(); i < count; i += all_threads()) {
    auto value = widened(static_cast<const T*>(inputs.at[0])[i]);
    for (int input = 1; input < input_count; ++input) value = combined(value, widened(static_cast<const T*>(inputs.at[input])[i]), op);
    into[i] = narrowed_to(T(), value);
  }
}

// The type in which a mean is divided. For floats, it is the type in which they are computed, which
// represents the divisor exactly enough; for integers, float64.
template <class T>
struct Quotient {
  typedef double Type;
};
template <>
struct Quotient<float> {
  typedef float Type;
};

template <class Into, class From>
COLL_DEVICE Into quotient(From value, double divisor) {
  typedef decltype(widened(Into())) Wide;
  typedef typename Quotient<decltype(widened(From()))>::Type Type;
  return narrowed_to(Into(), static_cast<Wide>(static_cast<Type>(widened(value)) / static_cast<Type>(divisor)));
}

// Returns the number of elements that were converted. Each thread converts as many at a time as
// fill 16 bytes of the smaller type, so that it accesses whole words of both types.
template <class Into, class From>
COLL_DEVICE uint64_t divide_runs(Into* into, const From* from, uint64_t count, double divisor) {
  constexpr int kElements = 16 / (sizeof(Into) < sizeof(From) ? sizeof(Into) : sizeof(From));
  const uint64_t runs = count / kElements;
  for (uint64_t i = first_index(); i < runs; i += all_threads()) {
    const Run<From, kElements> own = reinterpret_cast<const Run<From, kElements>*>(from)[i];
    Run<Into, kElements> result;
    for (int k = 0; k < kElements; ++k) result.at[k] = quotient<Into>(own.at[k], divisor);
    reinterpret_cast<Run<Into, kElements>*>(into)[i] = result;
  }
  return runs * kElements;
}

template <class Into, class From>
COLL_DEVICE void divide(Into* into, const From* from, uint64_t count, double divisor) {
  const bool are_words = (reinterpret_cast<uint64_t>(into) | reinterpret_cast<uint64_t>(from)) % 16 == 0;
  const uint64_t done = are_words ? divide_runs(into, from, count, divisor) : 0;
  for (uint64_t i = done + first_index(); i < count; i += all_threads()) into[i] = quotient<Into>(from[i], divisor);
}

COLL_DEVICE bool is_aligned(const Piece& piece, uint64_t to) {
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

// Copies a piece by one block of threads.
COLL_DEVICE void copy_piece(const Piece& piece) {
  uint64_t done = 0;
  if (is_aligned(piece, 16)) done = copy_words<SixteenBytes>(piece);
  else if (is_aligned(piece, 4)) done = copy_words<uint32_t>(piece);
  for (uint64_t i = done + threadIdx.x; i < piece.bytes; i += blockDim.x) piece.into[i] = piece.from[i];
}

extern "C" {

// Each block copies whole pieces, one after another.
__global__ void coll_copy_pieces(const Piece* pieces, uint64_t count) {
  for (uint64_t p = blockIdx.x; p < count; p += gridDim.x) copy_piece(pieces[p]);
}

// Copies pieces that need no table on the device; each block copies tiles.
__global__ void coll_copy_few(FewPieces pieces, uint32_t count, uint32_t tiles, uint32_t tile_bytes) {
  for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    // Finds the last piece that begins at this tile or before.
    uint32_t low = 0;
    for (uint32_t high = count; high - low > 1;) {
      const uint32_t middle = (low + high) / 2;
      if (pieces.at[middle].first_tile <= tile) low = middle;
      else high = middle;
    }
    const auto& whole = pieces.at[low];
    const uint64_t begin = static_cast<uint64_t>(tile - whole.first_tile) * tile_bytes;
    const uint64_t left = whole.bytes - begin;
    copy_piece(Piece{whole.into + begin, whole.from + begin, left < tile_bytes ? left : tile_bytes});
  }
}

// A kernel is found by its name, so each instance needs one that C++ does not mangle.
#define COLL_COMBINE(name, T) \
  __global__ void coll_combine_##name(T* into, Inputs inputs, int input_count, int op, uint64_t count) { combine(into, inputs, input_count, op, count); }
#define COLL_DIVIDE(name, Into, From) \
  __global__ void coll_divide_##name(Into* into, const From* from, uint64_t count, double divisor) { divide(into, from, count, divisor); }
#include "instances.inc"
}
