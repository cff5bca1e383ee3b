/*
 * Times plain calls of the driver and of NCCL on the first GPU, with one or two ranks, for comparison with this library.
 *
 *   calls LIBCUDA LIBNCCL ARENA_MIB [RANK FILE]
 *
 * Prints {"nccl": VERSION} when it is ready. Answers each line "WHAT BYTES CALLS REPETITIONS EACH" with a line of numbers: the nanoseconds
 * per call of each repetition. WHAT is all-reduce, all-reduce-in-place, copy (on the GPU), up or down (from or to pinned memory). With
 * EACH 1, each call is awaited; with 0, all calls are awaited at the end. Calls walk through ARENA_MIB of memory, so that no cache of the
 * GPU holds their data. Two ranks exchange their id through FILE. The build needs no header of CUDA or NCCL.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../native/engine/cpp/linux/dynamic_linking.h"

typedef uint64_t Pointer;
typedef void* Stream;
typedef void* Communicator;
typedef struct {
  char bytes[128];
} UniqueId;

enum { kFloat32 = 7, kSum = 0, kNonBlocking = 1, kPortable = 1, kWarmUps = 5 };

static int (*init)(unsigned);
static int (*device_get)(int*, int);
static int (*context_retain)(void**, int);
static int (*context_set)(void*);
static int (*stream_create)(Stream*, unsigned, int);
static int (*stream_synchronize)(Stream);
static int (*allocate)(Pointer*, size_t, Stream);
static int (*allocate_host)(void**, size_t, unsigned);
static int (*fill_words)(Pointer, unsigned, size_t, Stream);
static int (*copy_up)(Pointer, const void*, size_t, Stream);
static int (*copy_down)(void*, Pointer, size_t, Stream);
static int (*copy)(Pointer, Pointer, size_t, Stream);
static int (*get_version)(int*);
static int (*unique_id)(UniqueId*);
static int (*comm_init)(Communicator*, int, UniqueId, int, void*);
static int (*all_reduce)(const void*, void*, size_t, int, int, Communicator, Stream);

static Stream stream;
static Communicator communicator;
static int ranks = 1;
static size_t arena;
static Pointer from;
static Pointer into;
static char* host;

static void require(int is_so, const char* what) {
  if (is_so) return;
  fprintf(stderr, "calls: %s failed\n", what);
  exit(1);
}

#define BIND(library, function, name)                 \
  do {                                                \
    *(void**)&(function) = dlsym((library), (name));  \
    require((function) != NULL, "looking for " name); \
  } while (0)

#define DO(call) require((call) == 0, #call)

static void open_libraries(const char* cuda_file, const char* nccl_file) {
  void* const cuda = dlopen(cuda_file, RTLD_NOW);
  require(cuda != NULL, "opening libcuda");
  void* const nccl = dlopen(nccl_file, RTLD_NOW);
  require(nccl != NULL, "opening libnccl");
  BIND(cuda, init, "cuInit");
  BIND(cuda, device_get, "cuDeviceGet");
  BIND(cuda, context_retain, "cuDevicePrimaryCtxRetain");
  BIND(cuda, context_set, "cuCtxSetCurrent");
  BIND(cuda, stream_create, "cuStreamCreateWithPriority");
  BIND(cuda, stream_synchronize, "cuStreamSynchronize");
  BIND(cuda, allocate, "cuMemAllocAsync");
  BIND(cuda, allocate_host, "cuMemHostAlloc");
  BIND(cuda, fill_words, "cuMemsetD32Async");
  BIND(cuda, copy_up, "cuMemcpyHtoDAsync_v2");
  BIND(cuda, copy_down, "cuMemcpyDtoHAsync_v2");
  BIND(cuda, copy, "cuMemcpyDtoDAsync_v2");
  BIND(nccl, get_version, "ncclGetVersion");
  BIND(nccl, unique_id, "ncclGetUniqueId");
  BIND(nccl, comm_init, "ncclCommInitRankConfig");
  BIND(nccl, all_reduce, "ncclAllReduce");
}

/* The first rank creates the id and writes it to a file, which the second rank reads. */
static UniqueId agreed_id(int rank, const char* meeting) {
  UniqueId id;
  if (rank == 0) DO(unique_id(&id));
  if (ranks == 1) return id;
  char draft[4096];
  require(snprintf(draft, sizeof draft, "%s.draft", meeting) < (int)sizeof draft, "naming a file");
  FILE* file = rank == 0 ? fopen(draft, "wb") : NULL;
  if (rank == 0) {
    require(file != NULL && fwrite(&id, sizeof id, 1, file) == 1 && fclose(file) == 0, "writing the id");
    require(rename(draft, meeting) == 0, "leaving the id");
    return id;
  }
  const struct timespec pause = {0, 10000000};
  while ((file = fopen(meeting, "rb")) == NULL) nanosleep(&pause, NULL);
  require(fread(&id, sizeof id, 1, file) == 1, "reading the id");
  fclose(file);
  return id;
}

