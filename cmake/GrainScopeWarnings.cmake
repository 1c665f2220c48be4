# One set of warnings for every target of ours.
add_library(grainscope_warnings INTERFACE)
set(grainscope_host_warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND grainscope_host_warnings -Wno-restrict)  # GCC bug 105651: std::string concatenation
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)  # the same, in other words, out of precompiled headers
    list(APPEND grainscope_host_warnings -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
target_compile_options(grainscope_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${grainscope_host_warnings};-Wpedantic;$<$<BOOL:${GRAINSCOPE_WERROR}>:-Werror>>")
if(GRAINSCOPE_HAVE_CUDA)
  target_compile_options(grainscope_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow;$<$<BOOL:${GRAINSCOPE_WERROR}>:--Werror=all-warnings>>")
endif()
