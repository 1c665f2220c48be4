# Libraries: what find_package finds comes first; a download only with -DGRAINSCOPE_FETCH=ON.
include(FetchContent)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# grainscope_dependency(<package> <debian package> <url> <sha256-free tag>): found, fetched, or a clear error.
function(grainscope_dependency package debian repository tag)
  find_package(${package} QUIET)
  if(${package}_FOUND)
    set(${package}_VERSION ${${package}_VERSION} PARENT_SCOPE)
    return()
  endif()
  if(NOT GRAINSCOPE_FETCH)
    message(FATAL_ERROR "${package} was not found. Install it (Debian, Ubuntu: apt-get install ${debian}), "
      "or let CMake download it with -DGRAINSCOPE_FETCH=ON")
  endif()
  string(TOLOWER ${package} name)
  FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON)
  FetchContent_MakeAvailable(${name})
  string(REPLACE "v" "" version ${tag})
  set(${package}_VERSION ${version} PARENT_SCOPE)
endfunction()

set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_WERROR OFF)
set(INSTALL_GTEST OFF)
grainscope_dependency(benchmark libbenchmark-dev https://github.com/google/benchmark.git v1.8.3)
grainscope_dependency(nlohmann_json nlohmann-json3-dev https://github.com/nlohmann/json.git v3.11.3)
grainscope_dependency(CLI11 libcli11-dev https://github.com/CLIUtils/CLI11.git v2.4.2)
if(GRAINSCOPE_TESTS)
  grainscope_dependency(GTest libgtest-dev https://github.com/google/googletest.git v1.14.0)
endif()

find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  message(FATAL_ERROR "zlib was not found. Install it (Debian, Ubuntu: apt-get install zlib1g-dev)")
endif()

# libnuma and hwloc bring no CMake packages.
function(grainscope_system_library target header library debian)
  string(TOUPPER ${library} prefix)
  find_path(GRAINSCOPE_${prefix}_INCLUDE ${header})
  find_library(GRAINSCOPE_${prefix}_LIBRARY ${library})
  mark_as_advanced(GRAINSCOPE_${prefix}_INCLUDE GRAINSCOPE_${prefix}_LIBRARY)
  if(NOT GRAINSCOPE_${prefix}_INCLUDE OR NOT GRAINSCOPE_${prefix}_LIBRARY)
    message(FATAL_ERROR "lib${library} was not found. Install it (Debian, Ubuntu: apt-get install ${debian})")
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${GRAINSCOPE_${prefix}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${GRAINSCOPE_${prefix}_INCLUDE})
endfunction()
grainscope_system_library(grainscope::numa numa.h numa libnuma-dev)
grainscope_system_library(grainscope::hwloc hwloc.h hwloc libhwloc-dev)
