#include "platform/task_refusal.h"

#include <string>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::platform {

Refusal task_refusal(const std::exception_ptr& thrown, const OpLabel& label) {
  const auto with_code = [&label](std::string_view code, std::string what) {
    return refuse(code, std::move(what), label_text(label), "see the message");
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const RunError& error) {
    return error.refusal();
  } catch (const Error& error) {
    return with_code(error.code(), error.what());
  } catch (const std::exception& error) {
    return with_code(codes::kInternal, error.what());
  } catch (...) {
    return with_code(codes::kInternal, "an operation threw something that is no std::exception");
  }
}

}  // namespace dlo::platform
