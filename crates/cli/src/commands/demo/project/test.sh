#!/bin/sh
# Tests of stats.sh.

list=list.tmp
trap 'rm -f "$list"' EXIT
failed=0

# check NAME EXPECTED COMMAND NUMBERS
check() {
  printf '%b' "$4" > "$list"
  got=$(sh stats.sh "$3" "$list")
  if [ "$got" = "$2" ]; then
    echo "ok    $1"
  else
    echo "FAIL  $1: expected $2, got $got"
    failed=$((failed + 1))
  fi
}

check "the sum of three numbers" 12 sum "3\n4\n5\n"
check "the largest of three numbers" 7 max "2\n7\n5\n"
check "the largest of negative numbers" -3 max "-8\n-3\n-5\n"
check "the count skips blank lines" 2 count "1\n\n2\n"

if [ "$failed" -eq 0 ]; then
  echo "all tests pass"
else
  echo "$failed of 4 tests fail"
  exit 1
fi
