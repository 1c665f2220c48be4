# What quickstart and test share; sourced, not run.

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# The interpreter that has what setup installed.
python_with() {  # python_with <module>[, <module>]…
  if python3 -c "import $1" 2>/dev/null; then
    echo python3
  else
    echo "$PWD/.venv/bin/python"
  fi
}

# Jobs that fit the memory: a CUDA compilation takes about 2 GiB.
jobs() {
  local by_memory
  by_memory=$(awk '/MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  local cpus
  cpus=$(nproc)
  echo $((by_memory < 1 ? 1 : by_memory < cpus ? by_memory : cpus))
}

# Where a GPU is at hand its own architecture is enough; else the list in CMake holds.
architecture_flags() {
  local capabilities
  if command -v nvidia-smi >/dev/null 2>&1 &&
    capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) && [ -n "$capabilities" ]; then
    echo "-DCMAKE_CUDA_ARCHITECTURES=$(echo "$capabilities" | tr -d '. ' | sort -u | paste -sd ';')"
  fi
}

has_gpu() {
  nvidia-smi -L >/dev/null 2>&1 || compgen -G '/dev/nvidia[0-9]*' >/dev/null
}

# With Ninja where there is one and nothing else was configured: it keeps all CPUs busy.
build() {  # build <folder> <cmake arguments...>
  local folder=$1
  shift
  if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=Ninja
  fi
  if [ ! -f "$folder/CMakeCache.txt" ] || [ "$(cat "$folder/.configured-with" 2>/dev/null)" != "$*" ]; then
    cmake -S . -B "$folder" "$@" >&2
    printf '%s' "$*" >"$folder/.configured-with"
  fi
  cmake --build "$folder" --parallel "$(jobs)" >&2
}
