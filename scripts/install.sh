#!/usr/bin/env bash
# .venv, with exactly the packages of a lock file and this project in place. The Makefile calls it:
#
#   scripts/install.sh run|dev|docs|fuzz     install locks/NAME.txt
#   scripts/install.sh --find                print the Python that would be taken
#
# PYTHON names another one than the first of python3.11, python3.12, python3.13 that can be used.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV=.venv

stop() { # MESSAGE [FOUND] TO-DO
  {
    echo "replitune: $1"
    [ $# -lt 3 ] || echo "  found:    $2"
    echo "  to do:    ${!#}"
  } >&2
  exit 2
}

version_of() { # of a command that is a Python, such as 3.12.1; nothing where it is none
  "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || true
}

fits() { [[ $1 =~ ^3\.(11|12|13)\. ]]; }

can_make_environments() { "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; }

# the package of the distribution that would help, as a line to type
to_get() { # PACKAGES-OF-APT PACKAGES-OF-DNF
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo "
  if command -v apt-get >/dev/null; then
    echo "${sudo}apt-get install -y $1"
  elif command -v dnf >/dev/null; then
    echo "${sudo}dnf install -y $2"
  else
    echo "install $1, or name another Python: make PYTHON=/path/to/python3.12"
  fi
}

newest_on_offer() { # by apt: 3.13, 3.12 or 3.11
  local minor
  for minor in 13 12 11; do
    if apt-cache show "python3.$minor-venv" >/dev/null 2>&1; then
      echo "3.$minor"
      return
    fi
  done
}

find_python() {
  local name version found="" without=""
  for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    version=$(version_of "$name")
    if ! fits "$version"; then
      [ -z "$version" ] || found="$name is Python $version"
    elif can_make_environments "$name"; then
      echo "$name"
      return
    else
      without=${without:-$name ${version%.*}}
    fi
  done
  if [ -n "$without" ]; then
    stop "${without% *} cannot make an environment: its module venv or ensurepip is missing" \
      "$(to_get "python${without#* }-venv" "python${without#* }")"
  fi
  version=$(newest_on_offer)
  version=${version:-3.12}
  stop "Python 3.11, 3.12 or 3.13 is needed" \
    "${found:-${PYTHON:-no python3}${PYTHON:+, which is no Python}}" \
    "$(to_get "python$version python$version-venv" "python$version")"
}

# pip's own report is a hundred lines: of these a count
counted() { # HOW-MANY
  awk -v all="$1" -v live="$([ -t 1 ] && echo 1)" '
    /^Collecting / {
      name = $2; sub(/[=<>@;].*/, "", name); n++
      if (live) printf "\r  %d of %d: %s\033[K", n, all, name
      else if (n % 20 == 0) printf "  %d of %d: %s\n", n, all, name
      fflush()
    }
    /^Installing collected/ && !unpacks++ { printf "%s  unpacking\n", live ? "\r\033[K" : ""; fflush() }'
}

pip_install() { # LOCK
  # --no-compile: Python compiles what is imported, of most packages a small part, when it first is
  "$VENV/bin/python" -m pip install --disable-pip-version-check --progress-bar off --no-compile \
    --require-hashes --no-deps -r "$1"
}

# by two processes: pip loads and unpacks one package after another
in_halves() { # LOCK
  local folder first second=0
  folder=$(mktemp -d)
  awk -v folder="$folder" '/^[a-z]/ { n++ } { print > (folder "/" n % 2) }' "$1"
  pip_install "$folder/1" &
  first=$!
  pip_install "$folder/0" || second=$?
  wait "$first" || second=$?
  rm -rf "$folder"
  return "$second"
}

install() { # NAME
  local lock=locks/$1.txt python packages size="800 MB"
  if [ "$1" = dev ] && ! command -v git >/dev/null; then
    stop "the tests need git" "$(to_get git git)"
  fi
  if ! fits "$(version_of $VENV/bin/python)"; then
    python=$(find_python)
    echo "== making $PWD/$VENV with Python $(version_of "$python")"
    rm -rf "$VENV"
    "$python" -m venv "$VENV" || stop "$python -m venv $VENV failed" "see what it says above"
  fi
  packages=$(grep -c '^[a-z]' "$lock")
  [ "$1" != dev ] || size="2 GB"
  echo "== installing up to $packages packages into $PWD/$VENV: the versions of $lock, by their hashes"
  echo "   (up to $size on disk; outside of that folder only pip's cache is changed)"
  if ! in_halves "$lock" | counted "$packages"; then
    stop "pip could not install $lock" "read what it says above, then type the same again"
  fi
  # of the project itself the lock has what it needs, and how it is built
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
}

case ${1:-} in
  --find) find_python ;;
  run | dev | docs | fuzz) install "$1" ;;
  *) sed -n 's/^# \{0,1\}//p' "$0" | head -7; exit 2 ;;
esac
