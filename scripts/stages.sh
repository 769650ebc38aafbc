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
  echo "== $name: $((SECONDS - from)) s"
  stage_times+=("$(printf '%6d s  %s' $((SECONDS - from)) "$name")")
}

# The last stage runs tests, and the run ends with their own summary: the other stages' times come before it.
last_stage() {
  echo "== stages so far"
  printf '%s\n' "${stage_times[@]}"
  echo "== $1"
  shift
  exec "$@"
}
