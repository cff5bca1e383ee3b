#pragma once

#include "mpi_of.h"

namespace coll {

// Open MPI's non-blocking all-reduce sends long buffers as a whole to one rank and back, unless its variable names another
// algorithm. This class sets the variable according to the size of the buffer, unless the user has set it.
class OpenMpi : public MpiOf<OpenMpiAbi> {
 public:
  explicit OpenMpi(const Library& library);

  void init() override;
  void finalize() override;
  void prepare_all_reduce(std::size_t bytes) override;

 private:
  // Functions of MPI's tools interface, null if the library lacks one. A handle is a pointer, a result of 0 means success.
  struct Tools {
    int (*init)(int required, int* provided);
    int (*finalize)();
    int (*index_of)(const char* name, int* index);
    int (*open)(int index, void* object, void** handle, int* count);
    int (*close)(void** handle);
    int (*read)(void* handle, void* value);
    int (*write)(void* handle, const void* value);
  };

  bool is_complete() const;
  void close_variable();

  Tools tools_;
  bool has_tools_ = false;
  // The variable; null if it must not be set.
  void* variable_ = nullptr;
  int algorithm_ = 0;
};

}  // namespace coll
