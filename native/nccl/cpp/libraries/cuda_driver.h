#pragma once

#include <cstddef>
#include <string>

#include "../error.h"
#include "cuda_types.h"
#include "library.h"

namespace coll::cuda {

// The functions of libcuda.so.1 that this project calls, named without prefix and version.
struct Driver {
  Library library;
  int version = 0;

  Result (*init)(unsigned) = nullptr;
  Result (*driver_version)(int*) = nullptr;
  Result (*error_name)(Result, const char**) = nullptr;
  Result (*error_string)(Result, const char**) = nullptr;

  Result (*device_count)(int*) = nullptr;
  Result (*device_get)(int*, int) = nullptr;
  Result (*device_name)(char*, int, int) = nullptr;
  Result (*device_uuid)(Uuid*, int) = nullptr;
  Result (*device_bus_id)(char*, int, int) = nullptr;
  Result (*device_attribute)(int*, int, int) = nullptr;
  Result (*device_bytes)(std::size_t*, int) = nullptr;
  Result (*can_access_peer)(int*, int, int) = nullptr;

  Result (*context_retain)(Context*, int) = nullptr;
  Result (*context_set)(Context) = nullptr;
  Result (*stream_priorities)(int*, int*) = nullptr;

  Result (*stream_create)(Stream*, unsigned, int) = nullptr;
  Result (*stream_synchronize)(Stream) = nullptr;
  Result (*stream_wait)(Stream, Event, unsigned) = nullptr;

  Result (*event_create)(Event*, unsigned) = nullptr;
  Result (*event_record)(Event, Stream) = nullptr;
  Result (*event_query)(Event) = nullptr;
  Result (*event_destroy)(Event) = nullptr;

  Result (*allocate)(Pointer*, std::size_t, Stream) = nullptr;
  Result (*free)(Pointer, Stream) = nullptr;
  Result (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  Result (*default_pool)(Pool*, int) = nullptr;
  Result (*set_pool)(Pool, int, void*) = nullptr;
  Result (*set_pool_access)(Pool, const Access*, std::size_t) = nullptr;
  Result (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  Result (*free_host)(void*) = nullptr;

  Result (*copy_up)(Pointer, const void*, std::size_t, Stream) = nullptr;
  Result (*copy_down)(void*, Pointer, std::size_t, Stream) = nullptr;
  Result (*copy)(Pointer, Pointer, std::size_t, Stream) = nullptr;
  Result (*copy_peer)(Pointer, Context, Pointer, Context, std::size_t, Stream) = nullptr;
  Result (*fill_bytes)(Pointer, unsigned char, std::size_t, Stream) = nullptr;
  Result (*fill_words)(Pointer, unsigned, std::size_t, Stream) = nullptr;
  Result (*pointer_attribute)(void*, int, Pointer) = nullptr;
  Result (*address_range)(Pointer*, std::size_t*, Pointer) = nullptr;
  // The access that a location has to a mapping of the virtual-memory API.
  Result (*access_of)(unsigned long long*, const Location*, Pointer) = nullptr;

  Result (*module_load)(Module*, const void*, unsigned, int*, void**) = nullptr;
  Result (*module_function)(Function*, Module, const char*) = nullptr;
  Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**) = nullptr;

  // Throws an Error with the driver's message unless the result is success.
  void require(Result result, const char* what) const;
  Failure failure_of(Result result, const char* what) const;
};

// The driver, loaded and started. Throws an Error of one sentence if it cannot be used. `file`:
// empty for the usual one.
Driver open_driver(const std::string& file);

}  // namespace coll::cuda
