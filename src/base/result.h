// Owns: Result<T>, a value or a Refusal, and Status = Result<void>. [[nodiscard]] everywhere.
// Must not own: exceptions for expected refusals. Reading the wrong side is a programmer error and
// throws LogicError. Thread-compatible: a value type without shared state.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/refusal.h"

namespace dlo {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(Refusal refusal)  // NOLINT: implicit, so that `return refuse(...)` reads well
      : state_(std::in_place_index<1>, std::move(refusal)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & {
    require_ok();
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    require_ok();
    return std::get<0>(state_);
  }
  [[nodiscard]] T&& value() && {
    require_ok();
    return std::get<0>(std::move(state_));
  }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Refusal& refusal() const {
    if (ok()) {
      throw LogicError("Result holds a value, not a refusal");
    }
    return std::get<1>(state_);
  }

 private:
  void require_ok() const {
    if (!ok()) {
      throw LogicError("Result holds a refusal: " + std::get<1>(state_).message());
    }
  }

  std::variant<T, Refusal> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Refusal refusal) : refusal_(std::move(refusal)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return !refusal_.has_value(); }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const Refusal& refusal() const {
    if (ok()) {
      throw LogicError("Status is ok and holds no refusal");
    }
    return *refusal_;
  }

 private:
  std::optional<Refusal> refusal_;
};

using Status = Result<void>;

}  // namespace dlo
