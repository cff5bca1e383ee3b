// Prints the files of cpp/kernels whose instructions this processor has, of those that flags.json names.
#include "../cpp/kernels/processor.h"
#include "../cpp/kernels/processor_crc32c.h"

#include <cstdio>

int main() {
  if (coll::has_avx2()) std::puts("avx2.cc");
  if (coll::has_avx512()) std::puts("avx512.cc");
  if (coll::has_crc32c()) std::puts("crc32c_instructions.cc");
}
