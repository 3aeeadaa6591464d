#include "tests/unit/model/listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "platform/posix/posix_file_system.h"

namespace dlo::test {

namespace {

std::string compact(const Shape& shape) {
  std::string text = shape_text(shape);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

contracts::ParameterTable table_of(const model::DitModel& model) {
  contracts::ParameterTable table;
  table.dits.push_back(model.spec());
  for (const auto* child : model.child_rings()) {
    table.dits.push_back(*child);
  }
  contracts::check_table(table);
  return table;
}

}  // namespace

Listing read_listing(const std::string& file) {
  const platform::PosixFileSystem files;
  const platform::Path path = platform::Path(DLO_GOLDEN_FIXTURES) / "names" / file;
  std::istringstream lines(files.read_text(path, kMiB).value());
  Listing listing;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    Listed listed;
    fields >> name >> listed.dtype >> listed.shape;
    listing.emplace(name, listed);
  }
  return listing;
}

Listing listing_of(const model::DitModel& model) {
  const std::size_t prefix = std::string("transformer.").size();
  Listing listing;
  const auto table = table_of(model);
  for (const auto* spec : table.tensors()) {
    EXPECT_TRUE(spec->name.starts_with("transformer."));
    listing.emplace(spec->name.substr(prefix),
                    Listed{std::string(dtype_name(spec->dtype)), compact(spec->shape)});
  }
  return listing;
}

std::uint64_t tensor_bytes_of(const model::DitModel& model) {
  std::uint64_t bytes = 0;
  const auto table = table_of(model);
  for (const auto* spec : table.tensors()) {
    bytes += tensor_bytes(spec->shape, spec->dtype).value();
  }
  return bytes;
}

}  // namespace dlo::test
