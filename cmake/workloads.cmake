# The workloads: device code by clang without a CUDA toolkit, host sides as part of the program. The flags are fixed and
# name nothing of this machine, so that the PTX, whose hash results record, is the same everywhere.
find_program(TERRACE_CLANG clang++-19)
if(NOT TERRACE_CLANG)
  message(FATAL_ERROR "clang++-19 compiles the workloads' device code and is not here; install Debian's clang-19 (scripts/setup does).")
endif()
set(TERRACE_DEVICE_FLAGS -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc -nocudalib
    -Xclang -target-feature -Xclang +ptx78 -std=c++17 -fms-extensions -Wno-unknown-cuda-version -O2 -S)

set(workloads_in ${PROJECT_SOURCE_DIR}/workloads)
set(workloads_out ${PROJECT_BINARY_DIR}/workloads)
set(modules "")
set(device_headers "")
file(GLOB_RECURSE header_names CONFIGURE_DEPENDS RELATIVE ${workloads_in} ${workloads_in}/include/*.h)
foreach(name ${header_names})
  add_custom_command(OUTPUT ${workloads_out}/${name} DEPENDS ${workloads_in}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy ${workloads_in}/${name} ${workloads_out}/${name})
  list(APPEND device_headers ${workloads_out}/${name})
endforeach()
file(GLOB_RECURSE device_sources CONFIGURE_DEPENDS ${workloads_in}/*.cu)
foreach(source ${device_sources})
  get_filename_component(name ${source} NAME_WE)
  set(module ${workloads_out}/${name}.ptx)
  if(module IN_LIST modules)
    message(FATAL_ERROR "Two workloads have device code called ${name}.cu; rename one: modules are known by that name.")
  endif()
  add_custom_command(OUTPUT ${module} DEPENDS ${source} ${device_headers}
    COMMAND ${TERRACE_CLANG} ${TERRACE_DEVICE_FLAGS} -Wall -Wextra -Werror -I${workloads_in}/include ${source} -o ${module}
    COMMENT "Device code ${name}.ptx" VERBATIM)
  list(APPEND modules ${module})
endforeach()
add_custom_target(terrace_modules ALL DEPENDS ${modules} ${device_headers})

file(GLOB_RECURSE host_sources CONFIGURE_DEPENDS ${workloads_in}/*.cc)
target_sources(terrace_objects PRIVATE ${host_sources})
target_include_directories(terrace_objects PUBLIC ${workloads_in})
add_dependencies(terrace_objects terrace_modules)

# A user's own .cu is compiled when it is run, with the same flags.
list(JOIN TERRACE_DEVICE_FLAGS " " device_flags)
set_source_files_properties(src/frontend/device_code.cc PROPERTIES COMPILE_DEFINITIONS
  "TERRACE_DEVICE_FLAGS=\"${device_flags}\"")

# With a CUDA toolkit at hand, `cmake --build . --target nvcc_modules` compiles the same sources with nvcc; where that was
# done, tests run them too. Nothing else needs it.
find_program(TERRACE_NVCC nvcc PATHS /usr/local/cuda/bin)
if(TERRACE_NVCC)
  set(nvcc_modules "")
  foreach(source ${device_sources})
    get_filename_component(name ${source} NAME_WE)
    set(module ${workloads_out}/nvcc/${name}.ptx)
    add_custom_command(OUTPUT ${module} DEPENDS ${source} ${device_headers}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${workloads_out}/nvcc
      COMMAND ${TERRACE_NVCC} -arch=sm_75 -ptx -O2 -std=c++17 -I${workloads_in}/include ${source} -o ${module}
      COMMENT "Device code ${name}.ptx by nvcc" VERBATIM)
    list(APPEND nvcc_modules ${module})
  endforeach()
  add_custom_target(nvcc_modules DEPENDS ${nvcc_modules})
endif()

install(FILES ${modules} DESTINATION ${CMAKE_INSTALL_DATADIR}/terrace/workloads)
install(DIRECTORY ${workloads_in}/include DESTINATION ${CMAKE_INSTALL_DATADIR}/terrace/workloads)
