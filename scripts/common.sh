# Shared by the other scripts; sourced from the top folder.

# The folder of an installed Python torch, without importing it; empty when there is none.
installed_torch() {
  python3 -c "import importlib.util as u
s = u.find_spec('torch')
print(s.submodule_search_locations[0] if s else '')" 2>/dev/null || true
}

# True when the torch package in folder $1 is a 2.11.
is_torch_2_11() {
  grep -q "^__version__ = '2\.11\." "$1/version.py" 2>/dev/null
}

# Ends a script under the name $1 whose report would name a commit that it does not describe.
need_committed() {
  if ! git diff --quiet HEAD -- src harness scenarios scripts tests CMakeLists.txt; then
    echo "$1: commit first, the report names the commit that it was made of" >&2
    exit 1
  fi
}

# Ends a script under the name $1 where the scenarios cannot pin what they pin.
need_locked_memory() {
  local limit
  limit=$(ulimit -l)
  if [[ "$(id -u)" != 0 && "$limit" != unlimited ]] && (( limit < 65536 )); then
    echo "$1: this user may lock $limit KiB of memory, the scenarios pin tens of MiB a process:" \
      "raise 'ulimit -l' or run as root" >&2
    exit 3
  fi
}

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
