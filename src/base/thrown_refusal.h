// Owns: how an exception that ends somebody's work becomes a refusal, alike everywhere.
// Must not own: what follows. A pure function, any thread.
#pragma once

#include <exception>
#include <string_view>

#include "base/refusal.h"

namespace dlo {

// Of a RunError its own refusal; of another Error its code and site; of std::bad_alloc
// host_out_of_memory; internal_error otherwise.
// `where` is what was being done. Precondition: `thrown` is not null.
[[nodiscard]] Refusal thrown_refusal(const std::exception_ptr& thrown, std::string_view where);

}  // namespace dlo
