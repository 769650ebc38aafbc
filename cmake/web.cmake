# The style sheet and scripts of report pages become part of the program, and with them Chart.js as Debian packages it
# (libjs-chart.js): an installed program needs no file of theirs, and a page needs no network.
#   cmake -DOUT=... -DFUNCTION=... -DFILES=a;b -P cmake/web.cmake   writes OUT: a function that returns the files' text
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// SPDX-License-Identifier: MIT\n#include \"report/site/assets.h\"\nstd::string_view terrace::${FUNCTION}() {\n  return \"\"")
  string(REPLACE "," ";" FILES "${FILES}")
  foreach(file ${FILES})
    file(READ ${file} content)
    string(APPEND text "\n         R\"terrace(${content})terrace\"")
  endforeach()
  file(WRITE ${OUT} "${text};\n}\n")
  return()
endif()

find_file(TERRACE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
if(NOT TERRACE_CHART_JS)
  message(FATAL_ERROR "Chart.js draws the charts of reports and is not here; install Debian's libjs-chart.js (scripts/setup does).")
endif()

function(terrace_web function)
  set(out ${PROJECT_BINARY_DIR}/web/${function}.cc)
  list(JOIN ARGN "," files)
  add_custom_command(OUTPUT ${out} DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/web.cmake
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFUNCTION=${function} -DFILES=${files} -P ${PROJECT_SOURCE_DIR}/cmake/web.cmake
    COMMENT "Report pages: ${function}" VERBATIM)
  target_sources(terrace_objects PRIVATE ${out})
endfunction()
set(web ${PROJECT_SOURCE_DIR}/src/report/web)
# In the order in which they build on each other.
terrace_web(web_script ${web}/base.js ${web}/tables.js ${web}/charts.js ${web}/figures.js ${web}/overview.js ${web}/sweep.js ${web}/paper.js
  ${web}/run.js ${web}/compare.js ${web}/start.js)
terrace_web(web_style ${web}/style.css)
terrace_web(chart_script ${TERRACE_CHART_JS})
