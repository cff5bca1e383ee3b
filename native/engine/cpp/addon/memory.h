#pragma once

#include <napi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "arguments.h"

namespace coll {

// The elements of a typed array, also on shared memory. `begin` is null if the array is empty or
// detached.
struct Elements {
  std::byte* begin;
  std::size_t count;
  napi_typedarray_type type;
};

// The name of the type in JavaScript, such as "Float32Array".
const char* name_of(napi_typedarray_type type);

// `least`: the minimum number of elements. Throws WrongArgument for any other value, which the
// message calls `what`.
Elements elements_of(const Napi::Value& array, napi_typedarray_type type, const std::string& what, std::size_t least = 0);

// Like elements_of, for an array on a SharedArrayBuffer. The memory exists as long as the array.
Elements shared_elements_of(const Napi::Value& array, napi_typedarray_type type, const char* what, std::size_t least);

// For each typed array of a list: whether JavaScript can detach its memory.
std::vector<bool> are_detachable(const Napi::Value& arrays);

// The numbers of a Float64Array.
std::vector<double> numbers_of(const Napi::Value& array, const char* what);

}  // namespace coll
