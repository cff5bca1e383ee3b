#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "gpus.h"

namespace coll::test {
namespace {

namespace fs = std::filesystem;

// A folder in the role of a machine's root, with copies of the double as NCCL.
class Search : public testing::Test {
 protected:
  Search() {
    here_.home = folder("home");
    here_.folder = folder("project");
    here_.prefixes = {folder("usr/local"), folder("usr")};
  }
  ~Search() override { fs::remove_all(root_); }

  std::string folder(const std::string& name) const {
    fs::create_directories(root_ / name);
    return root_ / name;
  }

  std::string install(const std::string& place) const {
    const fs::path file = root_ / place / "libnccl.so.2";
    fs::create_directories(file.parent_path());
    fs::copy_file(COLL_NCCL_DOUBLE, file);
    return file;
  }

  // The library that is found, or the message of the refusal.
  std::string found(const nccl::Choice& choice = {}) const {
    try {
      return nccl::open_nccl(choice, here_).library.path;
    } catch (const Error& error) {
      EXPECT_EQ(error.failure().kind, FailureKind::kNoLibrary);
      return error.what();
    }
  }

  nccl::Surroundings here_;

 private:
  static fs::path fresh_folder() {
    std::string name = fs::temp_directory_path() / "coll-search-XXXXXX";
    return fs::canonical(mkdtemp(name.data()));
  }

  const fs::path root_ = fresh_folder();
};

void expect_part(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST_F(Search, prefersActiveEnvironmentsThenUserThenSystemThenProjectPackages) {
  here_.virtual_environment = folder("active");
  here_.conda = folder("conda [old]");
  const std::vector<std::string> places = {
      "active/lib/python3.11/site-packages/nvidia/nccl/lib",
      "conda [old]/lib",
      "home/.local/lib/python3.12/site-packages/nvidia/nccl/lib",
      "usr/local/lib64/python3.9/site-packages/nvidia/nccl/lib",
      "usr/local/lib/python3.10/dist-packages/nvidia/nccl/lib",
      "usr/lib/python3/dist-packages/nvidia/nccl/lib",
      "project/.venv/lib/python3.13/site-packages/nvidia/nccl/lib",
      "project/venv/lib/python3.13/site-packages/nvidia/nccl/lib",
  };
  std::vector<std::string> files;
  for (const std::string& place : places) files.push_back(install(place));
  for (const std::string& file : files) {
    EXPECT_EQ(found(), file);
    fs::remove(file);
  }
}

TEST_F(Search, reportsTheSearchedPlaces) {
  here_.virtual_environment = folder("active");
  const std::string message = found();
  expect_part(message, "NCCL is not installed: libnccl.so.2: cannot open shared object file");
  for (const std::string& place : {folder("active"), here_.home + "/.local", here_.prefixes[0], here_.prefixes[1], here_.folder + "/.venv", here_.folder + "/venv"}) {
    expect_part(message, "none in " + place + ";");
  }
  expect_part(message, "install libnccl2 or the Python package nvidia-nccl-cu12, or set COLL_NCCL_LIBRARY to the library or its folder");
}

TEST_F(Search, usesOnlyTheRequestedFileOrFolder) {
  install("usr/lib");
  const std::string file = install("mine/lib/python3.12/site-packages/nvidia/nccl/lib");
  const std::string environment = folder("mine");
  const std::string packages = environment + "/lib/python3.12/site-packages";
  for (const std::string& named : {file, environment, packages, packages + "/nvidia/nccl/lib"}) {
    EXPECT_EQ(found({"", named}), file);
    EXPECT_EQ(found({named, "/nowhere"}), file);
  }
  expect_part(found({"", "/nowhere/libnccl.so.2"}), "cannot open the NCCL library given by libraryPath: /nowhere/libnccl.so.2: cannot open shared object file");
  expect_part(found({folder("empty"), ""}), "COLL_NCCL_LIBRARY is the folder " + folder("empty") + ", which has no libnccl.so.2; searched the folder itself, lib, nvidia/nccl/lib");
}

TEST_F(Search, reportsALibraryThatIsNotNccl) {
  expect_part(found({"", "libm.so.6"}), "libm.so.6 is not an NCCL library: it has no ncclGetVersion");
}

TEST_F(Search, loadsNoUnrequestedLibraryThatAnotherUserCanWrite) {
  const std::string file = install("project/.venv/lib/python3.13/site-packages/nvidia/nccl/lib");
  EXPECT_EQ(found(), file);
  const std::string environment = here_.folder + "/.venv";
  ASSERT_EQ(chmod(environment.c_str(), 0777), 0);
  expect_part(found(), file + " is not loaded unless requested, because any user can write to " + environment + ";");
  EXPECT_EQ(found({environment, ""}), file);
  // In a folder where only owners may replace files, like /tmp, other users cannot.
  ASSERT_EQ(chmod(environment.c_str(), 01777), 0);
  EXPECT_EQ(found(), file);
  // Only root can give a file away.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
    expect_part(found(), "because " + file + " belongs to another user;");
    ASSERT_EQ(chown(file.c_str(), geteuid(), 12345), 0);
    EXPECT_EQ(found(), file);
    ASSERT_EQ(chmod(file.c_str(), 0664), 0);
    expect_part(found(), "because another group can write to " + file + ";");
  }
}

TEST_F(Search, skipsBrokenLinks) {
  const std::string link = folder("project/.venv/lib") + "/libnccl.so.2";
  fs::create_symlink("/nowhere/libnccl.so.2", link);
  expect_part(found(), link + " is a broken link;");
  const std::string file = install("project/venv/lib");
  EXPECT_EQ(found(), file);
}

TEST_F(Search, detectsWhetherTheOpenLibraryIsTheRequestedLibrary) {
  const std::string file = install("mine/lib");
  const Library opened = nccl::open_nccl({file, ""}, here_).library;
  EXPECT_TRUE(nccl::is_named_by(opened, folder("mine")));
  EXPECT_TRUE(nccl::is_named_by(opened, file));
  EXPECT_FALSE(nccl::is_named_by(opened, install("other/lib")));
  EXPECT_FALSE(nccl::is_named_by(opened, "/nowhere"));
  EXPECT_NO_THROW(open_libraries({"", {"", COLL_NCCL_DOUBLE}, ""}));
  EXPECT_THROW(open_libraries({"", {"", file}, ""}), Error);
}

}  // namespace
}  // namespace coll::test
