#include <gtest/gtest.h>

#include <cstdlib>

#include "../error.h"
#include "../libraries/library.h"
#include "../libraries/mpi.h"
#include "ranks.h"

namespace coll::test {
namespace {

std::string refusal_of(const std::string& file) {
  try {
    find_mpi_library(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNoLibrary);
    return error.what();
  }
  return "";
}

// Runs in processes of its own, because a library that has been opened stays open.
TEST(Search, aFileThatIsNotThereIsNamed) {
  EXPECT_EQ(in_ranks(1, [] {
    const std::string message = refusal_of("/nowhere/libmpi.so");
    return message.find("COLL_MPI_LIB=/nowhere/libmpi.so is not an MPI library: ") == 0;
  }), "");
}

TEST(Search, aLibraryWithoutMpiIsRefused) {
  EXPECT_EQ(in_ranks(1, [] { return refusal_of("libm.so.6") == "COLL_MPI_LIB=libm.so.6 is not an MPI library: it has no MPI_Init_thread"; }), "");
}

TEST(Search, aLoadedLibraryIsPreferred) {
  EXPECT_EQ(in_ranks(1, [] {
    const Library named = find_mpi_library(COLL_MPI_DOUBLE);
    const Library found = find_mpi_library("");
    return named.how == "COLL_MPI_LIB names it" && found.how == "the process had loaded it" && found.path == named.path;
  }), "");
}

TEST(Search, theStandardInterfaceIsRecognised) {
  EXPECT_EQ(in_ranks(1, [] { return std::string(open_mpi(find_mpi_library(COLL_MPI_DOUBLE))->abi()) == "MPI 5.0"; }), "");
}

TEST(Search, variablesOfUcxAreSetUnlessTheUserHasSetThem) {
  EXPECT_EQ(in_ranks(1, [] {
    unsetenv("UCX_ERROR_SIGNALS");
    setenv("UCX_MEM_EVENTS", "y", 1);
    find_mpi_library(COLL_MPI_DOUBLE);
    return std::string(std::getenv("UCX_ERROR_SIGNALS")).empty() && std::string(std::getenv("UCX_MEM_EVENTS")) == "y";
  }), "");
}

}  // namespace
}  // namespace coll::test
