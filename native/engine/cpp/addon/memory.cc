#include "memory.h"

namespace coll {
namespace {

constexpr const char* kTypedArrays[] = {"Int8Array",   "Uint8Array",   "Uint8ClampedArray", "Int16Array",    "Uint16Array",   "Int32Array",
                                        "Uint32Array", "Float32Array", "Float64Array",      "BigInt64Array", "BigUint64Array"};

// Only an ArrayBuffer can be detached; a SharedArrayBuffer cannot, and never shrinks.
bool is_detachable(const Napi::Value& array) {
  napi_value buffer = nullptr;
  bool is_detachable = true;
  const napi_status status = napi_get_typedarray_info(array.Env(), array, nullptr, nullptr, nullptr, &buffer, nullptr);
  if (status != napi_ok || napi_is_arraybuffer(array.Env(), buffer, &is_detachable) != napi_ok) throw WrongArgument("the argument must be a typed array");
  return is_detachable;
}

}  // namespace

const char* name_of(napi_typedarray_type type) {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kTypedArrays) ? kTypedArrays[index] : "typed array";
}

Elements elements_of(const Napi::Value& array, napi_typedarray_type type, const std::string& what, std::size_t least) {
  // If Node-API does not know the type of the array, the type stays `clamped`, which no call
  // accepts.
  Elements found{nullptr, 0, napi_uint8_clamped_array};
  void* data = nullptr;
  // Does not ask for the buffer: Node 20 cannot return the address of a SharedArrayBuffer.
  const napi_status status = napi_get_typedarray_info(array.Env(), array, &found.type, &found.count, &data, nullptr, nullptr);
  if (status == napi_ok && found.type == type && found.count >= least) {
    found.begin = static_cast<std::byte*>(data);
    return found;
  }
  const std::string size = least > 0 ? " of at least " + std::to_string(least) + " elements" : "";
  throw WrongArgument(what + " must be of type " + name_of(type) + size + ", got " + description_of(array));
}

Elements shared_elements_of(const Napi::Value& array, napi_typedarray_type type, const char* what, std::size_t least) {
  const Elements found = elements_of(array, type, what, least);
  if (is_detachable(array)) throw WrongArgument(std::string(what) + " must be on a SharedArrayBuffer, got an ArrayBuffer");
  return found;
}

std::vector<bool> are_detachable(const Napi::Value& arrays) {
  const Napi::Array list = arrays.As<Napi::Array>();
  std::vector<bool> result(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) result[i] = is_detachable(list.Get(i));
  return result;
}

std::vector<double> numbers_of(const Napi::Value& array, const char* what) {
  const Elements found = elements_of(array, napi_float64_array, what);
  const double* const numbers = reinterpret_cast<const double*>(found.begin);
  return {numbers, numbers + found.count};
}

}  // namespace coll
