// Owns: the stable code strings of refusals, downgrades and failures, one constant each.
// Must not own: their messages (those are built where the fact is known) or their handling. A new
// code gets its meaning in base/code_list.cpp in the same change: a test asks for it.
// A code, once released, never changes its spelling: scenarios, CI gates and users compare it.
// Configuration rules carry their own codes (CFG-nn) in the rule table of config/.
#pragma once

#include <string_view>

namespace dlo::codes {

// Files and checkpoints.
inline constexpr std::string_view kFileNotFound = "file_not_found";
inline constexpr std::string_view kFileUnreadable = "file_unreadable";
inline constexpr std::string_view kFileUnwritable = "file_unwritable";
inline constexpr std::string_view kMappingTruncated = "mapping_truncated";
inline constexpr std::string_view kSafetensorsInvalid = "safetensors_invalid";
inline constexpr std::string_view kIndexInvalid = "index_invalid";
inline constexpr std::string_view kCheckpointInvalid = "checkpoint_invalid";
inline constexpr std::string_view kAmbiguousIndex = "ambiguous_index";
inline constexpr std::string_view kMissingShard = "missing_shard";
inline constexpr std::string_view kDuplicateTensor = "duplicate_tensor";
inline constexpr std::string_view kUnsupportedFormat = "unsupported_format";
inline constexpr std::string_view kEmptyCheckpoint = "empty_checkpoint";
inline constexpr std::string_view kMissingTensor = "missing_tensor";
inline constexpr std::string_view kShapeMismatch = "shape_mismatch";
inline constexpr std::string_view kDtypeMismatch = "dtype_mismatch";
inline constexpr std::string_view kTextEncoderMissing = "text_encoder_missing";

// Why a checkpoint is not mapped but loaded ordinarily (preflight).
inline constexpr std::string_view kUnsupportedTp = "unsupported_tp";
inline constexpr std::string_view kUnsupportedHsdp = "unsupported_hsdp";
inline constexpr std::string_view kUnsupportedOnlineQuantization =
    "unsupported_online_quantization";
inline constexpr std::string_view kCheckpointPlanIncompatible = "checkpoint_plan_incompatible";

// Configuration beyond the rule table.
inline constexpr std::string_view kUnknownOption = "unknown_option";
inline constexpr std::string_view kInvalidValue = "invalid_value";
inline constexpr std::string_view kPromptInvalid = "prompt_invalid";
inline constexpr std::string_view kNotInThisProduct = "not_in_this_product";
inline constexpr std::string_view kAcceleratorMissing = "accelerator_missing";
inline constexpr std::string_view kLibraryMissing = "library_missing";
inline constexpr std::string_view kWorldTooSmall = "world_too_small";
inline constexpr std::string_view kTopologyMismatch = "topology_mismatch";
inline constexpr std::string_view kRanksDisagree = "ranks_disagree";

// Memory.
inline constexpr std::string_view kPinFailed = "pin_failed";
inline constexpr std::string_view kPinDisabled = "pin_disabled";
inline constexpr std::string_view kDeviceOutOfMemory = "device_out_of_memory";
inline constexpr std::string_view kHostOutOfMemory = "host_out_of_memory";

// Effective transfer: why it is not the one that was asked for.
inline constexpr std::string_view kGroupSizeOne = "group_size_one";
inline constexpr std::string_view kSingleBlockResident = "single_block_resident";
inline constexpr std::string_view kResidentLayersUnavailable = "resident_layers_unavailable";
inline constexpr std::string_view kLowerPriorityStrategy = "lower_priority_strategy";

// Run time.
inline constexpr std::string_view kDeadlineExceeded = "deadline_exceeded";
inline constexpr std::string_view kPeerFailed = "peer_failed";
inline constexpr std::string_view kCollectiveFailed = "collective_failed";
inline constexpr std::string_view kPlacementInvalid = "placement_invalid";
inline constexpr std::string_view kScheduleMismatch = "schedule_mismatch";
inline constexpr std::string_view kStaleSlot = "stale_slot";
inline constexpr std::string_view kPlaceholderRead = "placeholder_read";
inline constexpr std::string_view kCopyFailed = "copy_failed";
inline constexpr std::string_view kDeviceFailed = "device_failed";
inline constexpr std::string_view kCudaFailed = "cuda_failed";
inline constexpr std::string_view kNcclFailed = "nccl_failed";
inline constexpr std::string_view kNvmlFailed = "nvml_failed";
inline constexpr std::string_view kInternal = "internal_error";

}  // namespace dlo::codes
