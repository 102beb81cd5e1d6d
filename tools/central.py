"""A file of Maven Central, by the name of its package: by the Ivy that comes with PySpark."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pyspark

from headwater.spark.jars import java_command

_IVY_FILE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.headwater" module="test"/>
  <dependencies>
    <dependency org="{org}" name="{name}" rev="{version}" transitive="false">
      <artifact name="{name}" type="{ext}" ext="{ext}" m:classifier="{classifier}"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
# Maven Central, and the file alone: the poms above it are of no use here.
_SETTINGS_FILE = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""
_TIMEOUT_S = 600


def download(work: Path, package: str, ext: str, sha256: str) -> Path:
    """The file of `org:name:version:classifier`, below `work`; it must have this digest."""
    org, name, version, classifier = package.split(":")
    asked = {"org": org, "name": name, "version": version, "classifier": classifier, "ext": ext}
    (work / "ivy.xml").write_text(_IVY_FILE.format_map(asked))
    (work / "settings.xml").write_text(_SETTINGS_FILE)
    ivy = next(Path(pyspark.__path__[0]).glob("jars/ivy-*.jar"))
    done = subprocess.run(
        [
            *(java_command(), "-jar", str(ivy), "-settings", str(work / "settings.xml")),
            *("-ivy", str(work / "ivy.xml")),
            *("-cache", str(work / "cache"), "-retrieve", str(work / "got" / "[artifact].[ext]")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    got = work / "got" / f"{name}.{ext}"
    if not got.exists():
        tail = " ".join((done.stdout + done.stderr).split())[-500:]
        raise RuntimeError(f"{package} could not be fetched: {tail}")
    if hashlib.sha256(got.read_bytes()).hexdigest() != sha256:
        raise RuntimeError(f"{package} is not the file that was asked for")
    return got
