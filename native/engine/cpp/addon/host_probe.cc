#include "host_probe.h"

#if defined(__linux__)

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "../shared/segment.h"
#include "exports.h"

namespace coll {
namespace {

std::string refusal_of_shared_memory() {
  try {
    const auto segment = Segment::create(Segment::first_free());
    Segment::open(segment->info());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Why the system refuses to read the memory of another process; empty if it does not. Reads the
// memory of this process: permissions do not apply to it, but filters of system calls do.
std::string refusal_of_memory_access() {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? "" : std::strerror(errno);
}

// probeHost(): [sharedMemory: string, memoryAccess: string], why the system refuses a segment of
// shared memory, and the call that reads memory of another process; empty if it allows them
Napi::Value probe_host(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, refusal_of_shared_memory());
  result.Set(1u, refusal_of_memory_access());
  return result;
}

}  // namespace

void add_host_probe(Napi::Object exports) { add<probe_host>(exports, "probeHost"); }

}  // namespace coll

#else

namespace coll {

void add_host_probe(Napi::Object) {}

}  // namespace coll

#endif
