#include "platform/fault/seam_calls.h"

#include <array>

#include "base/codes.h"

namespace dlo::platform {

namespace {

using Codes = std::span<const std::string_view>;

constexpr std::array kDeviceMemory{codes::kDeviceOutOfMemory, codes::kDeviceFailed};
constexpr std::array kPinned{codes::kPinFailed, codes::kHostOutOfMemory};
constexpr std::array kPageable{codes::kHostOutOfMemory};
constexpr std::array kStream{codes::kDeviceFailed};
constexpr std::array kCopy{codes::kCopyFailed, codes::kDeviceFailed};
constexpr std::array kHostWait{codes::kDeadlineExceeded, codes::kDeviceFailed, codes::kPeerFailed};
constexpr std::array kGroup{codes::kCollectiveFailed, codes::kDeadlineExceeded, codes::kPeerFailed};
constexpr std::array kReading{codes::kFileUnreadable, codes::kFileNotFound};
constexpr std::array kWriting{codes::kFileUnwritable};
constexpr std::array kNaming{codes::kFileUnwritable, codes::kFileNotFound};
constexpr std::array kWorker{codes::kHostOutOfMemory, codes::kInternal};
constexpr std::array kTime{codes::kDeadlineExceeded};

struct CallRow {
  SeamCall call;
  std::string_view name;
  Codes codes;
};

constexpr std::array<CallRow, kSeamCallCount> kCalls{{
    {SeamCall::kAllocateDevice, "allocate_device", kDeviceMemory},
    {SeamCall::kAllocatePinned, "allocate_pinned", kPinned},
    {SeamCall::kAllocatePageable, "allocate_pageable", kPageable},
    {SeamCall::kCreateEvent, "create_event", kStream},
    {SeamCall::kRecord, "record", kStream},
    {SeamCall::kWait, "wait", kStream},
    {SeamCall::kCopyToDevice, "copy_to_device", kCopy},
    {SeamCall::kCopyToHost, "copy_to_host", kCopy},
    {SeamCall::kLaunch, "launch", kStream},
    {SeamCall::kWaitHost, "wait_host", kHostWait},
    {SeamCall::kSynchronize, "synchronize", kHostWait},
    {SeamCall::kMakeControlGroup, "make_control_group", kGroup},
    {SeamCall::kMakeCommunicator, "make_communicator", kGroup},
    {SeamCall::kExchange, "exchange", kGroup},
    {SeamCall::kGather, "gather", kGroup},
    {SeamCall::kFileStat, "file_stat", kReading},
    {SeamCall::kFileList, "file_list", kReading},
    {SeamCall::kFileMap, "file_map", kReading},
    {SeamCall::kFileRead, "file_read", kReading},
    {SeamCall::kFileCreate, "file_create", kNaming},
    {SeamCall::kFileWrite, "file_write", kWriting},
    {SeamCall::kFileSync, "file_sync", kWriting},
    {SeamCall::kFileClose, "file_close", kWriting},
    {SeamCall::kFileMakeDirectories, "file_make_directories", kWriting},
    {SeamCall::kFileRename, "file_rename", kNaming},
    {SeamCall::kFileRemove, "file_remove", kNaming},
    {SeamCall::kFileRemoveTree, "file_remove_tree", kWriting},
    {SeamCall::kFileSyncDirectory, "file_sync_directory", kWriting},
    {SeamCall::kFileFreeBytes, "file_free_bytes", kReading},
    {SeamCall::kSubmit, "submit", kWorker},
    {SeamCall::kTask, "task", kWorker},
    {SeamCall::kClock, "clock", kTime},
}};

struct SiteRow {
  SeamCall call;
  std::vector<std::string_view> purposes;
};

std::vector<std::string> list_sites() {
  const std::vector<SiteRow> rows{
      {SeamCall::kAllocateDevice, {"slot", "input_slot", "resident", "non_block", "other"}},
      {SeamCall::kAllocatePinned, {"host_shard", "staging", "other"}},
      {SeamCall::kAllocatePageable, {"host_shard", "staging", "other"}},
      {SeamCall::kCreateEvent, {"event"}},
      {SeamCall::kRecord,
       {"ready_record", "free_record", "landed_record", "input_free_record", "packed_record",
        "staging_free_record", "drain", "output"}},
      {SeamCall::kWait,
       {"ready_wait", "free_wait", "landed_wait", "input_free_wait", "packed_wait",
        "staging_free_wait"}},
      {SeamCall::kCopyToDevice, {"placement", "h2d", "model"}},
      {SeamCall::kCopyToHost, {"output"}},
      {SeamCall::kLaunch, {"compute", "model", "gather", "pack"}},
      {SeamCall::kWaitHost, {"packed_wait", "drain", "output"}},
      {SeamCall::kSynchronize, {"all streams"}},
      {SeamCall::kMakeControlGroup, {"weight control"}},
      {SeamCall::kMakeCommunicator, {"weights"}},
      {SeamCall::kExchange, {"vote on enable", "schedule", "inputs"}},
      {SeamCall::kGather, {"gather"}},
      {SeamCall::kFileStat, {"folder", "text", "weights"}},
      {SeamCall::kFileList, {"folder"}},
      {SeamCall::kFileMap, {"weights"}},
      {SeamCall::kFileRead, {"text"}},
      {SeamCall::kFileCreate, {"text", "weights"}},
      {SeamCall::kFileWrite, {"text", "weights"}},
      {SeamCall::kFileSync, {"text", "weights"}},
      {SeamCall::kFileClose, {"text", "weights"}},
      {SeamCall::kFileMakeDirectories, {"folder"}},
      {SeamCall::kFileRename, {"folder", "text", "weights"}},
      {SeamCall::kFileRemove, {"text", "weights"}},
      {SeamCall::kFileRemoveTree, {"folder"}},
      {SeamCall::kFileSyncDirectory, {"folder"}},
      {SeamCall::kFileFreeBytes, {"folder"}},
      {SeamCall::kSubmit, {"parallel_for"}},
      {SeamCall::kTask, {"parallel_for"}},
      {SeamCall::kClock, {"now"}},
  };
  std::vector<std::string> sites;
  for (const auto& row : rows) {
    for (const auto purpose : row.purposes) {
      sites.push_back(call_site(row.call, purpose));
    }
  }
  return sites;
}

}  // namespace

std::string_view seam_call_name(SeamCall call) {
  return kCalls.at(static_cast<std::size_t>(call)).name;
}

std::span<const std::string_view> natural_codes(SeamCall call) {
  return kCalls.at(static_cast<std::size_t>(call)).codes;
}

std::string_view file_role(const Path& path) {
  const std::string name = path.filename().string();
  if (name.find(".safetensors") != std::string::npos && name.find(".json") == std::string::npos) {
    return "weights";
  }
  return path.has_extension() && name.find(".json") != std::string::npos ? "text" : "folder";
}

std::string call_site(SeamCall call, std::string_view purpose) {
  return std::string(seam_call_name(call)) + " " + std::string(purpose);
}

const std::vector<std::string>& known_call_sites() {
  static const std::vector<std::string> sites = list_sites();
  return sites;
}

}  // namespace dlo::platform
