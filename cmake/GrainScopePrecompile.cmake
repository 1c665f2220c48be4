# Headers that most sources of a kind read, compiled once a kind: for C++ alone, since nvcc knows no such thing.
# Every source goes on including what it uses. The lints compile without these, and so does whoever sets
# CMAKE_DISABLE_PRECOMPILE_HEADERS=ON. That is the default beside ccache, which would seldom hit with them.
if(NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# grainscope_precompile(<target> <header>...): compiles standard and third-party headers for the target's
# C++ sources, and for those of targets that name it in REUSE_FROM and are compiled with the same options.
function(grainscope_precompile target)
  foreach(header IN LISTS ARGN)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
endfunction()

# grainscope_together(<target> <group> <source>...): these sources of a target are compiled as one, which reads
# headers once. They are all C++ or all CUDA, and CMake itself knows only C++. Not beside ccache, where one that
# changed would bring the others with it.
function(grainscope_together target group)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    return()
  endif()
  if(NOT "${ARGN}" MATCHES "\\.cu")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
    return()
  endif()
  set(includes "")
  foreach(source IN LISTS ARGN)
    string(APPEND includes "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
  endforeach()
  set(together ${CMAKE_CURRENT_BINARY_DIR}/${group}.cu)
  file(CONFIGURE OUTPUT ${together} CONTENT "${includes}")
  target_sources(${target} PRIVATE ${together})
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()

# GCC tidies its own memory at 128 MiB, for a fifteenth of the time that a large source takes.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>")
endif()
