# Shared by scripts/run, scripts/test and scripts/check; sourced from the top folder.

# build PRESET [TARGET...]: configures when needed and builds quietly; the log is printed only on
# failure. Jobs: one a core, fewer where memory is short (a torch source takes about 1.5 GB).
build() {
  local preset="$1" log="build/$1.log" jobs memory_gb flags=()
  shift
  mkdir -p build
  memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  jobs=$(nproc)
  if (( memory_gb / 2 < jobs )); then
    jobs=$(( memory_gb / 2 > 0 ? memory_gb / 2 : 1 ))
  fi
  if command -v ccache >/dev/null; then
    flags+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  if [[ -n "${DLO_TORCH_PREFIX:-}" ]]; then
    flags+=("-DDLO_TORCH_PREFIX=$DLO_TORCH_PREFIX")
  fi
  echo "build: preset $preset, log in $log" >&2
  if ! { cmake --preset "$preset" "${flags[@]}" &&
         cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"}; } >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "build: preset $preset failed; the whole log is $log" >&2
    return 1
  fi
}
