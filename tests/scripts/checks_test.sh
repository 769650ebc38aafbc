#!/usr/bin/env bash
# The checks of ./check can fail: each is run on a small tree that breaks one rule, and on one that breaks none.
# Usage: checks_test.sh SOURCE_FOLDER
set -uo pipefail
source_folder=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cases=0 failures=0

tree() {  # a small tree that breaks no rule
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/src/engine" "$scratch/tree/src/text" "$scratch/tree/src/sm" "$scratch/tree/docs"
  cp -r "$source_folder/scripts" "$source_folder/check" "$source_folder/demo" "$source_folder/.clang-format" "$scratch/tree/"
  cd "$scratch/tree" || exit 1
  git init -q .
  echo '#pragma once' > src/engine/types.h
  printf '#include <toml++/toml.h>\n\n#include "engine/types.h"\n' > src/text/reader.cc
  printf '# Title\n\n[a file](docs/page.md#part) [the web](https://example.org/x)\n\n```\n./check --quick   # tests\nbuild/release/terrace list keys\n```\n' > README.md
  echo 'See [the start](../README.md).' > docs/page.md
  git add -A
}
# Times are replaced by N: they may be 0 or 1.
run() {
  status=0
  output=$(cd / && "$scratch/tree/$1" "${@:2}" 2>&1 </dev/null) || status=$?
  output=$(sed -E 's/ *[0-9]+ s\b/ N s/' <<< "$output")
}
expect() {  # WHAT STATUS TEXT COMMAND...
  local what=$1 wanted=$2 text=$3
  cases=$((cases + 1))
  run "${@:4}"
  if [ "$status" -ne "$wanted" ] || [[ $output != *"$text"* ]]; then
    echo "FAILED: $what: exit code $status (wanted $wanted), said: $output"
    failures=$((failures + 1))
  fi
}

tree
for check in format includes heavy_headers docs; do expect "a clean tree passes check_$check" 0 "" scripts/check_$check; done

echo '#include "sm/sm.h"' > src/engine/types.h
expect "a wrong include direction" 1 'src/engine/types.h:1: src/engine may not include "sm/sm.h"' scripts/check_includes
echo '#include "version.h"' > src/sm/sm.h
expect "a unit that asks for the version" 1 'src/sm/sm.h:1: src/sm may not include "version.h"' scripts/check_includes
mkdir src/novelty && echo '#include "engine/types.h"' > src/novelty/a.h
expect "a folder nobody spoke about" 1 "folder src/novelty is not in scripts/check_includes" scripts/check_includes

tree
echo '#include <nlohmann/json.hpp>' > src/sm/sm.h
expect "a heavy header in a header" 1 "src/sm/sm.h: a header may not include nlohmann" scripts/check_heavy_headers
tree
echo '  # include <toml++/toml.h>' > src/sm/sm.cc
expect "a heavy header in two files" 1 "toml++ is included by src/sm/sm.cc src/text/reader.cc" scripts/check_heavy_headers

tree
printf 'int   x ;\n' > src/sm/sm.cc; git add -A
expect "a file that clang-format would change" 123 "src/sm/sm.cc:1:" scripts/check_format

tree
echo '[gone](../src/gone.h)' >> docs/page.md
expect "a link that leads nowhere" 1 "docs/page.md:2: links to ../src/gone.h, which is not there" scripts/check_docs
tree
mkdir -p build/release
printf '#!/bin/bash\ncase $1 in list) [ "$2" = keys ] ;; run) echo "--gpu NAME" ;; *) exit 2 ;; esac\n' > build/release/terrace
chmod +x build/release/terrace
program=$scratch/tree/build/release/terrace
expect "commands that exist" 0 "" scripts/check_docs "$program"
for line in 'build/release/terrace lst|terrace has no sub-command lst yet' 'build/release/terrace list kees|terrace list kees fails' \
  'build/release/terrace run --gpu x --tenants y|terrace run has no option --tenants' './chekc|./chekc is not there' \
  './check --fast|./check has no option --fast' 'scripts/gone x|scripts/gone is not there'; do
  printf '```\n%s\n```\n' "${line%%|*}" > docs/page.md
  expect "a command that is not there" 1 "docs/page.md:2: ${line#*|}" scripts/check_docs "$program"
done

tree
expect "./check with an unknown option" 2 "check: unknown option --fast; use --quick, --all or none" check --fast
expect "./check with two options" 2 "check: takes one option at most" check --quick --all
expect "./check --help" 0 "./check --quick" check --help
expect "./demo with an option" 2 "demo: takes no options" demo --now

# The stages of ./check, with stand-ins that say how they were called.
tree
for script in setup build test check_format check_includes check_heavy_headers check_tidy check_old_cpu check_resume check_fresh_user check_slurm check_report fuzz try_add_a_policy check_mistakes; do
  printf '#!/bin/bash\necho "ran %s $*"\n' $script > scripts/$script
done
expect "./check --quick runs the unit tests" 0 'ran test dev -L ^unit$ -LE slow' check --quick
expect "./check --quick builds for dev only" 0 $'ran setup check\n== build unit tests, dev\nran build dev unit\n== build unit tests, dev: N s\n' check --quick
expect "./check ends with the tests of dev" 0 $'== tests, dev\nran test dev -LE slow' check
expect "./check runs the tests of release" 0 "ran test release -LE slow" check
expect "./check builds what gives digests with clang" 0 "ran build clang terrace laws" check
expect "./check compares digests with clang" 0 'ran test clang -L ^laws$ -LE slow' check
expect "./check --all runs all tests with clang" 0 $'ran test clang\n' check --all
expect "each stage says its time, and all of them before the last" 0 $'== stages so far\n N s  formatting' check
expect "./check --all installs everything" 0 "ran setup all" check --all
expect "./check --all runs slow tests too" 0 $'ran test release\n' check --all
expect "./check --all is a new user" 0 "ran check_fresh_user" check --all
printf '#!/bin/bash\nexit 7\n' > scripts/build
expect "a stage that fails ends the run" 1 "== build dev: FAILED after N s" check

# Configuring: once, again when the tests are wanted, and from the start in a folder that was copied.
tree
mkdir "$scratch/bin"
printf '#!/bin/bash\necho "cmake $*" >&2\n' > "$scratch/bin/cmake"
chmod +x "$scratch/bin/cmake"
PATH=$scratch/bin:$PATH
expect "a fresh clone is configured" 0 "cmake --fresh --preset release -DTERRACE_TESTS=OFF" scripts/configure release OFF
mkdir -p build/release && touch build/release/build.ninja
printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nTERRACE_TESTS:BOOL=OFF\n' "$(pwd -P)" > build/release/CMakeCache.txt
silent() { expect "$@"; [ -z "$output" ] || { echo "FAILED: $1: said $output"; failures=$((failures + 1)); }; }
silent "a configured tree is left alone" 0 "" scripts/configure release OFF
expect "the tests are added when wanted" 0 "cmake --preset release -DTERRACE_TESTS=ON" scripts/configure release ON
sed -i 's/=OFF/=ON/' build/release/CMakeCache.txt
silent "a tree with tests serves ./demo as well" 0 "" scripts/configure release OFF
silent "and ./check" 0 "" scripts/configure release ON
sed -i 's/INTERNAL=/INTERNAL=\/elsewhere/' build/release/CMakeCache.txt
expect "a build folder copied from elsewhere starts anew" 0 "cmake --fresh --preset release -DTERRACE_TESTS=ON" scripts/configure release ON

echo "$cases cases, $failures failures"
[ $failures -eq 0 ]
