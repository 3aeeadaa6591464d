#include "harness/cli/plan_command.h"

#include <ostream>

#include "harness/cli/forecast_text.h"

namespace dlo::harness {

engine::ForecastRequest forecast_request(const PlanArguments& arguments) {
  engine::ForecastRequest request;
  request.model.checkpoint = arguments.checkpoint;
  request.model.runtime_dtype = dtype_from_name(arguments.runtime_dtype).value();
  request.model.keep_fp32_modules = !arguments.all_in_runtime_dtype;
  request.model.fused_projections = arguments.fused_projections;
  request.online_quantization = arguments.online_quantization;
  request.options = arguments.options;
  request.options.enable_distributed_layerwise_offload = !arguments.no_offload;
  request.parallel = arguments.parallel;
  return request;
}

ExitCode run_plan(const CommandContext& context, const Arguments& arguments) {
  Status mine;
  if (context.is_rank_zero()) {
    const auto request = forecast_request(arguments.plan);
    const auto forecast = engine::forecast_checkpoint(context.files, request);
    if (!forecast.ok()) {
      mine = forecast.refusal();
    } else if (arguments.json) {
      context.out << forecast_json(request, *forecast).dump(1) << '\n';
    } else {
      context.out << forecast_text(request, *forecast);
    }
  }
  const Status agreed = agree_on_step(context, "plan", mine);
  if (!agreed.ok()) {
    say_error(context, mine.ok() ? agreed.refusal() : mine.refusal());
    return ExitCode::kFellShort;
  }
  return ExitCode::kAllAsExpected;
}

}  // namespace dlo::harness
