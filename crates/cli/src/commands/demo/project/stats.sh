#!/bin/sh
# Figures about a list of numbers, one number on a line; blank lines do not count.
# Usage: sh stats.sh sum|max|count FILE

command=$1
file=$2

numbers() {
  grep '[0-9]' "$file"
}

case $command in
  sum)
    sum=0
    for number in $(numbers); do
      sum=$((sum + number))
    done
    echo "$sum"
    ;;
  max)
    max=0
    for number in $(numbers); do
      [ "$number" -gt "$max" ] && max=$number
    done
    echo "$max"
    ;;
  count)
    grep -c '' "$file"
    ;;
  *)
    echo "usage: sh stats.sh sum|max|count FILE" >&2
    exit 2
    ;;
esac
