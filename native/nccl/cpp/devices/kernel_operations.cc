#include "kernel_operations.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "../tuning.h"

namespace coll {
namespace {

struct DTypeRow {
  const char* name;
  std::size_t bytes;
};

// The names and sizes of dtypes, in NCCL's order.
constexpr DTypeRow kDTypes[] = {{"int8", 1},   {"uint8", 1},   {"int32", 4},   {"uint32", 4},  {"int64", 8},
                                {"uint64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8}, {"bfloat16", 2}};
constexpr int kFloat32 = 7;
constexpr int kFloat64 = 8;
constexpr int kFirstFloat = 6;

const DTypeRow& row_of(int dtype) {
  if (dtype < 0 || dtype >= static_cast<int>(std::size(kDTypes))) throw invalid("unknown dtype " + std::to_string(dtype));
  return kDTypes[dtype];
}

// The argument of the kernels, as in kernels.cu.
struct Inputs {
  cuda::Pointer at[kMostInputs];
};
struct Tile {
  cuda::Pointer into;
  cuda::Pointer from;
  std::uint64_t bytes;
};

constexpr std::size_t kMostFew = 168;
struct FewPieces {
  struct {
    cuda::Pointer into;
    cuda::Pointer from;
    std::uint32_t bytes;
    std::uint32_t first_tile;
  } at[kMostFew];
};

cuda::Pointer pointer_of(const DeviceAddress& address) { return address.allocation->pointer + address.offset; }

void launch(Runtime& runtime, Device& device, const std::string& kernel, std::size_t wanted_blocks, void** arguments) {
  const std::size_t most = static_cast<std::size_t>(device.multiprocessors()) * tuning::kBlocksPerProcessor;
  const auto blocks = static_cast<unsigned>(std::max<std::size_t>(1, std::min(most, wanted_blocks)));
  const cuda::Function function = device.kernel(kernel);
  runtime.driver.require(
      runtime.driver.launch(function, blocks, 1, 1, tuning::kThreads, 1, 1, 0, device.stream(Lane::kCompute), arguments, nullptr), kernel.c_str());
}

std::size_t blocks_for(std::size_t count) { return (count + tuning::kThreads - 1) / tuning::kThreads; }

std::size_t tile_bytes_for(const std::vector<PieceCopy>& pieces, const Device& device) {
  std::size_t all = 0;
  for (const PieceCopy& piece : pieces) all += piece.bytes;
  const std::size_t share = all / (static_cast<std::size_t>(device.multiprocessors()) * tuning::kBlocksPerProcessor);
  return std::clamp((share + tuning::kTileStep - 1) / tuning::kTileStep * tuning::kTileStep, tuning::kLeastTileBytes, tuning::kMostTileBytes);
}

std::vector<Tile> tiles_of(const std::vector<PieceCopy>& pieces, std::size_t tile_bytes) {
  std::vector<Tile> tiles;
  for (const PieceCopy& piece : pieces) {
    for (std::size_t begin = 0; begin < piece.bytes; begin += tile_bytes) {
      tiles.push_back({pointer_of(piece.into) + begin, pointer_of(piece.from) + begin, std::min(tile_bytes, piece.bytes - begin)});
    }
  }
  return tiles;
}

// Copies few pieces: their table fits into the arguments of the launch.
void launch_few(Runtime& runtime, Device& device, const std::vector<PieceCopy>& pieces, std::size_t tile_bytes) {
  FewPieces few{};
  std::uint32_t count = 0;
  std::uint32_t tiles = 0;
  for (const PieceCopy& piece : pieces) {
    few.at[count++] = {pointer_of(piece.into), pointer_of(piece.from), static_cast<std::uint32_t>(piece.bytes), tiles};
    tiles += static_cast<std::uint32_t>((piece.bytes + tile_bytes - 1) / tile_bytes);
  }
  auto bytes = static_cast<std::uint32_t>(tile_bytes);
  void* arguments[] = {&few, &count, &tiles, &bytes};
  launch(runtime, device, "coll_copy_few", tiles, arguments);
}

// Copies many pieces: their table is copied to the device.
void launch_many(Runtime& runtime, Operation& operation, Device& device, const std::vector<PieceCopy>& pieces, std::size_t tile_bytes) {
  const std::vector<Tile> tiles = tiles_of(pieces, tile_bytes);
  const std::size_t bytes = tiles.size() * sizeof(Tile);
  if (bytes > tuning::kChunkBytes) throw Error(FailureKind::kOutOfMemory, "too many pieces for one launch: copy fewer at a time");
  const PinnedPool::Chunk chunk = runtime.pinned.take(bytes, [&] { return !runtime.scheduler.has_failed(operation); });
  if (chunk == nullptr) return;
  std::memcpy(chunk.get(), tiles.data(), bytes);
  operation.kept.push_back(chunk);
  const cuda::Driver& driver = runtime.driver;
  const cuda::Stream stream = device.stream(Lane::kCompute);
  cuda::Pointer table = 0;
  driver.require(driver.allocate(&table, bytes, stream), "the table of pieces");
  driver.require(driver.copy_up(table, chunk.get(), bytes, stream), "the table of pieces");
  std::uint64_t count = tiles.size();
  void* arguments[] = {&table, &count};
  launch(runtime, device, "coll_copy_pieces", tiles.size(), arguments);
  driver.require(driver.free(table, stream), "the table of pieces");
}

}  // namespace

const char* dtype_name(int dtype) { return row_of(dtype).name; }

std::size_t dtype_bytes(int dtype) { return row_of(dtype).bytes; }

SharedOperation divide(Runtime& runtime, const DeviceAddress& into, int into_dtype, const DeviceAddress& from, int from_dtype, std::size_t count, double divisor) {
  std::string kernel = std::string("coll_divide_") + dtype_name(from_dtype);
  if (from_dtype < kFirstFloat) {
    if (into_dtype != kFloat32 && into_dtype != kFloat64) throw invalid("a quotient of integers must be float32 or float64");
    kernel += std::string("_to_") + dtype_name(into_dtype);
  } else if (into_dtype != from_dtype) {
    throw invalid("a quotient of floating-point numbers must keep their dtype");
  }
  auto operation = std::make_shared<Operation>();
  operation->name = "divide";
  operation->uses = {{into.allocation, true}, {from.allocation, false}};
  operation->launch = [&runtime, into, from, count, divisor, kernel](Operation& self) {
    if (count == 0) return;
    Device& device = runtime.device(into.allocation->device);
    const cuda::Stream stream = device.stream(Lane::kCompute);
    wait_for_uses(self, device, stream);
    cuda::Pointer to = pointer_of(into);
    cuda::Pointer at = pointer_of(from);
    std::uint64_t length = count;
    double by = divisor;
    void* arguments[] = {&to, &at, &length, &by};
    launch(runtime, device, kernel, blocks_for(count), arguments);
    mark_end(self, device, stream);
  };
  return operation;
}

SharedOperation combine(Runtime& runtime, const DeviceAddress& into, const std::vector<DeviceAddress>& inputs, int dtype, int op, std::size_t count) {
  constexpr int kLastOp = 3;
  if (inputs.empty() || inputs.size() > kMostInputs) throw invalid("combine takes 1 to " + std::to_string(kMostInputs) + " inputs");
  if (op < 0 || op > kLastOp) throw invalid("combine does not support op " + std::to_string(op));
  auto operation = std::make_shared<Operation>();
  operation->name = "combine";
  operation->uses = {{into.allocation, true}};
  for (const DeviceAddress& input : inputs) operation->uses.push_back({input.allocation, false});
  operation->launch = [&runtime, into, inputs, op, count, kernel = std::string("coll_combine_") + dtype_name(dtype)](Operation& self) {
    if (count == 0) return;
    Device& device = runtime.device(into.allocation->device);
    const cuda::Stream stream = device.stream(Lane::kCompute);
    wait_for_uses(self, device, stream);
    cuda::Pointer to = pointer_of(into);
    Inputs pointers{};
    for (std::size_t i = 0; i < inputs.size(); ++i) pointers.at[i] = pointer_of(inputs[i]);
    int input_count = static_cast<int>(inputs.size());
    int operator_number = op;
    std::uint64_t length = count;
    void* arguments[] = {&to, &pointers, &input_count, &operator_number, &length};
    launch(runtime, device, kernel, blocks_for(count), arguments);
    mark_end(self, device, stream);
  };
  return operation;
}

SharedOperation copy_pieces(Runtime& runtime, const std::vector<PieceCopy>& pieces) {
  auto operation = std::make_shared<Operation>();
  operation->name = "copy pieces";
  for (const PieceCopy& piece : pieces) {
    // Consecutive pieces are usually in the same memory.
    const std::size_t count = operation->uses.size();
    if (count < 2 || operation->uses[count - 2].allocation != piece.into.allocation || operation->uses[count - 1].allocation != piece.from.allocation) {
      operation->uses.push_back({piece.into.allocation, true});
      operation->uses.push_back({piece.from.allocation, false});
    }
  }
  operation->launch = [&runtime, all = pieces](Operation& self) {
    std::vector<PieceCopy> pieces;
    std::copy_if(all.begin(), all.end(), std::back_inserter(pieces), [](const PieceCopy& piece) { return piece.bytes > 0; });
    if (pieces.empty()) return;
    Device& device = runtime.device(pieces[0].into.allocation->device);
    const cuda::Stream stream = device.stream(Lane::kCompute);
    wait_for_uses(self, device, stream);
    const std::size_t tile_bytes = tile_bytes_for(pieces, device);
    const bool are_few = pieces.size() <= kMostFew && std::all_of(pieces.begin(), pieces.end(), [](const PieceCopy& piece) { return piece.bytes <= UINT32_MAX; });
    if (are_few) launch_few(runtime, device, pieces, tile_bytes);
    else launch_many(runtime, self, device, pieces, tile_bytes);
    mark_end(self, device, stream);
  };
  return operation;
}

}  // namespace coll
