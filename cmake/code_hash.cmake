# A hash over every source that can move a simulated result: what a stored job rests on. Other than the revision, it sees
# changes that are not committed, and does not change with a page of documentation. The command line and the machinery
# around runs are left out: they decide which runs happen, not what a run computes. A new file counts until it is named here.
#   cmake -DROOT=... -DLIST=... -DOUT=... -P cmake/code_hash.cmake   writes OUT, from the files that LIST names
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${LIST} files)
  set(all "")
  foreach(file ${files})
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND all "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING ${hash} 0 16 hash)
  file(WRITE ${OUT} "// SPDX-License-Identifier: MIT\n#include \"version.h\"\nstd::string terrace::code_hash() { return \"${hash}\"; }\n")
  return()
endif()

set(machinery "^src/(cli/|live/|store/|sweep/|claims/|report/|main|version|run/(exec|job|metrics|timeline|workload_list))")
file(GLOB_RECURSE code RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc ${PROJECT_SOURCE_DIR}/src/*.h
  ${PROJECT_SOURCE_DIR}/workloads/*.cc ${PROJECT_SOURCE_DIR}/workloads/*.h ${PROJECT_SOURCE_DIR}/cmake/flags.cmake)
list(FILTER code EXCLUDE REGEX ${machinery})
list(SORT code)
list(JOIN code "\n" lines)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/code_files.txt CONTENT "${lines}\n" @ONLY)
list(TRANSFORM code PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/code_hash.cc DEPENDS ${code} ${PROJECT_BINARY_DIR}/code_files.txt cmake/code_hash.cmake
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${PROJECT_BINARY_DIR}/code_files.txt
          -DOUT=${PROJECT_BINARY_DIR}/code_hash.cc -P ${PROJECT_SOURCE_DIR}/cmake/code_hash.cmake
  COMMENT "Hash of the code" VERBATIM)
target_sources(terrace_objects PRIVATE ${PROJECT_BINARY_DIR}/code_hash.cc)
