#!/usr/bin/env bash
# What scripts/setup promises, with stand-ins for every command that could touch the machine. The stand-ins read what to
# pretend from variables and write down how they were called. Usage: setup_test.sh SOURCE_FOLDER
set -uo pipefail
source_folder=$1
unset DEBIAN_FRONTEND
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/scripts" "$scratch/bin" "$scratch/tools" "$scratch/elsewhere"
cp "$source_folder/scripts/setup" "$scratch/tree/scripts/setup"
for tool in bash awk cat dirname env; do ln -s "$(command -v $tool)" "$scratch/tools/$tool"; done
export LOG=$scratch/log

stand_in() { printf '#!/bin/bash\n%s\n' "$2" > "$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
stand_in dpkg-query 'package=${!#}; case " $MISSING " in *" $package "*) exit 1 ;; *" $package:half "*) printf half-configured ;; *) printf installed ;; esac'
stand_in id 'echo "$USER_ID"'
stand_in df 'echo header; case ${!#} in /usr) echo "/dev/b 9 9 $FREE_USR 9% $USR_MOUNT" ;; *) echo "/dev/a 9 9 $FREE_TREE 9% /tree" ;; esac'
stand_in sleep 'echo "sleep $*" >> "$LOG"'
stand_in apt-get 'echo "apt-get root=${AS_ROOT:-no} frontend=$DEBIAN_FRONTEND $*" >> "$LOG"
if [ -s "$LOCKED" ]; then sed -i 1d "$LOCKED"; echo "E: Could not get lock /var/lib/apt/lists/lock" >&2; exit 100; fi
case " $* " in *" $BROKEN "*) echo "E: no network" >&2; exit 100 ;; esac'
ln -s "$(command -v sed)" "$scratch/tools/sed"
sudo_body='echo "sudo $*" >> "$LOG"; [ "$1" = -n ] && shift
[ "$SUDO_SAYS" = no ] && exit 1
while [[ $1 == *=* ]]; do export "$1"; shift; done
AS_ROOT=yes exec "$@"'

failures=0 cases=0
# Pretends a machine; a case changes what it is about.
machine() {
  cases=$((cases + 1)) name=$1
  : > "$LOG"; : > "$scratch/locked"
  export MISSING="" USER_ID=0 FREE_TREE=100000 FREE_USR=100000 USR_MOUNT=/usr SUDO_SAYS=yes LOCKED=$scratch/locked BROKEN=none
  rm -rf "$scratch/tree/build"
  stand_in sudo "$sudo_body"
}
run_setup() {
  status=0
  output=$(cd "$scratch/elsewhere" && PATH=$scratch/bin:$scratch/tools "$scratch/tree/scripts/setup" "$@" 2>&1 </dev/null) || status=$?
  log=$(cat "$LOG")
}
expect() {  # WHAT CONDITION...
  local what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $name: $what"
    echo "  exit code $status, output: $output"
    echo "  commands: $log"
    failures=$((failures + 1))
  fi
}
is() { [ "$1" = "$2" ]; }
has() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }
count() { grep -c -- "$2" <<< "$1"; }

for level in demo check all; do
  machine "a complete machine needs neither root nor network ($level)"
  export USER_ID=1000 SUDO_SAYS=no
  run_setup $level
  expect "succeeds" is "$status" 0
  expect "calls neither sudo nor apt-get" is "$log" ""
  expect "is silent" is "$output" ""
done

machine "root installs what is missing and nothing else"
export MISSING="cmake libfmt-dev libgtest-dev"
run_setup demo
expect "succeeds" is "$status" 0
expect "updates once" is "$(count "$log" ' update')" 1
expect "updates first" has "${log%%$'\n'*}" " update"
expect "installs once" is "$(count "$log" ' install ')" 1
expect "without recommended packages, asking nothing, exactly the missing ones" \
  has "$log" " install --no-install-recommends -y cmake libfmt-dev"
expect "not what only the tests need" lacks "$log" libgtest-dev
expect "waits for dpkg's lock in each call" is "$(count "$log" 'DPkg::Lock::Timeout=600')" 2
expect "non-interactively in each call" is "$(count "$log" 'frontend=noninteractive')" 2
expect "without sudo" lacks "$log" sudo

