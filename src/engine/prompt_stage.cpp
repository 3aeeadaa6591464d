#include "engine/prompt_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/codes.h"
#include "base/value_generator.h"

namespace dlo::engine {

namespace {

constexpr const char* kWhere = "requests.prompt_tokens";
constexpr platform::OpLabel kLabel{.site = platform::Site::kModel};

}  // namespace

Status check_prompt(const RequestSpec& requests, const model::TextGeometry& encoder) {
  const std::size_t count =
      requests.prompt_tokens.empty() ? requests.prompt_token_count : requests.prompt_tokens.size();
  if (count > requests.text_tokens) {
    return refuse(codes::kPromptInvalid,
                  fmt::format("the prompt has {} token ids, a request has {} rows of text states",
                              count, requests.text_tokens),
                  kWhere, "shorten the prompt or raise requests.text_tokens");
  }
  const auto unknown =
      std::find_if(requests.prompt_tokens.begin(), requests.prompt_tokens.end(),
                   [&](std::int64_t id) { return id < 0 || id >= encoder.vocabulary; });
  if (unknown != requests.prompt_tokens.end()) {
    return refuse(
        codes::kPromptInvalid,
        fmt::format("token id {} is outside the vocabulary of {}", *unknown, encoder.vocabulary),
        kWhere, "use the ids of the checkpoint's own tokenizer");
  }
  return {};
}

std::vector<std::int64_t> prompt_ids(const RequestSpec& requests, std::uint32_t request,
                                     const model::TextGeometry& encoder) {
  if (!requests.prompt_tokens.empty()) {
    return requests.prompt_tokens;
  }
  const ValueGenerator values(fmt::format("request {} prompt", request), requests.seed);
  std::vector<std::int64_t> ids;
  for (std::uint32_t i = 0; i < requests.prompt_token_count; ++i) {
    ids.push_back(
        static_cast<std::int64_t>(values.bits(i) % static_cast<std::uint64_t>(encoder.vocabulary)));
  }
  return ids;
}

Result<std::unique_ptr<PromptStage>> PromptStage::make(platform::Device& device,
                                                       model::TextEncoder& encoder,
                                                       const RequestSpec& requests,
                                                       const std::vector<Text>& texts) {
  std::unique_ptr<PromptStage> stage(new PromptStage(device, encoder, requests));
  for (const auto& text : texts) {
    const Shape rows = {1, requests.text_tokens};
    auto tokens = make_operand(device, rows, HostTwin::kPresent);
    if (!tokens.ok()) {
      return tokens.refusal();
    }
    auto mask = make_operand(device, rows, HostTwin::kPresent);
    if (!mask.ok()) {
      return mask.refusal();
    }
    Part part{text.whose, std::move(tokens).value(), std::move(mask).value(), {}};
    part.call = {part.tokens.tensor, part.mask.tensor, text.states};
    stage->parts_.push_back(std::move(part));
  }
  return stage;
}

void PromptStage::upload(const Part& part, const std::vector<std::int64_t>& ids) {
  const auto& geometry = encoder_.geometry();
  std::vector<float> tokens(requests_.text_tokens, static_cast<float>(geometry.pad_token));
  std::vector<float> mask(requests_.text_tokens, 0.0F);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    tokens[i] = static_cast<float>(ids[i]);
    mask[i] = 1.0F;
  }
  for (const auto& [operand, values] : {std::pair{&part.tokens, &tokens}, {&part.mask, &mask}}) {
    const ByteSpan host = operand->host->span();
    std::memcpy(host.data(), values->data(), host.size());
    device_.copy_to_device(platform::StreamKind::kCompute, operand->tensor.span, host, kLabel);
  }
}

void PromptStage::enqueue(std::uint32_t request) {
  const auto& geometry = encoder_.geometry();
  for (auto& part : parts_) {
    const bool own = part.whose == model::PromptOf::kRequest;
    upload(part, own ? prompt_ids(requests_, request, geometry)
                     : std::vector<std::int64_t>{geometry.end_token});
    encoder_.encode(device_, part.call);
  }
}

OperandBytes PromptStage::host_operand_bytes() const {
  OperandBytes bytes;
  for (const auto& part : parts_) {
    bytes.add(*part.tokens.host);
    bytes.add(*part.mask.host);
  }
  return bytes;
}

}  // namespace dlo::engine
