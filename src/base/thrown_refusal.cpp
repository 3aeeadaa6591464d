#include "base/thrown_refusal.h"

#include <new>
#include <string>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo {

Refusal thrown_refusal(const std::exception_ptr& thrown, std::string_view where) {
  const auto with_code = [](std::string_view code, std::string what, std::string place) {
    return refuse(code, std::move(what), std::move(place), "see the message");
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const RunError& error) {
    return error.refusal();
  } catch (const Error& error) {
    return with_code(error.code(), error.what(), std::string(where) + ", " + error.site_text());
  } catch (const std::bad_alloc&) {
    return refuse(codes::kHostOutOfMemory, "an allocation of host memory failed",
                  std::string(where), "free host memory, use more ranks or a smaller model");
  } catch (const std::exception& error) {
    return with_code(codes::kInternal, error.what(), std::string(where));
  } catch (...) {
    return with_code(codes::kInternal, "something was thrown that is no std::exception",
                     std::string(where));
  }
}

}  // namespace dlo
