# Sourced by ./check: runs one stage after the other, says how long each took, stops at the first that fails.
stage_times=()
stage() {
  local name=$1 from=$SECONDS
  shift
  echo "== $name"
  if ! "$@"; then
    echo "== $name: FAILED after $((SECONDS - from)) s" >&2
    exit 1
  fi
  stage_times+=("$(printf '%6d s  %s' $((SECONDS - from)) "$name")")
}

# The times come before the last stage's own summary was printed only if they are printed here: ctest's summary stays last.
summary() {
  { echo "== stages"; printf '%s\n' "${stage_times[@]}"; } >&2
}
