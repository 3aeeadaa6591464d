#include "host_weights/safetensors/header_json.h"

#include <algorithm>

#include "base/json.h"
#include "host_weights/safetensors/quoted_name.h"

namespace dlo::host_weights {

namespace {

// serde_json refuses the 128th nested array or object.
constexpr std::size_t kDeepestNesting = 127;

// An array or object that is open.
enum class Frame : std::uint8_t {
  kTop,
  kMetadata,
  kEntryObject,
  kEntryList,    // serde also reads a struct from a list of its fields: [dtype, shape, offsets]
  kDtypeObject,  // and an enum from {"F32": null}
  kShape,
  kOffsets,
  kIgnored,
};

// What the next value means.
enum class Slot : std::uint8_t {
  kHeader,
  kMetadata,
  kMetadataValue,
  kEntry,
  kDtype,
  kShape,
  kOffsets,
  kUnit,
  kExtent,
  kOffset,
  kIgnored,
  kNone,
};

// Receives nlohmann's events. Every handler returns false to stop, with reason_ set.
class HeaderReader {
 public:
  using Json = nlohmann::json;

  bool null();
  bool boolean(bool value);
  bool number_integer(Json::number_integer_t value);
  bool number_unsigned(Json::number_unsigned_t value);
  bool number_float(Json::number_float_t value, const std::string& text);
  bool string(std::string& value);
  bool binary(Json::binary_t& value);
  bool start_object(std::size_t elements);
  bool key(std::string& name);
  bool end_object();
  bool start_array(std::size_t elements);
  bool end_array();
  bool parse_error(std::size_t position, const std::string& token, const Json::exception& error);

  HeaderText take_text() { return std::move(text_); }
  std::string take_reason() { return std::move(reason_); }

 private:
  bool stop(std::string reason);
  bool wrong_type(std::string_view found);
  bool open_frame(Frame frame);
  bool close_frame();
  bool only_ignored(std::string_view found);
  bool entry_key(const std::string& name);
  bool set_dtype(const std::string& name);
  bool finish_entry();
  // The meaning of the value that begins now; a list of fields moves on to its next field.
  Slot take_slot();
  Slot next_list_slot();
  HeaderEntry& entry() { return text_.entries.back(); }

