#include "memory.h"

#include "../error.h"

namespace coll {

std::byte* address_of(const Napi::Value& array) {
  void* data = nullptr;
  // Views alone, never their buffers: Node 20 cannot tell where a SharedArrayBuffer is.
  const napi_status status = napi_get_typedarray_info(array.Env(), array, nullptr, nullptr, &data, nullptr, nullptr);
  if (status != napi_ok) throw Error("this is no typed array");
  return static_cast<std::byte*>(data);
}

std::vector<std::byte*> addresses_of(const Napi::Value& arrays) {
  const Napi::Array list = arrays.As<Napi::Array>();
  std::vector<std::byte*> addresses(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) addresses[i] = address_of(list.Get(i));
  return addresses;
}

std::vector<bool> are_losable(const Napi::Value& arrays) {
  const Napi::Array list = arrays.As<Napi::Array>();
  std::vector<bool> result(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    napi_value buffer = nullptr;
    const Napi::Value array = list.Get(i);
    const napi_status status = napi_get_typedarray_info(array.Env(), array, nullptr, nullptr, nullptr, &buffer, nullptr);
    // A SharedArrayBuffer is no ArrayBuffer: it stays, and never shrinks.
    bool is_losable = true;
    if (status != napi_ok || napi_is_arraybuffer(array.Env(), buffer, &is_losable) != napi_ok) throw Error("this is no typed array");
    result[i] = is_losable;
  }
  return result;
}

std::vector<double> numbers_of(const Napi::Value& array) {
  const std::size_t length = array.As<Napi::TypedArray>().ElementLength();
  const double* numbers = reinterpret_cast<const double*>(address_of(array));
  return {numbers, numbers + length};
}

}  // namespace coll
