#include "comm/communicator.h"

#include <fmt/format.h>

#include "base/json.h"

namespace dlo::comm {

namespace {

std::string encode(const Status& status) {
  if (status.ok()) {
    return "ok";
  }
  const auto& refusal = status.refusal();
  return nlohmann::json{{"code", refusal.code},
                        {"what", refusal.what},
                        {"where", refusal.where},
                        {"action", refusal.action}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Refusal decode(const std::string& text, std::size_t rank) {
  const auto json = nlohmann::json::parse(text);
  return Refusal{json.at("code"), json.at("what"),
                 fmt::format("group rank {}: {}", rank, json.at("where").get<std::string>()),
                 json.at("action")};
}

}  // namespace

Status vote(ControlGroup& group, std::string_view operation, const Status& mine,
            Deadline deadline) {
  auto votes = group.exchange(operation, encode(mine), deadline);
  if (!votes.ok()) {
    return votes.refusal();
  }
  for (std::size_t rank = 0; rank < votes->size(); ++rank) {
    if ((*votes)[rank] != "ok") {
      return decode((*votes)[rank], rank);
    }
  }
  return {};
}

Status agree(ControlGroup& group, std::string_view operation, std::string_view text,
             std::string_view mismatch_code, Deadline deadline) {
  auto texts = group.exchange(operation, text, deadline);
  if (!texts.ok()) {
    return texts.refusal();
  }
  for (std::size_t rank = 1; rank < texts->size(); ++rank) {
    if ((*texts)[rank] != texts->front()) {
      return refuse(mismatch_code,
                    fmt::format("ranks differ in their {}: '{}' on rank 0, '{}' on rank {}",
                                operation, texts->front(), (*texts)[rank], rank),
                    std::string(operation), "start every rank with the same binary and arguments");
    }
  }
  return {};
}

}  // namespace dlo::comm
