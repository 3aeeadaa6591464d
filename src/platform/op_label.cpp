#include "platform/op_label.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace dlo::platform {

namespace {

constexpr std::array kNames = {
    std::pair{Site::kPlacement, std::string_view("placement")},
    std::pair{Site::kH2d, std::string_view("h2d")},
    std::pair{Site::kGather, std::string_view("gather")},
    std::pair{Site::kCompute, std::string_view("compute")},
    std::pair{Site::kModel, std::string_view("model")},
    std::pair{Site::kOutput, std::string_view("output")},
    std::pair{Site::kReadyRecord, std::string_view("ready_record")},
    std::pair{Site::kReadyWait, std::string_view("ready_wait")},
    std::pair{Site::kFreeRecord, std::string_view("free_record")},
    std::pair{Site::kFreeWait, std::string_view("free_wait")},
    std::pair{Site::kLandedRecord, std::string_view("landed_record")},
    std::pair{Site::kLandedWait, std::string_view("landed_wait")},
    std::pair{Site::kInputFreeRecord, std::string_view("input_free_record")},
    std::pair{Site::kInputFreeWait, std::string_view("input_free_wait")},
    std::pair{Site::kPack, std::string_view("pack")},
    std::pair{Site::kPackedRecord, std::string_view("packed_record")},
    std::pair{Site::kPackedWait, std::string_view("packed_wait")},
    std::pair{Site::kStagingFreeRecord, std::string_view("staging_free_record")},
    std::pair{Site::kStagingFreeWait, std::string_view("staging_free_wait")},
    std::pair{Site::kGatherStaging, std::string_view("gather_staging")},
    std::pair{Site::kDrain, std::string_view("drain")},
};

void append_part(std::string& text, std::string_view name, std::int32_t value) {
  if (value >= 0) {
    text += " " + std::string(name) + " " + std::to_string(value);
  }
}

}  // namespace

std::string_view site_name(Site site) {
  for (const auto& [known, name] : kNames) {
    if (known == site) {
      return name;
    }
  }
  throw LogicError("site without a name");
}

std::string label_text(const OpLabel& label) {
  std::string text(site_name(label.site));
  append_part(text, "ring", label.ring);
  append_part(text, "block", label.block);
  append_part(text, "slot", label.slot);
  append_part(text, "chunk", label.chunk);
  return text;
}

}  // namespace dlo::platform
