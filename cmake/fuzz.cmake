# The fuzz target of the PTX reader, of the few sources it needs: instrumenting the whole program would take minutes.
file(GLOB fuzzed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/frontend/ptx/*/*.cc)
foreach(source engine/check engine/interrupt frontend/functional_runner frontend/guest_memory frontend/store_log)
  list(APPEND fuzzed ${PROJECT_SOURCE_DIR}/src/${source}.cc)
endforeach()
add_executable(fuzz_ptx_reader EXCLUDE_FROM_ALL tests/fuzz/ptx_reader_fuzz.cc ${fuzzed})
target_include_directories(fuzz_ptx_reader PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(fuzz_ptx_reader PRIVATE terrace_flags fmt::fmt)
target_link_options(fuzz_ptx_reader PRIVATE -fsanitize=fuzzer)
