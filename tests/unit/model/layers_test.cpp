// Goal: in BF16 the shared layers compute in fp32 where they say so and round once, whichever
// kernels they take. Method: seeded BF16 operands; the same layer in F32 on the same values,
// rounded at the end, is the reference.

#include "model/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <string>

#include "base/value_generator.h"
#include "model/wan/wan_rope.h"

namespace dlo::model {
namespace {

// Of a value near 1: half of BF16's spacing, and a little for another order of fp32 sums.
constexpr double kOneRounding = 1.05 / 256;

at::Tensor noise(const std::string& name, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  ValueGenerator(name, 7).fill_normal({static_cast<std::byte*>(out.data_ptr()), out.nbytes()},
                                      DType::kF32, 0, 0.0F, 1.0F);
  return out.to(at::kBFloat16).to(at::kFloat);  // exact in both dtypes
}

at::Tensor narrow(const at::Tensor& tensor) {
  return tensor.to(at::kBFloat16);
}

void expect_one_rounding(const at::Tensor& bf16, const at::Tensor& reference) {
  ASSERT_EQ(bf16.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::allclose(widen(bf16), reference, kOneRounding, 1e-6))
      << (widen(bf16) - reference).abs().max().item<float>();
}

class Bf16Layers : public testing::Test {
 private:
  c10::InferenceMode guard_;
};

TEST_F(Bf16Layers, ModulatedNorm_OneRowForAllOrOneAToken_RoundsOnce) {
  const at::Tensor input = noise("input", {1, 5, 24});
  const at::Tensor shift = noise("shift", {1, 1, 24});
  const at::Tensor scale = noise("scale", {1, 1, 24});
  const at::Tensor reference = modulated_norm(input, {shift, scale}, 1e-6);
  const at::Tensor shared = modulated_norm(narrow(input), {shift, scale}, 1e-6);
  const at::Tensor each = modulated_norm(
      narrow(input), {shift.expand({1, 5, 24}).contiguous(), scale.expand({1, 5, 24}).contiguous()},
      1e-6);
  expect_one_rounding(shared, reference);
  expect_one_rounding(each, reference);
}

TEST_F(Bf16Layers, AddGated_RoundsOnceAndWritesIntoTheResidual) {
  const at::Tensor residual = noise("residual", {2, 5, 24});
  const at::Tensor update = noise("update", {2, 5, 24});
  const at::Tensor gate = noise("gate", {2, 1, 24}) / 3;  // no BF16 value
  const at::Tensor narrow_residual = narrow(residual);
  const at::Tensor out = add_gated(narrow_residual, narrow(update), gate);
  EXPECT_EQ(out.const_data_ptr(), narrow_residual.const_data_ptr());
  expect_one_rounding(out, add_gated(residual, update, gate));
}

TEST_F(Bf16Layers, NormsWithGains_RoundTheirResult) {
  const at::Tensor input = noise("input", {2, 5, 24});
  const at::Tensor gain = noise("gain", {24});
  const at::Tensor bias = noise("bias", {24});
  expect_one_rounding(rms_norm(narrow(input), narrow(gain), 1e-6), rms_norm(input, gain, 1e-6));
  expect_one_rounding(layer_norm(narrow(input), {gain, bias}, 1e-6),
                      layer_norm(input, {gain, bias}, 1e-6));
}

TEST_F(Bf16Layers, Rotation_RoundsOnceAndLeavesItsInput) {
  WanConfig config;
  config.attention_head_dim = 12;
  const RopeTables rope = make_wan_rope(config, {3, 2, 5});
  const at::Tensor input = noise("input", {2, 30, 2, 12});
  const at::Tensor narrow_input = narrow(input);
  expect_one_rounding(apply_rope(narrow_input, rope), apply_rope(input, rope));
  EXPECT_TRUE(widen(narrow_input).equal(input));
}

TEST_F(Bf16Layers, Attention_EitherBackend_IsCloseToF32) {
  const at::Tensor query = noise("query", {2, 9, 2, 12});
  const at::Tensor key = noise("key", {2, 7, 2, 12});
  const at::Tensor value = noise("value", {2, 7, 2, 12});
  const at::Tensor reference = attention(query, key, value, {});
  expect_one_rounding(attention(narrow(query), narrow(key), narrow(value), {}), reference);
  const at::Tensor fused =
      attention(narrow(query), narrow(key), narrow(value), {.backend = AttentionBackend::kFused});
  ASSERT_EQ(fused.scalar_type(), at::kBFloat16);
  EXPECT_EQ(fused.sizes(), reference.sizes());
  // Its probabilities are BF16, so each of seven terms is rounded before the sum.
  EXPECT_TRUE(at::allclose(widen(fused), reference, 0.0, 0.02));
}

TEST_F(Bf16Layers, Linear_ConvertsWeightsOfAnotherDtype) {
  const at::Tensor input = noise("input", {2, 5, 24});
  const at::Tensor weight = noise("weight", {8, 24});
  const at::Tensor bias = noise("bias", {8});
  const at::Tensor out = linear(narrow(input), {weight, bias});
  ASSERT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(out.equal(linear(narrow(input), {narrow(weight), narrow(bias)})));
  EXPECT_EQ(linear(input, {narrow(weight), bias}).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace dlo::model
