#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace coll::doubles {
namespace {

// All bits set: NaN in every floating type.
constexpr int kPoison = 0xff;
constexpr std::size_t kAlignment = 256;

void* aligned(std::size_t bytes) { return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment); }

}  // namespace

Memory& Memory::of_process() {
  static Memory* const memory = new Memory;
  return *memory;
}

cuda::Pointer Memory::allocate(std::size_t bytes, int device) {
  void* const made = aligned(bytes);
  if (made == nullptr) return 0;
  std::memset(made, kPoison, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto pointer = reinterpret_cast<cuda::Pointer>(made);
  blocks_[pointer] = {bytes, device};
  return pointer;
}

bool Memory::forget(cuda::Pointer pointer, std::size_t& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(pointer);
  if (found == blocks_.end()) return false;
  bytes = found->second.bytes;
  blocks_.erase(found);
  return true;
}

void Memory::release(cuda::Pointer pointer, std::size_t bytes) {
  void* const memory = reinterpret_cast<void*>(pointer);
  std::memset(memory, kPoison, bytes);
  std::free(memory);
}

int Memory::device_of(cuda::Pointer pointer, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto after = blocks_.upper_bound(pointer);
  if (after == blocks_.begin()) return -1;
  const auto& [begin, block] = *--after;
  return pointer + bytes <= begin + block.bytes ? block.device : -1;
}

bool Memory::find(cuda::Pointer pointer, cuda::Pointer& begin, std::size_t& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto after = blocks_.upper_bound(pointer);
  if (after == blocks_.begin()) return false;
  begin = std::prev(after)->first;
  bytes = std::prev(after)->second.bytes;
  return pointer - begin < bytes;
}

void* Memory::allocate_host(std::size_t bytes) {
  void* const made = aligned(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  host_[made] = bytes;
  return made;
}

bool Memory::free_host(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (host_.erase(memory) == 0) return false;
  std::free(memory);
  return true;
}

std::size_t Memory::bytes_on(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, block] : blocks_) bytes += block.device == device ? block.bytes : 0;
  return bytes;
}

long Memory::count() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<long>(blocks_.size());
}

}  // namespace coll::doubles
