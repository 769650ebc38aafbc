# The runtime library that CUDA programs load in place of NVIDIA's (docs/cuda.md), under each name that they ask for. It uses nothing
# of the program but the protocol, and brings its C++ library along: it must not disturb the program that loads it.
file(GLOB cudart_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cudart/*.cc)
set(cudart_folder ${PROJECT_BINARY_DIR}/cudart)
add_library(cudart_objects OBJECT ${cudart_sources})
target_include_directories(cudart_objects PRIVATE ${PROJECT_SOURCE_DIR}/src)
set_target_properties(cudart_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_compile_options(cudart_objects PRIVATE -O2 -Wall -Wextra -fno-lto)
if(TERRACE_STRICT)
  target_compile_options(cudart_objects PRIVATE -Werror)
endif()
foreach(version 12 13)
  set(map ${cudart_folder}/libcudart.so.${version}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "libcudart.so.${version} { global: cuda*; __cuda*; local: *; };\n" @ONLY)
  string(REPLACE "." "_" target cudart_${version})
  add_library(${target} SHARED $<TARGET_OBJECTS:cudart_objects>)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "libcudart" SUFFIX ".so.${version}" NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${cudart_folder} LINKER_LANGUAGE CXX LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE -Wl,-soname,libcudart.so.${version} -Wl,--version-script=${map} -static-libstdc++
    -static-libgcc -fno-lto)
  add_dependencies(terrace ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/terrace)
endforeach()
