// Owns: SharedPage, zeroed memory that processes of one node share: an unnamed file (memfd) mapped
// by all of them, so that nothing is left over whoever is killed.
// Must not own: what lies in it, or how the other processes learn pid and descriptor.
// Threading: a value type; the bytes are the users' business. Failure: Refusals (internal_error).
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace dlo::comm {

class SharedPage {
 public:
  // A new page; `descriptor()` stays open until close_descriptor, for others to open it.
  // `name` shows in /proc and in refusals: "failure board".
  [[nodiscard]] static Result<SharedPage> create(const std::string& name, std::uint64_t bytes);
  // The page behind descriptor `descriptor` of process `pid` of this node.
  [[nodiscard]] static Result<SharedPage> open(const std::string& name, int pid, int descriptor,
                                               std::uint64_t bytes);

  ~SharedPage();
  SharedPage(SharedPage&& other) noexcept;
  SharedPage& operator=(SharedPage&& other) noexcept;
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The mapping stays. To be called once all others have opened the page.
  void close_descriptor();

 private:
  SharedPage(int descriptor, ByteSpan bytes) : descriptor_(descriptor), bytes_(bytes) {}
  [[nodiscard]] static Result<SharedPage> map(const std::string& name, int descriptor,
                                              std::uint64_t bytes);

  int descriptor_ = -1;
  ByteSpan bytes_;
};

// Equal on two processes exactly when they can open each other's /proc entries: the machine's boot
// and the pid namespace.
[[nodiscard]] std::string node_identity();

}  // namespace dlo::comm
