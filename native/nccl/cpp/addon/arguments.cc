#include "arguments.h"

#include <cmath>

#include "promises.h"

namespace coll {
namespace {

constexpr napi_type_tag kBufferTag = {0x636f6c6c6e63636c, 0x6275666665720001};
constexpr double kLargest = 9007199254740991.0;

}  // namespace

std::size_t size_of(double number) {
  if (!(number >= 0) || number > kLargest || std::floor(number) != number) throw invalid("a length must be a whole number, 0 or more, got " + std::to_string(number));
  return static_cast<std::size_t>(number);
}

std::size_t size_of(const Napi::Value& value) {
  if (!value.IsNumber()) throw invalid("a length must be a number");
  return size_of(value.As<Napi::Number>().DoubleValue());
}

std::vector<double> numbers_of(const Napi::Value& array) {
  if (!array.IsTypedArray() || array.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) throw invalid("the argument must be a Float64Array");
  const Napi::Float64Array numbers = array.As<Napi::Float64Array>();
  return {numbers.Data(), numbers.Data() + numbers.ElementLength()};
}

std::vector<int> integers_of(const Napi::Value& list) {
  if (!list.IsArray()) throw invalid("the argument must be a list");
  const Napi::Array array = list.As<Napi::Array>();
  std::vector<int> integers;
  for (std::uint32_t i = 0; i < array.Length(); ++i) integers.push_back(integer_of(array.Get(i)));
  return integers;
}

std::uint64_t address_of(const Napi::Value& bigint) {
  if (!bigint.IsBigInt()) throw invalid("a pointer must be a bigint");
  bool is_whole = false;
  const std::uint64_t address = bigint.As<Napi::BigInt>().Uint64Value(&is_whole);
  if (!is_whole) throw invalid("a pointer must fit in 64 bits");
  return address;
}

HostMemory memory_of(const Napi::Value& view) {
  HostMemory memory;
  void* data = nullptr;
  std::size_t length = 0;
  if (view.IsDataView()) {
    napi_get_dataview_info(view.Env(), view, &length, &data, nullptr, nullptr);
  } else {
    if (!view.IsTypedArray()) throw invalid("the argument must be a typed array");
    napi_get_typedarray_info(view.Env(), view, nullptr, nullptr, &data, nullptr, nullptr);
    length = view.As<Napi::TypedArray>().ByteLength();
  }
  memory.begin = static_cast<std::byte*>(data);
  memory.bytes = length;
  memory.keeper = keep(view);
  memory.touch = [loop = ThreadLoop::of(view.Env())](const std::function<void()>& use) { return loop->while_open(use); };
  return memory;
}

Napi::Value handle_of(Napi::Env env, SharedAllocation allocation) { return hold(env, new SharedAllocation(std::move(allocation)), kBufferTag); }

SharedAllocation allocation_of(const Napi::Value& handle) {
  SharedAllocation& allocation = held<SharedAllocation>(handle, kBufferTag, "device buffer");
  if (allocation == nullptr) throw Error(FailureKind::kClosed, "the device buffer has been freed");
  return allocation;
}

void drop_allocation(const Napi::Value& handle) { held<SharedAllocation>(handle, kBufferTag, "device buffer").reset(); }

DeviceAddress place_of(const Napi::Value& handle, std::size_t offset, std::size_t bytes) {
  SharedAllocation allocation = allocation_of(handle);
  if (offset > allocation->bytes || allocation->bytes - offset < bytes) {
    throw invalid("bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) + " exceed a buffer of " + std::to_string(allocation->bytes) + " bytes");
  }
  return {std::move(allocation), offset};
}

}  // namespace coll
