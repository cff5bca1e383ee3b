#include "task.h"

#include <utility>

#include "../error.h"
#include "engine.h"

namespace coll {
namespace {

class Starting : public Task {
 public:
  explicit Starting(Settle settle) : settle_(std::move(settle)) {}
  MpiHandle comm(Engine&) const override { return 0; }
  bool step(Engine& engine) override {
    engine.start();
    return true;
  }
  void settle(const Error* error) override { settle_(error); }

 private:
  Settle settle_;
};

class Finalizing : public Task {
 public:
  explicit Finalizing(Settle settle) : settle_(std::move(settle)) {}
  MpiHandle comm(Engine&) const override { return 0; }
  bool step(Engine& engine) override {
    engine.finalize();
    return true;
  }
  void settle(const Error* error) override { settle_(error); }

 private:
  Settle settle_;
};

// Duplicates a communicator three times; a split first waits for all ranks, then splits it.
class Grouping : public Task {
 public:
  Grouping(std::shared_ptr<Group> parent, int color, int key, SettleGroup settle)
      : parent_(std::move(parent)), color_(color), key_(key), settle_(std::move(settle)) {}

  MpiHandle comm(Engine& engine) const override { return parent_ ? parent_->comms().check : engine.mpi().world(); }

  bool step(Engine& engine) override {
    Mpi& mpi = engine.mpi();
    if (stage_ == Stage::kNew) {
      if (parent_) {
        mpi.ibarrier(parent_->comms().check, request_);
        stage_ = Stage::kMeeting;
      } else {
        base_ = mpi.world();
        duplicate(mpi);
      }
    }
    if (!mpi.test(request_)) return false;
    if (stage_ == Stage::kMeeting) {
      // MPI has no split that does not block, but at this point all ranks are ready for it.
      base_ = mpi.split(parent_->comms().check, color_, key_);
      if (color_ < 0) return true;
      owned_ = base_;
      made_[count_++] = base_;
      duplicate(mpi);
      return false;
    }
    ++count_;
    if (count_ < 3) {
      duplicate(mpi);
      return false;
    }
    group_ = std::make_shared<Group>(mpi, engine.types(), Comms{made_[0], made_[1], made_[2]}, mpi.rank(base_), mpi.size(base_));
    engine.add(group_);
    return true;
  }

  void settle(const Error* error) override { settle_(group_, error); }

 private:
  enum class Stage { kNew, kMeeting, kDuplicating };

  void duplicate(Mpi& mpi) {
    stage_ = Stage::kDuplicating;
    mpi.idup(base_, made_[count_], request_);
  }

  std::shared_ptr<Group> parent_;
  int color_;
  int key_;
  SettleGroup settle_;
  Stage stage_ = Stage::kNew;
  MpiHandle base_ = 0;
  MpiHandle owned_ = 0;
  MpiHandle made_[3] = {};
  int count_ = 0;
  MpiRequest request_{};
  std::shared_ptr<Group> group_;
};

}  // namespace

std::unique_ptr<Task> starting(Settle settle) { return std::make_unique<Starting>(std::move(settle)); }
std::unique_ptr<Task> finalizing(Settle settle) { return std::make_unique<Finalizing>(std::move(settle)); }
std::unique_ptr<Task> opening(SettleGroup settle) { return std::make_unique<Grouping>(nullptr, 0, 0, std::move(settle)); }
std::unique_ptr<Task> splitting(std::shared_ptr<Group> group, int color, int key, SettleGroup settle) {
  return std::make_unique<Grouping>(std::move(group), color, key, std::move(settle));
}

}  // namespace coll
