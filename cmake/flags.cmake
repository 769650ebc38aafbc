# One set of flags for every target, so that the same source gives the same simulated results everywhere:
# a fixed instruction set (never native), no contraction of a*b+c into a fused operation behind our back, and no errno from
# sqrt, which would call libm and keep loops over lanes from vectorising.
add_library(terrace_flags INTERFACE)
target_include_directories(terrace_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(terrace_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -ffp-contract=off
  -fno-trapping-math -fno-math-errno -fno-math-errno
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(terrace_flags INTERFACE -march=x86-64-v3)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 sees overflows inside fmt 9's parser and overlaps inside std::string that are not there, once it inlines enough.
  target_compile_options(terrace_flags INTERFACE -Wno-stringop-overflow -Wno-restrict)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Loops over lanes ask to be vectorised; clang says of each instance that it cannot, which is nothing to act upon.
  target_compile_options(terrace_flags INTERFACE -Wno-pass-failed)
endif()
if(TERRACE_STRICT)
  target_compile_options(terrace_flags INTERFACE -Werror)
endif()
if(TERRACE_SANITIZE)
  target_compile_options(terrace_flags INTERFACE -fsanitize=${TERRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(terrace_flags INTERFACE -fsanitize=${TERRACE_SANITIZE})
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Dev")
  target_compile_definitions(terrace_flags INTERFACE TERRACE_DCHECK=1)
endif()
