# grainscope_embed(<target> <namespace> <name>=<text file>...): compiles texts into a target. A header
# embedded/<namespace>.hpp declares `std::string_view <name>()` for each.
#
# The file is also the script that writes one text as source: cmake -DINPUT=… -DOUTPUT=… -DNAMESPACE=…
# -DNAME=… -P GrainScopeEmbed.cmake
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ ${INPUT} text)
  # A raw literal holds any text without this delimiter.
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${INPUT} cannot be embedded: it contains the delimiter of the literal")
  endif()
  file(WRITE ${OUTPUT} "#include \"embedded/${NAMESPACE}.hpp\"\n\n"
    "std::string_view grainscope::embedded::${NAMESPACE}::${NAME}() {\n  return R\"embedded(${text})embedded\";\n}\n")
  return()
endif()

set(grainscope_embed_script ${CMAKE_CURRENT_LIST_FILE})

function(grainscope_embed target namespace)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(declarations "")
  # A library of its own, since a target elsewhere would not see the rules of this folder.
  add_library(${target}_${namespace} OBJECT)
  foreach(entry IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched "${entry}")
    set(name ${CMAKE_MATCH_1})
    set(input ${CMAKE_MATCH_2})
    set(output ${folder}/${namespace}_${name}.cpp)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DNAMESPACE=${namespace} -DNAME=${name}
        -P ${grainscope_embed_script}
      DEPENDS ${input} ${grainscope_embed_script}
      COMMENT "Embedding ${name}"
      VERBATIM)
    target_sources(${target}_${namespace} PRIVATE ${output})
    string(APPEND declarations "[[nodiscard]] std::string_view ${name}();\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/${namespace}.hpp @ONLY CONTENT
"#pragma once

#include <string_view>

namespace grainscope::embedded::@namespace@ {

@declarations@
}  // namespace grainscope::embedded::@namespace@
")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(${target}_${namespace} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${namespace}>)
endfunction()
