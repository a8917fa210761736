// Both models, on both instruction sets: gradients against finite differences, allocations, and
// that results do not depend on where memory lies.
#include "examples/fashion_mnist/model.hpp"

#include <cmath>
#include <cstdlib>
#include <new>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/fashion_mnist/sampler.hpp"

// The linker sends the program's own calls here (-Wl,--wrap).
static std::size_t allocations = 0;
extern "C" {
void* __real_malloc(std::size_t size);
void* __wrap_malloc(std::size_t size) {
  ++allocations;
  return __real_malloc(size);
}
void* __real__Znwm(std::size_t size);
void* __wrap__Znwm(std::size_t size) {
  ++allocations;
  return __real__Znwm(size);
}
void* __real__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment);
void* __wrap__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  return __real__ZnwmSt11align_val_t(size, alignment);
}
}

namespace tidegate::examples {
namespace {

float draw(splitmix64& random) {  // in [-1, 1)
  return static_cast<float>(random.next() >> 40) / static_cast<float>(1 << 23) - 1.0F;
}

struct batch {
  std::vector<float> inputs;
  std::vector<std::uint8_t> labels;
};

batch make_batch(std::uint32_t rows, std::uint32_t pixels, std::uint32_t classes) {
  splitmix64 random(11);
  batch result;
  for (std::uint32_t i = 0; i < rows * pixels; ++i) result.inputs.push_back(draw(random));
  for (std::uint32_t i = 0; i < rows; ++i) {
    result.labels.push_back(static_cast<std::uint8_t>(random.below(classes)));
  }
  return result;
}

using tensors = std::vector<float_buffer>;

// One per tensor of the model.
tensors make_tensors(const model& m) {
  tensors result;
  for (const auto& tensor : m.tensors()) result.emplace_back(tensor.size);
  return result;
}

std::vector<std::span<float>> spans(tensors& all) {
  std::vector<std::span<float>> result;
  for (auto& buffer : all) result.push_back(buffer.span());
  return result;
}

// Parameters that the model reads.
tensors give_parameters(model& m, float scale) {
  auto result = make_tensors(m);
  splitmix64 random(12);
  for (std::size_t t = 0; t < result.size(); ++t) {
    for (auto& x : result[t].span()) x = scale * draw(random);
    m.use(t, result[t].span());
  }
  return result;
}

class model_test : public testing::TestWithParam<simd_level> {
 protected:
  void SetUp() override {
    auto selected = select_kernels(GetParam());
    if (!selected) GTEST_SKIP() << selected.error().message();
    kernels_ = *selected;
  }
  dense_kernels kernels_;
};

TEST_P(model_test, names_and_shapes_are_those_of_the_yaml_files) {
  const model m(mlp_widths(), 1, kernels_);
  ASSERT_EQ(m.tensors().size(), 6U);
  EXPECT_EQ(m.tensors()[0].name, "fc1.weight");
  EXPECT_THAT(m.tensors()[0].shape, testing::ElementsAre(256, 784));
  EXPECT_EQ(m.tensors()[0].size, 256U * 784U);
  EXPECT_EQ(m.tensors()[5].name, "fc3.bias");
  EXPECT_THAT(m.tensors()[5].shape, testing::ElementsAre(10));
}

TEST_P(model_test, untrained_softmax_is_undecided) {
  model m(softmax_widths(), 8, kernels_);
  const auto zeros = give_parameters(m, 0);
  const batch data = make_batch(8, 784, 10);
  EXPECT_NEAR(m.evaluate(data.inputs, data.labels).loss / 8, std::log(10.0), 1e-6);
}

// The mean loss with tensor `t`, element `i` moved by `by`.
double loss_moved(model& m, tensors& all, const batch& data, std::size_t t, std::size_t i,
                  float by) {
  auto parameters = all[t].span();
  const float before = parameters[i];
  parameters[i] = before + by;
  const double loss = m.evaluate(data.inputs, data.labels).loss;
  parameters[i] = before;
  return loss / static_cast<double>(data.labels.size());
}

// Differences of a float32 loss: with this step rounding and curvature both stay below the
// tolerance. Where a ReLU switches within the step there is no derivative to compare with; the
// slopes to the left and to the right then differ, and the element is passed over.
void expect_gradients_match(model& m, tensors& parameters, const batch& data) {
  auto gradients = make_tensors(m);
  m.gradients(data.inputs, data.labels, spans(gradients));
  constexpr float step = 1.0F / 1024;
  constexpr double tolerance = 1e-3;
  const double here = loss_moved(m, parameters, data, 0, 0, 0.0F);
  std::size_t checked = 0;
  std::size_t elements = 0;
  double largest = 0;
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    const auto gradient = gradients[t].span();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double right = (loss_moved(m, parameters, data, t, i, step) - here) / double{step};
      const double left = (here - loss_moved(m, parameters, data, t, i, -step)) / double{step};
      ++elements;
      if (std::abs(right - left) > tolerance) continue;
      ++checked;
      EXPECT_NEAR((left + right) / 2, gradient[i], tolerance)
          << m.tensors()[t].name << " " << i;
      largest = std::max(largest, std::abs(right));
    }
  }
  EXPECT_GT(largest, 50 * tolerance) << "the check has nothing to compare";
  EXPECT_GT(checked * 10, elements * 7) << "too few elements without a switch";
}