machine "a package that is only half installed is missing"
export MISSING="cmake:half"
run_setup demo
expect "is installed again" has "$log" " install --no-install-recommends -y cmake"

machine "./check installs what the tests need"
export MISSING="libgtest-dev clang-tidy-19"
run_setup check
expect "installs it" has "$log" "-y libgtest-dev"
expect "not what only the slow checks need" lacks "$log" clang-tidy-19
machine "./check --all installs what the slow checks need"
export MISSING="libgtest-dev clang-tidy-19"
run_setup all
expect "installs both" has "$log" "-y libgtest-dev clang-tidy-19"

machine "./demo asks for no test, browser or cluster package"
stand_in dpkg-query 'echo "asked ${!#}" >> "$LOG"; printf installed'
run_setup demo
expect "asks for a compiler at least" has "$log" "asked g++"
for word in test benchmark mpfr gmock tidy format qemu chromium node npm playwright slurm munge mariadb; do
  expect "none called $word" lacks "$log" "$word"
done
stand_in dpkg-query 'package=${!#}; case " $MISSING " in *" $package "*) exit 1 ;; *" $package:half "*) printf half-configured ;; *) printf installed ;; esac'

machine "a user with sudo installs, and only apt-get runs as root"
export USER_ID=1000 MISSING=cmake
run_setup demo
expect "succeeds" is "$status" 0
expect "both calls of apt-get run as root" is "$(count "$log" '^apt-get root=yes')" 2
expect "no call of it as the user" is "$(count "$log" '^apt-get root=no')" 0
expect "sudo runs apt-get and nothing else" \
  is "$(grep '^sudo' <<< "$log" | grep -vc '^sudo -n DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get ')" 0

for kind in "has no sudo" "may not use sudo"; do
  machine "a user who $kind is told the exact command"
  export USER_ID=1000 MISSING="cmake libfmt-dev"
  if [ "$kind" = "has no sudo" ]; then rm "$scratch/bin/sudo"; else export SUDO_SAYS=no; fi
  run_setup demo
  expect "exit code 2" is "$status" 2
  expect "the command" \
    has "$output" "  apt-get update && apt-get install --no-install-recommends -y cmake libfmt-dev"
  expect "apt-get is not called" lacks "$log" $'\napt-get'
done

machine "too little disk for the build is said before anything starts"
export FREE_TREE=499 MISSING=cmake
run_setup demo
expect "exit code 2" is "$status" 2
expect "says how much is free and how much is needed" has "$output" "/tree has 499 MB free and 500 MB are needed"
expect "nothing started" is "$log" ""
machine "too little disk for the packages is said before anything starts"
export FREE_USR=1499 MISSING=cmake
run_setup demo
expect "exit code 2" is "$status" 2
expect "says how much is free and how much is needed" has "$output" "/usr has 1499 MB free and 1500 MB are needed"
expect "nothing started" is "$log" ""
machine "packages and build on one disk need the sum"
export FREE_TREE=1999 FREE_USR=1999 USR_MOUNT=/tree MISSING=cmake
run_setup demo
expect "exit code 2" is "$status" 2
expect "says the sum" has "$output" "/tree has 1999 MB free and 2000 MB are needed"
machine "a built tree on a complete machine needs little more"
export FREE_TREE=200 FREE_USR=0
mkdir -p "$scratch/tree/build/release"
run_setup demo
expect "succeeds" is "$status" 0

machine "another apt that holds the package lists is waited for"
export MISSING=cmake
printf 'held\nheld\n' > "$scratch/locked"
run_setup demo
expect "succeeds" is "$status" 0
expect "waits twice" is "$(count "$log" '^sleep')" 2
expect "installs in the end" has "$log" "-y cmake"

machine "a failing apt-get is told in its own words"
export MISSING=cmake BROKEN=update
run_setup demo
expect "fails, with 1" is "$status" 1
expect "apt-get's words" has "$output" "E: no network"
expect "ours" has "$output" "setup: apt-get update failed"
expect "installs nothing" lacks "$log" " install "

for arguments in "" "everything"; do
  machine "a wrong argument '$arguments' is told"
  run_setup $arguments
  expect "exit code 2" is "$status" 2
  expect "one sentence" is "$output" "usage: scripts/setup demo|check|all"
done

echo "$cases cases, $failures failures"
[ $failures -eq 0 ]
