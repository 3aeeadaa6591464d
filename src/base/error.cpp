#include "base/error.h"

#include <cstring>

#include "base/codes.h"

namespace dlo {

namespace {

std::string with_code(std::string_view code, const std::string& text) {
  return text + " [" + std::string(code) + "]";
}

std::string with_number(const std::string& text, std::int64_t number, const std::string& name) {
  return text + ": " + name + " (" + std::to_string(number) + ")";
}

}  // namespace

Error::Error(std::string_view code, const std::string& text, std::source_location site)
    : std::runtime_error(with_code(code, text)), code_(code), site_(site) {}

std::string Error::site_text() const {
  const std::string_view path = site_.file_name();
  const auto slash = path.rfind('/');
  const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::string(name) + ":" + std::to_string(site_.line());
}

LogicError::LogicError(const std::string& text, std::source_location site)
    : Error(codes::kInternal, text, site) {}

ConfigError::ConfigError(const Refusal& refusal, std::source_location site)
    : Error(refusal.code, refusal.what + " (" + refusal.where + "); " + refusal.action, site) {}

RunError::RunError(Refusal refusal, std::source_location site)
    : Error(refusal.code,
            refusal.what + (refusal.where.empty() ? "" : " (" + refusal.where + ")") +
                (refusal.action.empty() ? "" : "; " + refusal.action),
            site),
      refusal_(std::move(refusal)) {}

NumberedError::NumberedError(std::string_view code, const std::string& text, std::int64_t number,
                             std::string number_name, std::source_location site)
    : Error(code, with_number(text, number, number_name), site),
      number_(number),
      number_name_(std::move(number_name)) {}

SystemError::SystemError(std::string_view code, const std::string& text, int error_number,
                         std::source_location site)
    : NumberedError(code, text, error_number, errno_name(error_number), site) {}

std::string errno_name(int error_number) {
  const char* name = strerrorname_np(error_number);
  return name != nullptr ? std::string(name) : "errno " + std::to_string(error_number);
}

void require(bool condition, std::string_view text, std::source_location site) {
  if (!condition) {
    throw LogicError(std::string(text), site);
  }
}

}  // namespace dlo
