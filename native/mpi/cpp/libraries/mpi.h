#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "abi.h"
#include "library.h"

namespace coll {

// A handle of MPI in whatever form its binary interface has.
using MpiHandle = std::uintptr_t;
// The handle of a request, at an address that does not change until the request has ended.
struct MpiRequest {
  MpiHandle handle;
};
// Stands for MPI_IN_PLACE.
extern const void* const kInPlace;

using MpiFunction = void (*)(void* in, void* inout, int* count, void* type);

// The sender, tag and size of a message.
struct Envelope {
  int source;
  int tag;
  int bytes;
};

// The functions of MPI that this addon calls, independent of the binary interface. Only one thread
// may be in a call at a time. All throw an Error with MPI's own text if MPI reports one.
class Mpi {
 public:
  virtual ~Mpi() = default;

  // The binary interface: `Open MPI`, `MPICH` or `MPI 5.0`.
  virtual const char* abi() const = 0;
  virtual std::string version() = 0;
  // Starts MPI with MPI_THREAD_SERIALIZED. The calling thread must be the one that ends it.
  virtual void init() = 0;
  virtual void finalize() = 0;
  virtual void abort(int code) = 0;

  virtual MpiHandle world() = 0;
  virtual int rank(MpiHandle comm) = 0;
  virtual int size(MpiHandle comm) = 0;
  // The ranks of this host. Blocks until all ranks have called it.
  virtual MpiHandle host_comm() = 0;
  virtual void idup(MpiHandle comm, MpiHandle& made, MpiRequest& request) = 0;
  // Blocks until all ranks have called it. Zero for a negative color.
  virtual MpiHandle split(MpiHandle comm, int color, int key) = 0;
  virtual void free_comm(MpiHandle comm) = 0;

  virtual MpiHandle type(MpiType type) = 0;
  virtual MpiHandle op(MpiOp op) = 0;
  virtual MpiHandle create_op(MpiFunction function) = 0;

  // Selects the library's algorithm for an all-reduce of this size. Every rank calls it before every all-reduce.
  virtual void prepare_all_reduce(std::size_t) {}
  virtual void iall_reduce(const void* in, void* out, int count, MpiHandle type, MpiHandle op, MpiHandle comm, MpiRequest& request) = 0;
  virtual void ireduce(const void* in, void* out, int count, MpiHandle type, MpiHandle op, int root, MpiHandle comm, MpiRequest& request) = 0;
  virtual void ibroadcast(void* data, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) = 0;
  virtual void iall_gather(const void* in, void* out, int count, MpiHandle type, MpiHandle comm, MpiRequest& request) = 0;
  virtual void igather(const void* in, void* out, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) = 0;
  virtual void iscatter(const void* in, void* out, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) = 0;
  virtual void ireduce_scatter(const void* in, void* out, int count, MpiHandle type, MpiHandle op, MpiHandle comm, MpiRequest& request) = 0;
  virtual void iall_to_all(const void* in, void* out, int count, MpiHandle type, MpiHandle comm, MpiRequest& request) = 0;
  virtual void ibarrier(MpiHandle comm, MpiRequest& request) = 0;

  virtual void isend(const void* data, int bytes, int to, int tag, MpiHandle comm, MpiRequest& request) = 0;
  virtual void ireceive(void* data, int bytes, int from, int tag, MpiHandle comm, MpiRequest& request) = 0;
  // Whether a message has arrived. If so, fills the envelope.
  virtual bool iprobe(MpiHandle comm, Envelope& envelope) = 0;
  // Whether the request has ended. Makes progress on all requests.
  virtual bool test(MpiRequest& request) = 0;
};

// The functions of a library. Throws an Error that names a missing function.
std::unique_ptr<Mpi> open_mpi(const Library& library);

}  // namespace coll
