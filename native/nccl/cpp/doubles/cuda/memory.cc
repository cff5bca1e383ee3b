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
  blocks_[pointer] = {bytes, device, false, {}};
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

const Memory::Block* Memory::block_at(cuda::Pointer pointer, cuda::Pointer& begin) const {
  const auto after = blocks_.upper_bound(pointer);
  if (after == blocks_.begin()) return nullptr;
  begin = std::prev(after)->first;
  const Block& block = std::prev(after)->second;
  return pointer - begin < block.bytes ? &block : nullptr;
}

int Memory::device_of(cuda::Pointer pointer, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cuda::Pointer begin = 0;
  const Block* const first = block_at(pointer, begin);
  if (first == nullptr) return -1;
  const auto is_usable = [&](const Block& block) { return block.device == first->device && (!block.is_virtual || block.users.count(block.device) > 0); };
  for (const Block* block = first; block != nullptr && is_usable(*block); block = block_at(begin + block->bytes, begin)) {
    if (pointer + bytes <= begin + block->bytes) return block->device;
    if (!block->is_virtual) break;
  }
  return -1;
}

bool Memory::find(cuda::Pointer pointer, cuda::Pointer& begin, std::size_t& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Block* const block = block_at(pointer, begin);
  if (block != nullptr) bytes = block->bytes;
  return block != nullptr;
}

void Memory::map(cuda::Pointer pointer, std::size_t bytes, int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_[pointer] = {bytes, device, true, {}};
}

void Memory::unmap(cuda::Pointer pointer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_.erase(pointer);
}

void Memory::open_to(cuda::Pointer pointer, std::size_t bytes, int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = blocks_.lower_bound(pointer); at != blocks_.end() && at->first < pointer + bytes; ++at) at->second.users.insert(device);
}

bool Memory::is_open_to(cuda::Pointer pointer, int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cuda::Pointer begin = 0;
  const Block* const block = block_at(pointer, begin);
  return block != nullptr && block->users.count(device) > 0;
}

bool Memory::is_virtual(cuda::Pointer pointer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cuda::Pointer begin = 0;
  const Block* const block = block_at(pointer, begin);
  return block != nullptr && block->is_virtual;
}

int Memory::device_of_block(cuda::Pointer pointer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cuda::Pointer begin = 0;
  const Block* const block = block_at(pointer, begin);
  return block != nullptr ? block->device : -1;
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
