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

std::vector<double> numbers_of(const Napi::Value& array) {
  const std::size_t length = array.As<Napi::TypedArray>().ElementLength();
  const double* numbers = reinterpret_cast<const double*>(address_of(array));
  return {numbers, numbers + length};
}

}  // namespace coll
