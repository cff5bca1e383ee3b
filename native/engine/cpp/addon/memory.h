#pragma once

#include <napi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "arguments.h"

namespace coll {

// The elements of a typed array, on shared memory, too. `begin` is null for an empty or a detached one.
struct Elements {
  std::byte* begin;
  std::size_t count;
  napi_typedarray_type type;
};

// "Float32Array"
const char* name_of(napi_typedarray_type type);

// `least`: the fewest elements that it may have. Throws WrongArgument for any other value, which the message calls `what`.
Elements elements_of(const Napi::Value& array, napi_typedarray_type type, const std::string& what, std::size_t least = 0);

// The same of memory that threads share, which is there as long as the array.
Elements shared_elements_of(const Napi::Value& array, napi_typedarray_type type, const char* what, std::size_t least);

// Which of a list of typed arrays are on memory that JavaScript can take away, or a part of it.
std::vector<bool> are_detachable(const Napi::Value& arrays);

// The numbers of a Float64Array.
std::vector<double> numbers_of(const Napi::Value& array, const char* what);

}  // namespace coll