  HeaderText text_;
  std::string reason_;
  std::vector<Frame> frames_;
  Slot field_ = Slot::kNone;  // of the last key, in kTop and kEntryObject
  std::string metadata_key_;
  bool metadata_seen_ = false;
  // Of the entry being read.
  bool dtype_seen_ = false;
  bool shape_seen_ = false;
  bool offsets_seen_ = false;
  std::size_t offsets_count_ = 0;
  std::size_t list_position_ = 0;
};

bool HeaderReader::stop(std::string reason) {
  reason_ = std::move(reason);
  if (!text_.entries.empty()) {
    reason_ += " (last tensor: " + quoted_name(entry().name) + ")";
  }
  return false;
}

bool HeaderReader::wrong_type(std::string_view found) {
  return stop("unexpected " + std::string(found));
}

bool HeaderReader::open_frame(Frame frame) {
  if (frames_.size() == kDeepestNesting) {
    return stop("nested too deeply");
  }
  frames_.push_back(frame);
  return true;
}

bool HeaderReader::close_frame() {
  const auto frame = frames_.back();
  frames_.pop_back();
  switch (frame) {
    case Frame::kEntryObject:
    case Frame::kEntryList:
      return finish_entry();
    case Frame::kOffsets:
      return offsets_count_ == 2 || stop("data_offsets is not a pair");
    case Frame::kDtypeObject:
      return dtype_seen_ || stop("dtype is an empty object");
    default:
      return true;
  }
}

bool HeaderReader::finish_entry() {
  if (!dtype_seen_ || !shape_seen_ || !offsets_seen_) {
    return stop("missing field, a tensor needs dtype, shape and data_offsets");
  }
  return true;
}

Slot HeaderReader::next_list_slot() {
  switch (list_position_++) {
    case 0:
      return Slot::kDtype;
    case 1:
      shape_seen_ = true;
      return Slot::kShape;
    case 2:
      offsets_seen_ = true;
      return Slot::kOffsets;
    default:
      return Slot::kNone;
  }
}

Slot HeaderReader::take_slot() {
  if (frames_.empty()) {
    return Slot::kHeader;
  }
  switch (frames_.back()) {
    case Frame::kTop:
    case Frame::kEntryObject:
      return field_;
    case Frame::kEntryList:
      return next_list_slot();
    case Frame::kMetadata:
      return Slot::kMetadataValue;
    case Frame::kDtypeObject:
      return Slot::kUnit;
    case Frame::kShape:
      return Slot::kExtent;
    case Frame::kOffsets:
      return Slot::kOffset;
    case Frame::kIgnored:
      break;
  }
  return Slot::kIgnored;
}

bool HeaderReader::only_ignored(std::string_view found) {
  return take_slot() == Slot::kIgnored || wrong_type(found);
}

bool HeaderReader::null() {
  const auto slot = take_slot();
  return slot == Slot::kMetadata || slot == Slot::kUnit || slot == Slot::kIgnored ||
         wrong_type("null");
}

bool HeaderReader::boolean(bool) {
  return only_ignored("boolean");
}

// Only numbers with a minus sign arrive here, and -0 is no integer to serde_json either.
bool HeaderReader::number_integer(Json::number_integer_t) {
  return only_ignored("negative number");
}

bool HeaderReader::number_float(Json::number_float_t, const std::string& text) {
  return only_ignored("number that is no 64-bit integer: " + quoted_name(text));
}

bool HeaderReader::number_unsigned(Json::number_unsigned_t value) {
  switch (take_slot()) {
    case Slot::kExtent:
      entry().shape.push_back(value);
      return true;
    case Slot::kOffset:
      if (offsets_count_ == 2) {
        return stop("data_offsets is not a pair");
      }
      entry().data_offsets[offsets_count_++] = value;
      return true;
    case Slot::kIgnored:
      return true;
    default:
      return wrong_type("number");
  }
}

bool HeaderReader::set_dtype(const std::string& name) {
  const auto dtype = dtype_from_name(name);
  if (!dtype) {
    return stop("unknown dtype " + quoted_name(name));
  }
  entry().dtype = *dtype;
  dtype_seen_ = true;
  return true;
}

bool HeaderReader::string(std::string& value) {
  switch (take_slot()) {
    case Slot::kDtype:
      return set_dtype(value);
    case Slot::kMetadataValue:
      text_.metadata->insert_or_assign(std::move(metadata_key_), std::move(value));
      return true;
    case Slot::kIgnored:
      return true;
    default:
      return wrong_type("string");
  }
}

bool HeaderReader::binary(Json::binary_t&) {
  return wrong_type("binary value");
}

bool HeaderReader::start_object(std::size_t) {
  switch (take_slot()) {
    case Slot::kHeader:
      return open_frame(Frame::kTop);
    case Slot::kMetadata:
      text_.metadata.emplace();
      return open_frame(Frame::kMetadata);
    case Slot::kEntry:
      return open_frame(Frame::kEntryObject);
    case Slot::kDtype:
      dtype_seen_ = false;
      return open_frame(Frame::kDtypeObject);
    case Slot::kIgnored:
      return open_frame(Frame::kIgnored);
    default:
      return wrong_type("object");
  }
}

bool HeaderReader::start_array(std::size_t) {
  switch (take_slot()) {
    case Slot::kEntry:
      return open_frame(Frame::kEntryList);
    case Slot::kShape:
      return open_frame(Frame::kShape);
    case Slot::kOffsets:
      return open_frame(Frame::kOffsets);
    case Slot::kIgnored:
      return open_frame(Frame::kIgnored);
    default:
      return wrong_type("list");
  }
}

bool HeaderReader::entry_key(const std::string& name) {
  // dtype_seen_ marks a dtype that was read; a repeated key can only follow a complete value.
  const auto first = [&](bool seen, Slot slot) {
    field_ = slot;
    return !seen || stop("duplicate field " + quoted_name(name));
  };
  if (name == "dtype") {
    return first(dtype_seen_, Slot::kDtype);
  }
  if (name == "shape") {
    return first(std::exchange(shape_seen_, true), Slot::kShape);
  }
  if (name == "data_offsets") {
    return first(std::exchange(offsets_seen_, true), Slot::kOffsets);
  }
  field_ = Slot::kIgnored;
  return true;
}

bool HeaderReader::key(std::string& name) {
  switch (frames_.back()) {
    case Frame::kTop:
      if (name == kMetadataKey) {
        field_ = Slot::kMetadata;
        return !std::exchange(metadata_seen_, true) || stop("duplicate field __metadata__");
      }
      field_ = Slot::kEntry;
      text_.entries.emplace_back().name = std::move(name);
      dtype_seen_ = shape_seen_ = offsets_seen_ = false;
      offsets_count_ = list_position_ = 0;
      return true;
    case Frame::kMetadata:
      metadata_key_ = std::move(name);
      return true;
    case Frame::kEntryObject:
      return entry_key(name);
    case Frame::kDtypeObject:
      return dtype_seen_ ? stop("dtype is an object with several keys") : set_dtype(name);
    case Frame::kIgnored:
      return true;
    default:
      return stop("unexpected key " + quoted_name(name));
  }
}

bool HeaderReader::end_object() {
  return close_frame();
}

bool HeaderReader::end_array() {
  return close_frame();
}

bool HeaderReader::parse_error(std::size_t, const std::string&, const Json::exception& error) {
  return stop(printable_text(error.what()));
}

}  // namespace

std::variant<HeaderText, std::string> read_header_text(std::string_view text) {
  // nlohmann skips a byte order mark and takes NUL for the end of the text; serde_json refuses both
  // (a raw NUL is nowhere valid JSON).
  if (text.starts_with("\xEF\xBB\xBF")) {
    return "the text begins with a byte order mark";
  }
  if (text.find('\0') != std::string_view::npos) {
    return "the text has a NUL byte";
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return reader.take_reason();
  }
  return reader.take_text();
}

}  // namespace dlo::host_weights
