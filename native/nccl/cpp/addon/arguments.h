#pragma once

#include <napi.h>

#include <cstddef>
#include <vector>

#include "../devices/buffer_operations.h"
#include "../devices/kernel_operations.h"

namespace coll {

// A JavaScript handle that owns a C++ value.
template <class T>
Napi::Value hold(Napi::Env env, T* value, const napi_type_tag& tag) {
  auto external = Napi::External<T>::New(env, value, [](Napi::Env, T* held) { delete held; });
  external.TypeTag(&tag);
  return external;
}

// Throws unless the handle has a value of type T.
template <class T>
T& held(const Napi::Value& value, const napi_type_tag& tag, const char* what) {
  if (!value.IsExternal() || !value.As<Napi::External<T>>().CheckTypeTag(&tag)) throw invalid(std::string("the argument must be a ") + what);
  return *value.As<Napi::External<T>>().Data();
}

inline int integer_of(const Napi::Value& value) { return value.As<Napi::Number>().Int32Value(); }
// Throws unless the value is a valid count or offset.
std::size_t size_of(const Napi::Value& value);
std::size_t size_of(double number);
std::vector<double> numbers_of(const Napi::Value& array);
std::vector<int> integers_of(const Napi::Value& list);
std::uint64_t address_of(const Napi::Value& bigint);

// The bytes of a view. The result keeps the view from being collected.
HostMemory memory_of(const Napi::Value& view);

// A handle of device memory. It holds null once the memory was freed.
Napi::Value handle_of(Napi::Env env, SharedAllocation allocation);
// Throws if the memory was freed.
SharedAllocation allocation_of(const Napi::Value& handle);
void drop_allocation(const Napi::Value& handle);
// The address of `bytes` bytes of a buffer from an offset on. Throws if the buffer has fewer.
DeviceAddress place_of(const Napi::Value& handle, std::size_t offset, std::size_t bytes);

}  // namespace coll
