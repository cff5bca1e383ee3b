#pragma once

#include <vector>

#include "../error.h"
#include "mpi.h"

namespace coll {

// The functions of a library with the binary interface `Abi`.
template <class Abi>
class MpiOf : public Mpi {
  using Handle = typename Abi::Handle;

  // A function of the library, found when this object is made.
  template <class... Parameters>
  struct Function {
    Function(const Library& library, const char* name) : call(reinterpret_cast<int (*)(Parameters...)>(find_symbol(library, name))) {
      if (call == nullptr) throw Error(ErrorKind::kNoLibrary, library.path + " has no " + name + ", which MPI has since version 3.1: use a newer library");
    }
    int (*call)(Parameters...);
  };
  template <class... Parameters>
  void call(const Function<Parameters...>& function, Parameters... parameters) {
    const int code = function.call(parameters...);
    if (code != 0) fail(code);
  }
  [[noreturn]] void fail(int code) {
    std::vector<char> text(8192);
    int length = 0;
    error_string_.call(code, text.data(), &length);
    throw Error(ErrorKind::kMpi, std::string(text.data(), static_cast<std::size_t>(length)), code);
  }
  static Handle in(MpiHandle handle) { return (Handle)(handle); }
  static MpiHandle out(Handle handle) { return static_cast<MpiHandle>((std::uintptr_t)(handle)); }
  static const void* from(const void* data) { return data == kInPlace ? Abi::in_place() : data; }
  static void* into(void* data) { return data == kInPlace ? Abi::in_place() : data; }
  static Handle* slot(MpiRequest& request) { return reinterpret_cast<Handle*>(&request.handle); }

 public:
  explicit MpiOf(const Library& library) : library_(library) {}

  const char* abi() const override { return Abi::kName; }
  std::string version() override {
    std::vector<char> text(8192);
    int length = 0;
    call(get_library_version_, text.data(), &length);
    const std::string whole(text.data());
    return whole.substr(0, whole.find('\n'));
  }
  void init() override {
    int is_started = 0;
    call(initialized_, &is_started);
    if (is_started != 0) throw Error(ErrorKind::kBusy, "another library of this process has started MPI, which one part of a process can use only");
    int level = -1;
    call(init_thread_, static_cast<int*>(nullptr), static_cast<char***>(nullptr), Abi::kSerialized, &level);
    call(set_errhandler_, Abi::world(library_), Abi::errors_return(library_));
    if (level < Abi::kSerialized) throw Error(ErrorKind::kMpi, "this MPI serves one thread only (no MPI_THREAD_SERIALIZED): use a library that was built with threads");
  }
  void finalize() override { call(finalize_); }
  void abort(int code) override { abort_.call(Abi::world(library_), code); }

  MpiHandle world() override { return out(Abi::world(library_)); }
  int rank(MpiHandle comm) override {
    int rank = 0;
    call(comm_rank_, in(comm), &rank);
    return rank;
  }
  int size(MpiHandle comm) override {
    int size = 0;
    call(comm_size_, in(comm), &size);
    return size;
  }
  MpiHandle host_comm() override {
    Handle host{};
    call(comm_split_type_, Abi::world(library_), Abi::kCommTypeShared, 0, Abi::no_info(library_), &host);
    return out(host);
  }
  void idup(MpiHandle comm, MpiHandle& made, MpiRequest& request) override {
    made = 0;
    call(comm_idup_, in(comm), reinterpret_cast<Handle*>(&made), slot(request));
  }
  MpiHandle split(MpiHandle comm, int color, int key) override {
    Handle made{};
    call(comm_split_, in(comm), color < 0 ? Abi::kUndefined : color, key, &made);
    return color < 0 ? 0 : out(made);
  }
  void free_comm(MpiHandle comm) override {
    Handle handle = in(comm);
    call(comm_free_, &handle);
  }

  MpiHandle type(MpiType type) override { return out(Abi::type(library_, type)); }
  MpiHandle op(MpiOp op) override { return out(Abi::op(library_, op)); }
  MpiHandle create_op(MpiFunction function) override {
    Handle made{};
    call(op_create_, function, 1, &made);
    return out(made);
  }

  void iall_reduce(const void* in_, void* out_, int count, MpiHandle type, MpiHandle op, MpiHandle comm, MpiRequest& request) override {
    call(iallreduce_, from(in_), out_, count, in(type), in(op), in(comm), slot(request));
  }
  void ireduce(const void* in_, void* out_, int count, MpiHandle type, MpiHandle op, int root, MpiHandle comm, MpiRequest& request) override {
    call(ireduce_, from(in_), out_, count, in(type), in(op), root, in(comm), slot(request));
  }
  void ibroadcast(void* data, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) override {
    call(ibcast_, data, count, in(type), root, in(comm), slot(request));
  }
  void iall_gather(const void* in_, void* out_, int count, MpiHandle type, MpiHandle comm, MpiRequest& request) override {
    call(iallgather_, from(in_), count, in(type), out_, count, in(type), in(comm), slot(request));
  }
  void igather(const void* in_, void* out_, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) override {
    call(igather_, from(in_), count, in(type), out_, count, in(type), root, in(comm), slot(request));
  }
  void iscatter(const void* in_, void* out_, int count, MpiHandle type, int root, MpiHandle comm, MpiRequest& request) override {
    call(iscatter_, in_, count, in(type), into(out_), count, in(type), root, in(comm), slot(request));
  }
  void ireduce_scatter(const void* in_, void* out_, int count, MpiHandle type, MpiHandle op, MpiHandle comm, MpiRequest& request) override {
    call(ireduce_scatter_block_, from(in_), out_, count, in(type), in(op), in(comm), slot(request));
  }
  void iall_to_all(const void* in_, void* out_, int count, MpiHandle type, MpiHandle comm, MpiRequest& request) override {
    call(ialltoall_, from(in_), count, in(type), out_, count, in(type), in(comm), slot(request));
  }
  void ibarrier(MpiHandle comm, MpiRequest& request) override { call(ibarrier_, in(comm), slot(request)); }

