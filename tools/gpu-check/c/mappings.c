/*
 * Prints what the driver reports about memory of each kind, on which Gpu.fromPointer relies: mappings LIBCUDA
 *
 * The output is a line of JSON, for two adjacent mappings of the virtual-memory API, for memory of a pool, and for memory of cuMemAlloc: the
 * attributes of a pointer, the bytes up to the end of its allocation, and the access rights of the first GPU. A number is -1 if the driver
 * refuses to answer. The build needs no header of CUDA.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../native/engine/cpp/linux/dynamic_linking.h"

typedef uint64_t Pointer;
typedef struct {
  int type;
  int id;
} Location;
typedef struct {
  Location location;
  int rights;
} Access;
typedef struct {
  int type;
  int handle_types;
  Location location;
  void* unused;
  unsigned char flags[8];
} Properties;

enum { kContext = 1, kManaged = 8, kOrdinal = 9, kLegacyIpc = 10, kPool = 17, kPinned = 1, kDevice = 1, kReadAndWrite = 3 };

static void* cuda;
static int (*attribute_of)(void*, int, Pointer);
static int (*address_range)(Pointer*, size_t*, Pointer);
static int (*access_of)(unsigned long long*, const Location*, Pointer);

static void require(int is_so, const char* what) {
  if (is_so) return;
  fprintf(stderr, "mappings: %s failed\n", what);
  exit(1);
}

#define DO(call) require((call) == 0, #call)

static void* find(const char* name) {
  void* const found = dlsym(cuda, name);
  require(found != NULL, name);
  return found;
}

static long long attribute(int which, Pointer pointer) {
  int64_t value = 0;
  return attribute_of(&value, which, pointer) == 0 ? value : -1;
}

static void tell(const char* kind, Pointer pointer, const char* end) {
  const Location device = {kDevice, 0};
  unsigned long long rights = 0;
  Pointer begin = 0;
  size_t bytes = 0;
  const long long left = address_range(&begin, &bytes, pointer) == 0 ? (long long)(begin + bytes - pointer) : -1;
  const int has_rights = access_of(&rights, &device, pointer) == 0;
  printf("\"%s\": {\"ordinal\": %lld, \"hasContext\": %s, \"legacyIpc\": %lld, \"isManaged\": %lld, \"hasPool\": %s, \"bytesLeft\": %lld, \"rights\": %lld}%s", kind,
         attribute(kOrdinal, pointer), attribute(kContext, pointer) > 0 ? "true" : "false", attribute(kLegacyIpc, pointer), attribute(kManaged, pointer),
         attribute(kPool, pointer) > 0 ? "true" : "false", left, has_rights ? (long long)rights : -1, end);
}

/* Makes two adjacent mappings of separate physical memory. */
static Pointer two_mappings(size_t* bytes_each) {
  const Properties properties = {kPinned, 0, {kDevice, 0}, NULL, {0}};
  const Access access = {{kDevice, 0}, kReadAndWrite};
  Pointer begin = 0;
  DO(((int (*)(size_t*, const Properties*, int))find("cuMemGetAllocationGranularity"))(bytes_each, &properties, 0));
  DO(((int (*)(Pointer*, size_t, size_t, Pointer, unsigned long long))find("cuMemAddressReserve"))(&begin, 4 * *bytes_each, 0, 0, 0));
  for (size_t i = 0; i < 2; ++i) {
    unsigned long long handle = 0;
    DO(((int (*)(unsigned long long*, size_t, const Properties*, unsigned long long))find("cuMemCreate"))(&handle, *bytes_each, &properties, 0));
    DO(((int (*)(Pointer, size_t, size_t, unsigned long long, unsigned long long))find("cuMemMap"))(begin + i * *bytes_each, *bytes_each, 0, handle, 0));
  }
  DO(((int (*)(Pointer, size_t, const Access*, size_t))find("cuMemSetAccess"))(begin, 2 * *bytes_each, &access, 1));
  return begin;
}

int main(int count, char** arguments) {
  void* context = NULL;
  void* stream = NULL;
  size_t bytes = 0;
  Pointer pooled = 0;
  Pointer plain = 0;
  require(count == 2, "mappings LIBCUDA: reading the arguments");
  cuda = dlopen(arguments[1], RTLD_NOW);
  require(cuda != NULL, "opening libcuda");
  *(void**)&attribute_of = find("cuPointerGetAttribute");
  *(void**)&address_range = find("cuMemGetAddressRange_v2");
  *(void**)&access_of = find("cuMemGetAccess");
  DO(((int (*)(unsigned))find("cuInit"))(0));
  DO(((int (*)(void**, int))find("cuDevicePrimaryCtxRetain"))(&context, 0));
  DO(((int (*)(void*))find("cuCtxSetCurrent"))(context));
  DO(((int (*)(void**, unsigned, int))find("cuStreamCreateWithPriority"))(&stream, 1, 0));
  const Pointer mapped = two_mappings(&bytes);
  DO(((int (*)(Pointer*, size_t, void*))find("cuMemAllocAsync"))(&pooled, bytes, stream));
  printf("{\"bytesOfMapping\": %zu, ", bytes);
  /* The test doubles lack this function. */
  if (dlsym(cuda, "cuMemAlloc_v2") != NULL) {
    DO(((int (*)(Pointer*, size_t))find("cuMemAlloc_v2"))(&plain, bytes));
    tell("allocated", plain, ", ");
  }
  tell("pooled", pooled, ", ");
  tell("mapped", mapped, ", ");
  tell("inFirstMapping", mapped + bytes - 256, ", ");
  tell("secondMapping", mapped + bytes, ", ");
  tell("unmapped", mapped + 2 * bytes, "}\n");
  return 0;
}
