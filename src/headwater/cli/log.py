"""`headwater log …`: look into a log file, check it, repair it, trim it, set a consumer back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

LogPath = Annotated[Path, typer.Argument(metavar="PATH", help="The log file.")]

# What `lag_cells` has.
LAG = ("LAG", "BYTES", "AGE")

log_app = typer.Typer(help="Work on a log file.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    log_app.command("info", epilog=example("headwater log info shop.hwlog"))(info)
    log_app.command("check", epilog=example("headwater log check shop.hwlog"))(check)
    log_app.command("repair", epilog=example("headwater log repair shop.hwlog --config shop.yaml"))(
        repair
    )
    log_app.command("retain", epilog=example("headwater log retain shop.hwlog --max-age 7d"))(
        retain
    )
    log_app.command("rewind", epilog=example("headwater log rewind shop.hwlog billing 1200"))(
        rewind
    )
    app.add_typer(log_app, name="log")


def info(path: LogPath, as_json: Json = False) -> None:
    """Show what a log holds and how far each consumer is."""
    from headwater.app.logs import log_info

    with reporting("log info", as_json=as_json) as out:
        facts = log_info(path)
        out.say(grid(("", ""), _fact_rows(facts)))
        if facts["cursors"]:
            out.say()
            rows = [
                (
                    cursor["name"],
                    f"{cursor['acked']:,}",
                    *lag_cells(cursor),
                    "yes" if cursor["required"] else "no",
                    moment(cursor["updated_at_ms"]),
                )
                for cursor in facts["cursors"]
            ]
            names = ("CONSUMER", "ACKED", *LAG, "REQUIRED", "UPDATED")
            out.say(grid(names, rows, (1, 2, 3, 4)))
        for hole in facts["holes"]:
            span = f"{hole['first_sequence']:,} to {hole['last_sequence']:,}"
            if hole["restored_by"]:
                out.mark("info", f"hole {span}: restored up to event {hole['restored_by']:,}")
            else:
                out.mark("error", f"hole {span}: {hole['reason']}")
        out.done(f"{facts['events']:,} events, {len(facts['cursors'])} consumers", facts)


def check(path: LogPath, as_json: Json = False) -> None:
    """Compare every stored batch with its checksum."""
    from headwater.app.logs import check_log

    with reporting("log check", as_json=as_json) as out:
        damages = check_log(path)
        if not damages:
            out.mark("ok", "every stored batch matches its checksum and no event is missing")
            out.done("the log is sound", {"damages": []})
            return
        _show_damage(out, damages)
        out.hint(f"headwater log repair {shlex.quote(str(path))} --config FILE")
        out.done(f"{len(damages)} damaged ranges", {"damages": damages}, ok=False)


def repair(
    path: LogPath,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The pipeline, whose source restores what was lost."),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only show what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Save what is sound, restore the rest from the source.

    The damaged file stays beside the new one. Single changes inside a damaged range are gone for
    good; the state of every row is restored by the snapshot.
    """
    from headwater.app.repair import repair_log

    with reporting("log repair", as_json=as_json, config=config) as out:
        outcome = repair_log(path, config, dry_run=dry_run)
        _show_damage(out, outcome["damages"])
        for step in outcome["steps"]:
            out.mark("info" if dry_run else "ok", step)
        out.say(outcome["summary"], style="bold")
        out.done(outcome["summary"], outcome)


def retain(
    path: LogPath,
    max_age: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Remove older events, such as 7d.")
    ] = None,
    max_bytes: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Keep at most this much, such as 10GB.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove old events, as far as consumers allow."""
    from headwater.app.logs import retain_log
    from headwater.cli.arguments import duration, size

    with reporting("log retain", as_json=as_json) as out:
        if max_age is None and max_bytes is None:
            raise typer.BadParameter("say what to keep: --max-age 7d, --max-bytes 10GB, or both")
        report = retain_log(path, max_age_ms=duration(max_age), max_bytes=size(max_bytes))
        summary = f"removed {report['removed_events']:,} events ({report['removed_bytes']:,} bytes)"
        out.mark("ok", f"{summary}; the log now begins at {report['tail']:,}")
        if report["held_by"]:
            out.mark("warning", f"consumer {report['held_by']} still needs the rest")
        out.done(summary, report)


def rewind(
    path: LogPath,
    consumer: Annotated[str, typer.Argument(help="The consumer's name.")],
    sequence: Annotated[int, typer.Argument(help="It reads everything after this number again.")],
    as_json: Json = False,
) -> None:
    """Set a consumer back, so that it receives events again."""
    from headwater.app.logs import rewind_cursor

    with reporting("log rewind", as_json=as_json) as out:
        rewind_cursor(path, consumer, sequence)
        out.mark("ok", f"{consumer} reads on after event {sequence:,}")
        out.done(f"{consumer} is at {sequence}", {"consumer": consumer, "acked": sequence})


def lag_cells(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    """Events that wait, their bytes, and how long the oldest of them has waited."""
    if not facts["lag_events"]:
        return "0", "", ""
    age = timedelta(seconds=round(facts["lag_s"]))
    return f"{facts['lag_events']:,}", human_bytes(facts["lag_bytes"]), str(age)


def moment(ts_ms: int) -> str:
    """A time for people, in UTC."""
    if not ts_ms:
        return "never"
    return datetime.fromtimestamp(ts_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def human_bytes(count: float) -> str:
    """A size for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _fact_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    span = f"{facts['tail']:,} to {facts['head']:,}" if facts["events"] else "none"
    return [
        ("path", facts["path"]),
        ("source", facts["source"] or "none yet"),
        ("events", f"{facts['events']:,} ({span})"),
        ("size", f"{human_bytes(facts['file_bytes'])} in {facts['segments']:,} segments"),
        ("schemas", str(facts["schemas"])),
        ("last append", f"{moment(facts['appended_at_ms'])} UTC"),
        ("position", facts["position"] or "none yet"),
    ]


def _show_damage(out: Report, damages: list[dict[str, Any]]) -> None:
    for each in damages:
        span = f"{each['first_sequence']:,} to {each['last_sequence']:,}"
        out.mark("error", f"damage {span}: {each['reason']}")
