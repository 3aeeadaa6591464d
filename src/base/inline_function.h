// Owns: InlineFunction, a move-only callable void() stored in a fixed inline buffer: queuing one
// never allocates, which is what invariant I11 asks of the hot path.
// Must not own: larger captures; a callable that does not fit fails to compile.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace dlo {

template <std::size_t kCapacityBytes>
class InlineFunction {
 public:
  InlineFunction() = default;

  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InlineFunction>)
      InlineFunction(F&& callable) {  // NOLINT: implicit, as std::function
    using Stored = std::remove_cvref_t<F>;
    static_assert(sizeof(Stored) <= kCapacityBytes, "capture does not fit the inline buffer");
    static_assert(alignof(Stored) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Stored>);
    ::new (static_cast<void*>(storage_)) Stored(std::forward<F>(callable));
    call_ = [](void* self) { (*static_cast<Stored*>(self))(); };
    relocate_ = [](void* from, void* to) {
      if (to != nullptr) {
        ::new (to) Stored(std::move(*static_cast<Stored*>(from)));
      }
      static_cast<Stored*>(from)->~Stored();
    };
  }

  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  InlineFunction(const InlineFunction&) = delete;
  InlineFunction& operator=(const InlineFunction&) = delete;
  ~InlineFunction() { reset(); }

  explicit operator bool() const { return call_ != nullptr; }
  // Precondition: holds a callable.
  void operator()() { call_(storage_); }

  void reset() noexcept {
    if (relocate_ != nullptr) {
      relocate_(storage_, nullptr);
    }
    call_ = nullptr;
    relocate_ = nullptr;
  }

 private:
  void take(InlineFunction& other) noexcept {
    if (other.relocate_ != nullptr) {
      other.relocate_(other.storage_, storage_);
      call_ = std::exchange(other.call_, nullptr);
      relocate_ = std::exchange(other.relocate_, nullptr);
    }
  }

  alignas(std::max_align_t) std::byte storage_[kCapacityBytes];
  void (*call_)(void*) = nullptr;
  void (*relocate_)(void*, void*) = nullptr;
};

}  // namespace dlo