TEST_P(model_test, softmax_gradient_matches_finite_differences) {
  model m({20, 5}, 16, kernels_);
  auto parameters = give_parameters(m, 0.5F);
  expect_gradients_match(m, parameters, make_batch(16, 20, 5));
}

TEST_P(model_test, mlp_gradient_matches_finite_differences) {
  model m({20, 12, 9, 5}, 16, kernels_);
  auto parameters = give_parameters(m, 0.5F);
  expect_gradients_match(m, parameters, make_batch(16, 20, 5));
}

TEST_P(model_test, wide_layers_match_a_naive_product) {
  // Beyond Eigen's small-matrix path, with sizes that are no multiple of a vector.
  const dense_shape shape{.rows = 33, .in = 131, .out = 67};
  splitmix64 random(5);
  std::vector<float> input(33 * 131), weight(67 * 131), bias(67), output(33 * 67);
  for (auto* v : {&input, &weight, &bias}) {
    for (auto& x : *v) x = draw(random);
  }
  kernels_.forward(shape, input.data(), weight.data(), bias.data(), true, output.data());
  for (std::size_t row = 0; row < 33; ++row) {
    for (std::size_t o = 0; o < 67; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < 131; ++i) {
        sum += double{input[row * 131 + i]} * double{weight[o * 131 + i]};
      }
      ASSERT_NEAR(output[row * 67 + o], std::max(sum, 0.0), 1e-4) << row << ", " << o;
    }
  }
}

TEST_P(model_test, a_step_does_not_allocate) {
  model m(mlp_widths(), 64, kernels_);
  const auto parameters = give_parameters(m, 0.05F);
  auto gradients = make_tensors(m);
  const auto out = spans(gradients);
  const batch data = make_batch(64, 784, 10);
  m.gradients(data.inputs, data.labels, out);
  const auto before = allocations;
  m.gradients(data.inputs, data.labels, out);
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_GT(before, 0U) << "the counter is not linked in";
}

TEST_P(model_test, bits_do_not_depend_on_addresses) {
  model m(mlp_widths(), 32, kernels_);
  const auto parameters = give_parameters(m, 0.05F);
  const batch data = make_batch(32, 784, 10);
  auto first = make_tensors(m);
  auto second = make_tensors(m);
  m.gradients(data.inputs, data.labels, spans(first));
  std::vector<float> moved(data.inputs.size() + 16);
  for (std::size_t offset = 1; offset < 9; offset += 3) {
    std::copy(data.inputs.begin(), data.inputs.end(), moved.begin() + offset);
    m.gradients({moved.data() + offset, data.inputs.size()}, data.labels, spans(second));
    for (std::size_t t = 0; t < first.size(); ++t) {
      ASSERT_TRUE(std::ranges::equal(first[t].span(), second[t].span())) << offset << ", " << t;
    }
  }
}

TEST_P(model_test, not_a_number_is_not_hidden) {
  model m({20, 12, 5}, 4, kernels_);
  const auto parameters = give_parameters(m, 0.5F);
  batch data = make_batch(4, 20, 5);
  data.inputs[3] = std::nanf("");
  auto gradients = make_tensors(m);
  m.gradients(data.inputs, data.labels, spans(gradients));
  EXPECT_TRUE(std::ranges::any_of(gradients[0].span(), [](float x) { return std::isnan(x); }));
}

INSTANTIATE_TEST_SUITE_P(simd, model_test,
                         testing::Values(simd_level::baseline, simd_level::v3),
                         [](const auto& p) {
                           return p.param == simd_level::v3 ? "v3" : "baseline";
                         });

}  // namespace
}  // namespace tidegate::examples
