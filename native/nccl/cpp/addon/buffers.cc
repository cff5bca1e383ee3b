#include "buffers.h"

#include "../devices/kernel_operations.h"
#include "arguments.h"
#include "promises.h"

namespace coll {
namespace {

Napi::Value submit(Napi::Env env, const std::vector<SharedOperation>& operations) { return promise_of(env, the_runtime().scheduler, operations); }
Napi::Value submit(Napi::Env env, const SharedOperation& operation) { return promise_of(env, the_runtime().scheduler, operation); }

int device_of(const Napi::Value& value) {
  const int device = integer_of(value);
  const int count = the_runtime().device_count;
  if (device < 0 || device >= count) throw invalid("GPU " + std::to_string(device) + " does not exist: this process has " + std::to_string(count));
  return device;
}

cuda::Stream stream_of(const Napi::Value& value) { return reinterpret_cast<cuda::Stream>(address_of(value)); }

void require_one_device(const DeviceAddress& address, const DeviceAddress& other) {
  if (address.allocation->device != other.allocation->device) throw invalid("both buffers must be on the same GPU: copy one of them first");
}

}  // namespace

Napi::Value allocate(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const int device = device_of(info[0]);
  const SharedAllocation allocation = runtime.new_allocation(device, size_of(info[1]), true);
  runtime.scheduler.submit(make_allocation(runtime, allocation));
  return handle_of(info.Env(), allocation);
}

Napi::Value adopt(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const int device = device_of(info[0]);
  const cuda::Pointer pointer = address_of(info[1]);
  const SharedAllocation allocation = runtime.new_allocation(device, size_of(info[2]), false);
  runtime.scheduler.submit(adopt_pointer(runtime, allocation, pointer));
  return handle_of(info.Env(), allocation);
}

Napi::Value free_buffer(const Napi::CallbackInfo& info) {
  drop_allocation(info[0]);
  return info.Env().Undefined();
}

Napi::Value address(const Napi::CallbackInfo& info) {
  const SharedAllocation allocation = allocation_of(info[0]);
  auto operation = std::make_shared<Operation>();
  operation->name = "address";
  operation->uses = {{allocation, false}};
  const auto pointer = std::make_shared<cuda::Pointer>(0);
  operation->launch = [pointer](Operation& self) { *pointer = self.uses[0].allocation->pointer; };
  return promise_of(info.Env(), the_runtime().scheduler, operation, [pointer](Napi::Env env) -> Napi::Value { return Napi::BigInt::New(env, *pointer); });
}

Napi::Value write(const Napi::CallbackInfo& info) {
  const HostMemory memory = memory_of(info[2]);
  return submit(info.Env(), write_buffer(the_runtime(), place_of(info[0], size_of(info[1]), memory.bytes), memory));
}

Napi::Value read(const Napi::CallbackInfo& info) {
  const HostMemory memory = memory_of(info[2]);
  return submit(info.Env(), read_buffer(the_runtime(), place_of(info[0], size_of(info[1]), memory.bytes), memory));
}

Napi::Value copy(const Napi::CallbackInfo& info) {
  const std::size_t bytes = size_of(info[4]);
  const DeviceAddress into = place_of(info[0], size_of(info[1]), bytes);
  return submit(info.Env(), copy_buffer(the_runtime(), into, place_of(info[2], size_of(info[3]), bytes), bytes));
}

Napi::Value fill(const Napi::CallbackInfo& info) {
  const std::size_t bytes = size_of(info[2]);
  const HostMemory memory = memory_of(info[3]);
  const std::size_t width = memory.bytes;
  if (width != 1 && width != 2 && width != 4 && width != 8) throw invalid("a pattern must have 1, 2, 4 or 8 bytes");
  if (bytes % width != 0) throw invalid("the number of bytes to fill must be a multiple of the pattern");
  const auto* first = reinterpret_cast<const unsigned char*>(memory.begin);
  return submit(info.Env(), fill_buffer(the_runtime(), place_of(info[0], size_of(info[1]), bytes), bytes, {first, first + width}));
}

Napi::Value allocate_host(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const std::size_t bytes = size_of(info[0]);
  const auto memory = std::make_shared<std::shared_ptr<std::byte>>();
  auto operation = std::make_shared<Operation>();
  operation->name = "allocate host memory";
  operation->launch = [&runtime, bytes, memory](Operation&) {
    runtime.device(0);
    void* made = nullptr;
    const std::string what = std::to_string(bytes) + " bytes of pinned memory";
    runtime.driver.require(runtime.driver.allocate_host(&made, std::max<std::size_t>(bytes, 1), cuda::kHostPortable), what.c_str());
    runtime.counts.host_bytes += static_cast<long>(bytes);
    // Freeing pinned memory waits for all devices, and must not happen while a collective is
    // running.
    *memory = std::shared_ptr<std::byte>(static_cast<std::byte*>(made), [&runtime, bytes](std::byte* old) {
      runtime.counts.host_bytes -= static_cast<long>(bytes);
      runtime.scheduler.submit_blocking_chore([&runtime, old] {
        runtime.device(0);
        runtime.driver.free_host(old);
      });
    });
    runtime.add_host(*memory, bytes);
  };
  return promise_of(info.Env(), runtime.scheduler, operation, [memory, bytes](Napi::Env env) -> Napi::Value {
    auto* holder = new std::shared_ptr<std::byte>(*memory);
    return Napi::ArrayBuffer::New(env, holder->get(), bytes, [holder](Napi::Env, void* address) {
      the_runtime().remove_host(static_cast<std::byte*>(address));
      delete holder;
    });
  });
}

Napi::Value free_host(const Napi::CallbackInfo& info) {
  if (!info[0].IsArrayBuffer()) throw invalid("the argument must be an ArrayBuffer");
  Napi::ArrayBuffer memory = info[0].As<Napi::ArrayBuffer>();
  if (memory.IsDetached()) return info.Env().Undefined();
  if (memory.ByteLength() > 0 && the_runtime().find_host(static_cast<std::byte*>(memory.Data()), 1) == nullptr) throw invalid("this memory was not allocated by allocateHost");
  // The memory is freed soon, when the detached block is collected.
  memory.Detach();
  return info.Env().Undefined();
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const int index = device_of(info[0]);
  struct Bytes {
    std::size_t free = 0;
    std::size_t total = 0;
  };
  const auto bytes = std::make_shared<Bytes>();
  auto operation = std::make_shared<Operation>();
  operation->name = "memory";
  operation->launch = [&runtime, index, bytes](Operation&) {
    runtime.device(index);
    runtime.driver.require(runtime.driver.memory_info(&bytes->free, &bytes->total), "cuMemGetInfo");
  };
  return promise_of(info.Env(), runtime.scheduler, operation, [bytes](Napi::Env env) -> Napi::Value {
    Napi::Object found = Napi::Object::New(env);
    found.Set("free", static_cast<double>(bytes->free));
    found.Set("total", static_cast<double>(bytes->total));
    return found;
  });
}

Napi::Value wait_for(const Napi::CallbackInfo& info) {
  return submit(info.Env(), wait_for_stream(the_runtime(), device_of(info[0]), stream_of(info[1])));
}

Napi::Value order_after(const Napi::CallbackInfo& info) {
  return submit(info.Env(), order_after(the_runtime(), allocation_of(info[1]), stream_of(info[0])));
}

Napi::Value divide(const Napi::CallbackInfo& info) {
  const int into_dtype = integer_of(info[2]);
  const int from_dtype = integer_of(info[5]);
  const std::size_t count = size_of(info[6]);
  const DeviceAddress into = place_of(info[0], size_of(info[1]), count * dtype_bytes(into_dtype));
  const DeviceAddress from = place_of(info[3], size_of(info[4]), count * dtype_bytes(from_dtype));
  require_one_device(into, from);
  return submit(info.Env(), divide(the_runtime(), into, into_dtype, from, from_dtype, count, info[7].As<Napi::Number>().DoubleValue()));
}

Napi::Value combine(const Napi::CallbackInfo& info) {
  const int dtype = integer_of(info[4]);
  const std::size_t count = size_of(info[6]);
  const std::size_t bytes = count * dtype_bytes(dtype);
  const DeviceAddress into = place_of(info[0], size_of(info[1]), bytes);
  const Napi::Array handles = info[2].As<Napi::Array>();
  const std::vector<double> offsets = numbers_of(info[3]);
  if (offsets.size() != handles.Length()) throw invalid("combine needs one offset per input");
  std::vector<DeviceAddress> inputs;
  for (std::uint32_t i = 0; i < handles.Length(); ++i) {
    inputs.push_back(place_of(handles.Get(i), size_of(offsets[i]), bytes));
    require_one_device(into, inputs.back());
  }
  return submit(info.Env(), combine(the_runtime(), into, inputs, dtype, integer_of(info[5]), count));
}

Napi::Value copy_pieces(const Napi::CallbackInfo& info) {
  const Napi::Array into = info[0].As<Napi::Array>();
  const Napi::Array from = info[1].As<Napi::Array>();
  const std::vector<double> numbers = numbers_of(info[2]);
  if (into.Length() != from.Length() || numbers.size() != 3u * into.Length()) throw invalid("copyPieces needs three numbers per pair of buffers");
  std::vector<PieceCopy> pieces;
  for (std::uint32_t i = 0; i < into.Length(); ++i) {
    const std::size_t bytes = size_of(numbers[3 * i + 2]);
    pieces.push_back({place_of(into.Get(i), size_of(numbers[3 * i]), bytes), place_of(from.Get(i), size_of(numbers[3 * i + 1]), bytes), bytes});
    require_one_device(pieces[0].into, pieces.back().into);
    require_one_device(pieces[0].into, pieces.back().from);
  }
  return submit(info.Env(), copy_pieces(the_runtime(), pieces));
}

}  // namespace coll
