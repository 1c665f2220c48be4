#ifndef GRAINSCOPE_TESTS_GPU_MPS_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_MPS_FIXTURE_HPP

#include <memory>

#include "family_fixture.hpp"
#include "grainscope/system/mps.hpp"

namespace grainscope::harness {

// Tests of a fixture that has a machine, with a daemon of MPS of their own; skipped, with the reason, where
// none starts or its clients are none.
template <class Base>
class UnderMps : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (Base::IsSkipped()) {
      return;
    }
    request_.gpu = Base::machine_->find_gpu(0)->cuda->uuid;
    all_ = Base::machine_->find_gpu(0)->cuda->sm_count;
    try {
      daemon_ = std::make_unique<MpsDaemon>(request_);
      // A client that finds no daemon works all the same, with all of the GPU.
      if (sms_of_a_tenth() >= all_) {
        GTEST_SKIP() << "processes are no clients of MPS here";
      }
    } catch (const std::exception& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // What a client sees that was given a tenth of the multiprocessors.
  [[nodiscard]] virtual int sms_of_a_tenth() = 0;

  MpsRequest request_;
  std::unique_ptr<MpsDaemon> daemon_;
  int all_ = 0;
};

}  // namespace grainscope::harness

#endif
