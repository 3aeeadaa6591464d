#include "base/code_list.h"

#include <array>

#include "base/codes.h"

namespace dlo {

namespace {

constexpr std::array kCodeList = {
    CodeMeaning{codes::kFileNotFound, "a file or folder does not exist"},
    CodeMeaning{codes::kFileUnreadable, "a file exists and cannot be read or mapped"},
    CodeMeaning{codes::kFileUnwritable, "a file or folder cannot be created or written"},
    CodeMeaning{codes::kMappingTruncated, "a mapped file was cut short while it was in use"},
    CodeMeaning{codes::kSafetensorsInvalid, "a file is not valid safetensors"},
    CodeMeaning{codes::kIndexInvalid, "a safetensors index does not fit its shards"},
    CodeMeaning{codes::kCheckpointInvalid, "a folder is not a checkpoint that can be loaded"},
    CodeMeaning{codes::kAmbiguousIndex, "a folder has more than one safetensors index"},
    CodeMeaning{codes::kMissingShard, "the index names a shard file that is not there"},
    CodeMeaning{codes::kDuplicateTensor, "a tensor name occurs more than once"},
    CodeMeaning{codes::kUnsupportedFormat, "weights are stored in a format that is not read"},
    CodeMeaning{codes::kEmptyCheckpoint, "a checkpoint holds no weights"},
    CodeMeaning{codes::kMissingTensor, "the checkpoint lacks a tensor that the model needs"},
    CodeMeaning{codes::kShapeMismatch, "a tensor or copy has another shape than the model's"},
    CodeMeaning{codes::kDtypeMismatch, "a tensor has another element type than the model's"},
    CodeMeaning{codes::kTextEncoderMissing,
                "a prompt was given and the checkpoint has no text encoder"},
    CodeMeaning{codes::kUnsupportedTp, "tensor parallelism needs the ordinary loader"},
    CodeMeaning{codes::kUnsupportedHsdp, "HSDP needs the ordinary loader"},
    CodeMeaning{codes::kUnsupportedOnlineQuantization,
                "online quantization needs the ordinary loader"},
    CodeMeaning{codes::kCheckpointPlanIncompatible,
                "the checkpoint cannot back the weights as it lies on disk"},
    CodeMeaning{codes::kUnknownOption, "an option has a name that nothing reads"},
    CodeMeaning{codes::kInvalidValue, "an option has a value of the wrong type or range"},
    CodeMeaning{codes::kPromptInvalid, "a prompt has unknown token ids, or too many of them"},
    CodeMeaning{codes::kNotInThisProduct, "the reference has it, this product does not"},
    CodeMeaning{codes::kAcceleratorMissing, "the machine has no such device, or too few of them"},
    CodeMeaning{codes::kLibraryMissing, "a library that is loaded at run time is not there"},
    CodeMeaning{codes::kWorldTooSmall, "fewer ranks were started than the topology needs"},
    CodeMeaning{codes::kTopologyMismatch, "the ranks started do not fit the topology"},
    CodeMeaning{codes::kRanksDisagree, "ranks were started with different options or builds"},
    CodeMeaning{codes::kPinFailed, "pinned host memory was refused"},
    CodeMeaning{codes::kPinDisabled, "pin_cpu_memory is off: host weights are pageable"},
    CodeMeaning{codes::kDeviceOutOfMemory, "device memory was refused"},
    CodeMeaning{codes::kHostOutOfMemory, "ordinary host memory was refused"},
    CodeMeaning{codes::kGroupSizeOne, "AllGather was asked for and the weight group is one rank"},
    CodeMeaning{codes::kSingleBlockResident, "the only streamed block stays on the device"},
    CodeMeaning{codes::kResidentLayersUnavailable, "the model offers no DiT for resident layers"},
    CodeMeaning{codes::kLowerPriorityStrategy, "an offload strategy lost to a higher one"},
    CodeMeaning{codes::kDeadlineExceeded, "a wait ended at its deadline"},
    CodeMeaning{codes::kPeerFailed, "another rank of a shared group failed"},
    CodeMeaning{codes::kCollectiveFailed, "a collective was aborted or broke"},
    CodeMeaning{codes::kPlacementInvalid, "blocks cannot be placed as the model's table says"},
    CodeMeaning{codes::kScheduleMismatch, "ranks would issue different collectives"},
    CodeMeaning{codes::kStaleSlot, "a slot holds another block than the one to be computed"},
    CodeMeaning{codes::kPlaceholderRead, "compute was launched on an offloaded block"},
    CodeMeaning{codes::kCopyFailed, "a copy between host and device failed"},
    CodeMeaning{codes::kDeviceFailed, "an operation of the device failed"},
    CodeMeaning{codes::kCudaFailed, "an operation of the CUDA runtime failed"},
    CodeMeaning{codes::kNcclFailed, "an operation of NCCL failed"},
    CodeMeaning{codes::kNvmlFailed, "NVML does not give a figure"},
    CodeMeaning{codes::kInternal, "a contract between parts of this product was broken"},
};

}  // namespace

std::span<const CodeMeaning> code_list() {
  return kCodeList;
}

}  // namespace dlo
