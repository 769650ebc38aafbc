# Every src/**/*.cc belongs to the program: a new file needs no line here. An object library, not a static one: a linker
# drops members of an archive that nobody names, and with them the policies that register themselves.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(Threads REQUIRED)
find_library(CPP_HTTPLIB cpp-httplib REQUIRED)
find_library(ZSTD zstd REQUIRED)

file(GLOB_RECURSE TERRACE_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc)
list(REMOVE_ITEM TERRACE_SOURCES ${PROJECT_SOURCE_DIR}/src/main.cc)
add_library(terrace_objects OBJECT ${TERRACE_SOURCES})
target_link_libraries(terrace_objects PUBLIC terrace_flags fmt::fmt SQLite::SQLite3 ZLIB::ZLIB LibLZMA::LibLZMA ${CPP_HTTPLIB} ${ZSTD} Threads::Threads)

# Debian's library is built with all of these, and its classes are laid out accordingly.
set_source_files_properties(src/live/live_server.cc PROPERTIES COMPILE_DEFINITIONS
  "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT")

# The guard that runs before anything else must itself run on any x86-64.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(src/cpu_guard.cc PROPERTIES COMPILE_OPTIONS "-march=x86-64;-fno-lto")
endif()

# The revision is read when HEAD moves, not at each build.
find_package(Git QUIET)
set(TERRACE_REVISION "unknown")
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE TERRACE_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --absolute-git-dir
                  OUTPUT_VARIABLE git_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS ${git_dir}/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_dir}/logs/HEAD)
  endif()
endif()
set_source_files_properties(src/version.cc PROPERTIES COMPILE_DEFINITIONS
  "TERRACE_VERSION=\"${PROJECT_VERSION}\";TERRACE_REVISION=\"${TERRACE_REVISION}\"")

include(cmake/code_hash.cmake)

# What a simulated cycle runs through is optimised together, when the programs are linked: the units, and the machine that
# executes PTX. Everything else is compiled alone and less far: a build should be short. Tests link the same objects without that
# (-fno-lto), so these hold code of both kinds where there are tests.
file(GLOB_RECURSE TERRACE_HOT_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/frontend/ptx/execute/*.cc
  ${PROJECT_SOURCE_DIR}/src/frontend/traces/*.cc)
file(GLOB hot_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/frontend/*.cc)
list(APPEND TERRACE_HOT_SOURCES ${hot_files})
foreach(folder blame cache dram engine gpu noc power sm stats tenancy translation wire)
  file(GLOB_RECURSE hot_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  list(APPEND TERRACE_HOT_SOURCES ${hot_files})
endforeach()
if(TERRACE_LTO)
  # A unit's tick is large, and gcc stops to inline into large functions: with its own limits, calls of a few instructions
  # stayed calls (docs/speed.md, "Against the revision before lines had names").
  set(hot_options -O3 -flto=auto --param=large-function-growth=1000 --param=large-function-insns=20000
    --param=inline-unit-growth=300 --param=max-inline-insns-single=600)
  if(TERRACE_TESTS)
    list(APPEND hot_options -ffat-lto-objects)
  endif()
  target_compile_options(terrace_objects PRIVATE -O2)
  set_property(SOURCE ${TERRACE_HOT_SOURCES} APPEND PROPERTY COMPILE_OPTIONS ${hot_options})
endif()
function(terrace_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE terrace_objects)
  if(TERRACE_LTO)
    target_compile_options(${name} PRIVATE -flto=auto)
    # The false warning of cmake/flags.cmake comes back when everything is optimised together.
    target_link_options(${name} PRIVATE -flto=auto -O3 -fuse-linker-plugin -Wno-stringop-overflow)
  endif()
endfunction()

terrace_program(terrace src/main.cc)
include(GNUInstallDirs)
install(TARGETS terrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# What src/cli/paths.cc looks for beside the program's bin/.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/terrace)