static void start(size_t arena_bytes, int rank, const char* meeting) {
  int device = 0;
  void* context = NULL;
  DO(init(0));
  DO(device_get(&device, 0));
  DO(context_retain(&context, device));
  DO(context_set(context));
  DO(stream_create(&stream, kNonBlocking, 0));
  DO(comm_init(&communicator, ranks, agreed_id(rank, meeting), rank, NULL));
  arena = arena_bytes;
  DO(allocate(&from, arena, stream));
  DO(allocate(&into, arena, stream));
  DO(fill_words(from, 0x3f800000, arena / 4, stream));
  DO(fill_words(into, 0x3f800000, arena / 4, stream));
  DO(stream_synchronize(stream));
}

static void* at(Pointer pointer) { return (void*)(uintptr_t)pointer; }

static int call_once(const char* what, size_t bytes, size_t offset) {
  if (strcmp(what, "all-reduce") == 0) return all_reduce(at(from + offset), at(into + offset), bytes / 4, kFloat32, kSum, communicator, stream);
  if (strcmp(what, "all-reduce-in-place") == 0) return all_reduce(at(into + offset), at(into + offset), bytes / 4, kFloat32, kSum, communicator, stream);
  if (strcmp(what, "copy") == 0) return copy(into + offset, from + offset, bytes, stream);
  if (strcmp(what, "up") == 0) return copy_up(into, host, bytes, stream);
  if (strcmp(what, "down") == 0) return copy_down(host, from, bytes, stream);
  return 1;
}

static double nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double repetition(const char* what, size_t bytes, int calls, int each) {
  const size_t places = bytes < arena ? arena / bytes : 1;
  const double begin = nanoseconds();
  for (int call = 0; call < calls; ++call) {
    require(call_once(what, bytes, (size_t)call % places * bytes) == 0, what);
    if (each) DO(stream_synchronize(stream));
  }
  DO(stream_synchronize(stream));
  return (nanoseconds() - begin) / calls;
}

/* Checks the first element of the result of a call on fresh memory. */
static void check(const char* what, size_t bytes) {
  float found = 0;
  DO(fill_words(into, 0, 1, stream));
  require(call_once(what, bytes, 0) == 0, what);
  DO(copy_down(&found, into, sizeof found, stream));
  DO(stream_synchronize(stream));
  require(found == (strcmp(what, "copy") == 0 ? 1.0f : (float)ranks), "the result of a call");
}

int main(int count, char** arguments) {
  char what[32];
  size_t bytes;
  int calls, repetitions, each, version = 0;
  require(count == 4 || count == 6, "calls LIBCUDA LIBNCCL ARENA_MIB [RANK FILE]: reading the arguments");
  if (count == 6) ranks = 2;
  open_libraries(arguments[1], arguments[2]);
  start((size_t)atoll(arguments[3]) << 20, count == 6 ? atoi(arguments[4]) : 0, count == 6 ? arguments[5] : "");
  DO(get_version(&version));
  printf("{\"nccl\": %d}\n", version);
  fflush(stdout);
  while (scanf("%31s %zu %d %d %d", what, &bytes, &calls, &repetitions, &each) == 5) {
    require(bytes >= 4 && bytes <= arena && calls > 0, "reading a request");
    if (host == NULL && (strcmp(what, "up") == 0 || strcmp(what, "down") == 0)) {
      DO(allocate_host((void**)&host, arena, kPortable));
      for (size_t i = 0; i < arena / 4; ++i) ((float*)host)[i] = 1;
    }
    if (strcmp(what, "all-reduce") == 0 || strcmp(what, "copy") == 0) check(what, bytes);
    repetition(what, bytes, kWarmUps, each);
    for (int i = 0; i < repetitions; ++i) printf("%.1f ", repetition(what, bytes, calls, each));
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