  void isend(const void* data, int bytes, int to, int tag, MpiHandle comm, MpiRequest& request) override {
    call(isend_, data, bytes, Abi::type(library_, MpiType::kByte), to, tag, in(comm), slot(request));
  }
  void ireceive(void* data, int bytes, int from, int tag, MpiHandle comm, MpiRequest& request) override {
    call(irecv_, data, bytes, Abi::type(library_, MpiType::kByte), from, tag, in(comm), slot(request));
  }
  bool iprobe(MpiHandle comm, Envelope& envelope) override {
    int has_come = 0;
    alignas(16) char status[kMostStatusBytes] = {};
    call(iprobe_, Abi::kAnySource, Abi::kAnyTag, in(comm), &has_come, static_cast<void*>(status));
    if (has_come == 0) return false;
    envelope.source = *reinterpret_cast<const int*>(status + Abi::kStatus.source);
    envelope.tag = *reinterpret_cast<const int*>(status + Abi::kStatus.tag);
    call(get_count_, static_cast<const void*>(status), Abi::type(library_, MpiType::kByte), &envelope.bytes);
    return true;
  }
  bool test(MpiRequest& request) override {
    int has_ended = 0;
    call(test_, slot(request), &has_ended, Abi::ignored_status());
    return has_ended != 0;
  }

 private:
  using In = const void*;
  const Library library_;
  const Function<int, char*, int*> error_string_{library_, "MPI_Error_string"};
  const Function<char*, int*> get_library_version_{library_, "MPI_Get_library_version"};
  const Function<int*> initialized_{library_, "MPI_Initialized"};
  const Function<int*, char***, int, int*> init_thread_{library_, "MPI_Init_thread"};
  const Function<> finalize_{library_, "MPI_Finalize"};
  const Function<Handle, int> abort_{library_, "MPI_Abort"};
  const Function<Handle, Handle> set_errhandler_{library_, "MPI_Comm_set_errhandler"};
  const Function<Handle, int*> comm_rank_{library_, "MPI_Comm_rank"};
  const Function<Handle, int*> comm_size_{library_, "MPI_Comm_size"};
  const Function<Handle, int, int, Handle, Handle*> comm_split_type_{library_, "MPI_Comm_split_type"};
  const Function<Handle, Handle*, Handle*> comm_idup_{library_, "MPI_Comm_idup"};
  const Function<Handle, int, int, Handle*> comm_split_{library_, "MPI_Comm_split"};
  const Function<Handle*> comm_free_{library_, "MPI_Comm_free"};
  const Function<MpiFunction, int, Handle*> op_create_{library_, "MPI_Op_create"};
  const Function<In, void*, int, Handle, Handle, Handle, Handle*> iallreduce_{library_, "MPI_Iallreduce"};
  const Function<In, void*, int, Handle, Handle, int, Handle, Handle*> ireduce_{library_, "MPI_Ireduce"};
  const Function<void*, int, Handle, int, Handle, Handle*> ibcast_{library_, "MPI_Ibcast"};
  const Function<In, int, Handle, void*, int, Handle, Handle, Handle*> iallgather_{library_, "MPI_Iallgather"};
  const Function<In, int, Handle, void*, int, Handle, int, Handle, Handle*> igather_{library_, "MPI_Igather"};
  const Function<In, int, Handle, void*, int, Handle, int, Handle, Handle*> iscatter_{library_, "MPI_Iscatter"};
  const Function<In, void*, int, Handle, Handle, Handle, Handle*> ireduce_scatter_block_{library_, "MPI_Ireduce_scatter_block"};
  const Function<In, int, Handle, void*, int, Handle, Handle, Handle*> ialltoall_{library_, "MPI_Ialltoall"};
  const Function<Handle, Handle*> ibarrier_{library_, "MPI_Ibarrier"};
  const Function<In, int, Handle, int, int, Handle, Handle*> isend_{library_, "MPI_Isend"};
  const Function<void*, int, Handle, int, int, Handle, Handle*> irecv_{library_, "MPI_Irecv"};
  const Function<int, int, Handle, int*, void*> iprobe_{library_, "MPI_Iprobe"};
  const Function<In, Handle, int*> get_count_{library_, "MPI_Get_count"};
  const Function<Handle*, int*, void*> test_{library_, "MPI_Test"};
};

}  // namespace coll
