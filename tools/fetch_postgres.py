"""Newer PostgreSQL servers than this Debian has, fetched from its next releases and not installed.

A private apt reads the package lists of the newer releases from the machine's own mirror. The
server's packages are unpacked with everything they depend on, the C library too, so each program is
wrapped to run through the unpacked loader. Nothing outside the cache directory is touched.

    python tools/fetch_postgres.py        fetch what is missing; print version and directory
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITES = ("trixie", "sid")
# A mirror may hold an index of a release in the making that is older than its own date allows; a
# test server need not be of today. Signatures are checked all the same.
_NEVER_STABLE = ("sid",)
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_NAME = re.compile(r"^postgresql-(\d+)$", re.MULTILINE)
_TIMEOUT_S = 900


def cache_directory() -> Path:
    """Where servers are kept: root's own home is closed to the user that they must run as."""
    if os.geteuid() == 0:
        return Path("/var/cache/headwater/servers")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "headwater" / "servers"


def cached_servers() -> dict[int, Path]:
    """The programs' directory by major version, of what was fetched before."""
    found = cache_directory().glob("*/usr/lib/postgresql/*/bin")
    return dict(sorted((int(path.parts[-2]), path) for path in found))


def fetch_missing() -> dict[str, str]:
    """Fetch the releases that the cache lacks; why, for each that the mirror does not give."""
    refused: dict[str, str] = {}
    for suite in SUITES:
        if not (cache_directory() / suite).exists():
            try:
                fetch(suite)
            except RuntimeError as exc:
                refused[suite] = str(exc)
    return refused


def fetch(suite: str) -> None:
    """Fetch a release's newest server into the cache, whole or not at all."""
    cache_directory().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache_directory()) as directory:
        work, root = Path(directory), Path(directory) / "root"
        environment = _private_apt(work, suite)
        _run("apt-get", "update", "-qq", environment=environment)
        names = _run("apt-cache", "pkgnames", "postgresql-", environment=environment)
        version = max(int(number) for number in _NAME.findall(names))
        install = ["apt-get", "install", "-y", "-qq", "--download-only"]
        _run(*install, f"postgresql-{version}", environment=environment)
        for package in sorted((work / "cache" / "archives").glob("*.deb")):
            _run("dpkg-deb", "-x", str(package), str(root))
        _wrap_programs(root, cache_directory() / suite, version)
        root.chmod(0o755)
        root.rename(cache_directory() / suite)


def _private_apt(work: Path, suite: str) -> dict[str, str]:
    """An apt that knows one release and no installed package, and keeps the machine's proxy."""
    for part in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d"):
        (work / part).mkdir(parents=True)
    (work / "status").touch()
    dated = " check-valid-until=no" if suite in _NEVER_STABLE else ""
    source = f"deb [signed-by={_KEYRING}{dated}] {_mirror()} {suite} main\n"
    (work / "etc" / "sources.list").write_text(source)
    known = _run("apt-config", "dump").splitlines()
    kept = [line for line in known if re.match(r"Acquire::(https?|Retries|ForceIPv\d)\b", line)]
    own = [
        f'Dir::State "{work}/state";',
        f'Dir::State::status "{work}/status";',
        f'Dir::Cache "{work}/cache";',
        f'Dir::Etc "{work}/etc";',
        'APT::Install-Recommends "false";',
        'APT::Sandbox::User "";',
    ]
    (work / "apt.conf").write_text("\n".join([*kept, *own]) + "\n")
    return {**os.environ, "APT_CONFIG": str(work / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive"}


def _mirror() -> str:
    """The mirror that the machine's own release comes from."""
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = _run("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    for line in targets.splitlines():
        uri, suite, component = line.split()
        if (suite, component) == (release, "main"):
            return uri
    raise RuntimeError(f"apt knows no mirror of Debian {release} main")


def _wrap_programs(root: Path, home: Path, version: int) -> None:
    """Replace each program by a script that runs it through the unpacked loader."""
    loader = next(root.glob("usr/lib/*/ld-linux*.so.*"))
    libraries = home / loader.parent.relative_to(root)
    programs = root / "usr" / "lib" / "postgresql" / str(version) / "bin"
    real = programs.with_name("real")
    programs.rename(real)
    programs.mkdir()
    for program in real.iterdir():
        script = programs / program.name
        # The server finds its own files beside the name that it was called by.
        script.write_text(
            f"#!/bin/sh\nexec {libraries / loader.name} --library-path {libraries} "
            f'--argv0 "$0" {home / real.relative_to(root) / program.name} "$@"\n'
        )
        script.chmod(0o755)


def _run(*command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def main() -> int:
    if shutil.which("apt-get") is None:
        print("this needs Debian's apt-get")
        return 3
    refused = fetch_missing()
    for version, directory in cached_servers().items():
        print(version, directory)
    for suite, reason in refused.items():
        print(f"{suite}: {reason}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
