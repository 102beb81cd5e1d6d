#!/usr/bin/env bash
# Makes the environment: a virtual environment with the locked packages and Headwater itself.
set -euo pipefail
venv=${1:?usage: tools/setup.sh VENV}
cd "$(dirname "$0")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 3; }

python=""
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is needed. On Debian: apt-get install python3"

need_package() { # need_package NAME: install a Debian package if we may, else say how
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing the Debian package $1"
    apt-get install -y -qq "$1" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$1" >/dev/null; }
  else
    fail "the package $1 is missing. Run: sudo apt-get install $1"
  fi
}

"$python" -c 'import ensurepip, venv' 2>/dev/null || need_package python3-venv
command -v java >/dev/null 2>&1 || [ -n "${JAVA_HOME:-}" ] || need_package openjdk-17-jre-headless

say "making $venv with $("$python" --version)"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
uv_version=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' requirements.lock)
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip --default-pip >/dev/null
"$venv/bin/python" -m pip install -q --disable-pip-version-check "uv==${uv_version:?uv is not in requirements.lock}"

say "installing the locked packages (the first time downloads about 600 MB, most of it Spark)"
"$venv/bin/uv" pip sync -q --python "$venv/bin/python" requirements.lock
say "installing Headwater"
"$venv/bin/uv" pip install -q --python "$venv/bin/python" --no-deps --editable .
