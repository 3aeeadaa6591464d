// Owns: the closed hierarchy of exceptions: start-up errors and programmer errors, each with the
// source location, a stable code, and where a library reported one its number with symbolic name.
// Must not own: expected refusals (base/refusal.h). Destructors and disable() never throw these.
#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/refusal.h"

namespace dlo {

// Root of everything that dlo throws. what() is one line: text, [code], number and name if any.
class Error : public std::runtime_error {
 public:
  Error(std::string_view code, const std::string& text,
        std::source_location site = std::source_location::current());

  [[nodiscard]] const std::string& code() const { return code_; }
  [[nodiscard]] const std::source_location& site() const { return site_; }
  // "file.cpp:12" for logs.
  [[nodiscard]] std::string site_text() const;

 private:
  std::string code_;
  std::source_location site_;
};

// A contract between our own parts was broken (a bug, never an operating condition).
class LogicError : public Error {
 public:
  explicit LogicError(const std::string& text,
                      std::source_location site = std::source_location::current());
};

// Options or topology that cannot start. Carries the refusal that says why.
class ConfigError : public Error {
 public:
  explicit ConfigError(const Refusal& refusal,
                       std::source_location site = std::source_location::current());
};

// Start-up or run-time failure that ends this rank's work under a stable code.
class RunError : public Error {
 public:
  explicit RunError(Refusal refusal, std::source_location site = std::source_location::current());

  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

// A numbered failure of the operating system, MPI, CUDA or NCCL: number and symbolic name.
class NumberedError : public Error {
 public:
  NumberedError(std::string_view code, const std::string& text, std::int64_t number,
                std::string number_name,
                std::source_location site = std::source_location::current());

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] const std::string& number_name() const { return number_name_; }

 private:
  std::int64_t number_;
  std::string number_name_;
};

// errno failures. `text` says what was tried and on which path.
class SystemError : public NumberedError {
 public:
  SystemError(std::string_view code, const std::string& text, int error_number,
              std::source_location site = std::source_location::current());
};

// "ENOENT" for 2; "errno 4242" for an unknown number.
[[nodiscard]] std::string errno_name(int error_number);

// Throws LogicError with `text` unless `condition` holds.
void require(bool condition, std::string_view text,
             std::source_location site = std::source_location::current());

}  // namespace dlo
