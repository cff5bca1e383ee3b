#include <dlfcn.h>

#include "gpus.h"

namespace coll::test {
namespace {

// Finds a function of the virtual-memory API, which other libraries call, but not the addon.
template <class Function>
Function* driver_call(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen(COLL_CUDA_DOUBLE, RTLD_NOW | RTLD_NOLOAD), name));
}

struct Properties {
  int type = 1;
  int handle_types = 0;
  cuda::Location location;
};

// Memory like PyTorch's expandable segments: consecutive mappings of one device each, with address
// space for more.
class Segment {
 public:
  static constexpr std::size_t kMapping = 4096;

  explicit Segment(const std::vector<int>& devices) : mappings_(devices.size()) {
    driver_call<cuda::Result(cuda::Pointer*, std::size_t, std::size_t, cuda::Pointer, unsigned long long)>("cuMemAddressReserve")(&begin, bytes(), 0, 0, 0);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      unsigned long long handle = 0;
      const Properties properties{1, 0, {cuda::kLocationDevice, devices[i]}};
      driver_call<cuda::Result(unsigned long long*, std::size_t, const Properties*, unsigned long long)>("cuMemCreate")(&handle, kMapping, &properties, 0);
      driver_call<cuda::Result(cuda::Pointer, std::size_t, std::size_t, unsigned long long, unsigned long long)>("cuMemMap")(begin + i * kMapping, kMapping, 0, handle, 0);
    }
    open_to(devices[0]);
  }
  ~Segment() {
    for (std::size_t i = 0; i < mappings_; ++i) driver_call<cuda::Result(cuda::Pointer, std::size_t)>("cuMemUnmap")(begin + i * kMapping, kMapping);
    driver_call<cuda::Result(cuda::Pointer, std::size_t)>("cuMemAddressFree")(begin, bytes());
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void open_to(int device) const {
    const cuda::Access access{{cuda::kLocationDevice, device}, cuda::kReadAndWrite};
    driver_call<cuda::Result(cuda::Pointer, std::size_t, const cuda::Access*, std::size_t)>("cuMemSetAccess")(begin, mappings_ * kMapping, &access, 1);
  }

  cuda::Pointer begin = 0;

 private:
  std::size_t bytes() const { return (mappings_ + 1) * kMapping; }

  std::size_t mappings_;
};

SharedAllocation adopted(int device, cuda::Pointer pointer, std::size_t bytes, std::optional<Failure>* failure = nullptr) {
  SharedAllocation made = gpus().new_allocation(device, bytes, false);
  const std::optional<Failure> found = run(adopt_pointer(gpus(), made, pointer));
  if (failure != nullptr) *failure = found;
  else EXPECT_FALSE(found) << found->message;
  return made;
}

TEST(Mappings, foreignMemoryMaySpanSeveralMappings) {
  const Segment segment({1, 1, 1});
  const std::vector<int> numbers(2 * Segment::kMapping / sizeof(int), 7);
  const SharedAllocation inside = adopted(1, segment.begin + Segment::kMapping / 2, 2 * Segment::kMapping);
  write(inside, numbers.data(), inside->bytes);
  EXPECT_EQ(values_of<int>(inside), numbers);
}

TEST(Mappings, foreignMemoryEndsAtAnUnmappedRangeOrAnotherGpu) {
  const Segment segment({1, 1, 0});
  std::optional<Failure> failure;
  adopted(1, segment.begin + 4, 2 * Segment::kMapping, &failure);
  expect_kind(failure, FailureKind::kInvalidArgument);
  EXPECT_EQ(failure->message, "the pointer has 8188 bytes up to the end of its allocation, not 8192");
  adopted(0, segment.begin + 2 * Segment::kMapping, Segment::kMapping + 1, &failure);
  expect_kind(failure, FailureKind::kInvalidArgument);
  adopted(0, segment.begin + 3 * Segment::kMapping, 1, &failure);
  expect_kind(failure, FailureKind::kInvalidArgument);
}

TEST(Mappings, aCollectiveNeedsAccessForAllGpusOfTheProcess) {
  const Segment segment({0});
  const std::shared_ptr<Clique> clique = open_all(2);
  const SharedAllocation own = adopted(0, segment.begin, 16);
  EXPECT_FALSE(run(fill_buffer(gpus(), {own, 0}, 16, {0})));
  const std::vector<SharedAllocation> buffers = {own, allocate_with<float>(1, {1, 2, 3, 4})};
  const std::optional<Failure> refused = run(all_reduce(clique, buffers));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, FailureKind::kInvalidArgument);
  EXPECT_NE(refused->message.find("like PyTorch's expandable segments, and GPU 1 of this process has no access to it"), std::string::npos) << refused->message;
  EXPECT_NE(refused->message.find("cuMemSetAccess"), std::string::npos);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 1);
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  unsetenv("NCCL_P2P_DIRECT_DISABLE");
  segment.open_to(1);
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  EXPECT_EQ(values_of<float>(own), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(Mappings, aCollectiveOfOneGpuNeedsNoAccessForOtherGpus) {
  const Segment segment({0});
  const std::shared_ptr<Clique> clique = open_all(1);
  EXPECT_FALSE(run(all_reduce(clique, {adopted(0, segment.begin, 16)})));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

}  // namespace
}  // namespace coll::test
