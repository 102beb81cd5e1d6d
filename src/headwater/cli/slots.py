"""`headwater slots …`: replication slots of a PostgreSQL server, and the log that they hold."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, grid, reporting
from headwater.cli.paste import config_in

Server = Annotated[
    str,
    typer.Argument(
        metavar="URL|FILE",
        envvar="DATABASE_URL",
        help="postgresql://…, or a configuration.",
        show_default=False,
    ),
]

slots_app = typer.Typer(help="Replication slots of a PostgreSQL server.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    slots_app.command(
        "list",
        epilog=example("headwater slots list shop.yaml", "headwater slots list $DATABASE_URL"),
    )(list_slots)
    slots_app.command("drop", epilog=example("headwater slots drop shop.yaml headwater_old"))(drop)
    app.add_typer(slots_app, name="slots")


def list_slots(server: Server, as_json: Json = False) -> None:
    """List the slots, who reads them, and the log kept for them.

    A slot that nobody reads makes the server keep its log, until the disk is full or
    max_slot_wal_keep_size is reached.
    """
    from headwater.app.postgres.slots import slots

    with reporting("slots list", as_json=as_json, config=config_in(server)) as out:
        facts = slots(server)
        if facts["slots"]:
            columns = ("SLOT", "DATABASE", "PLUGIN", "READ BY", "RETAINED", "STATUS", "CONFIRMED")
            out.say(grid(columns, [_row(each) for each in facts["slots"]], (4,)))
        count = len(facts["slots"])
        summary = f"{count} slot{'' if count == 1 else 's'} on {facts['server']}"
        out.say(summary, style="bold")
        out.done(summary, facts)


def drop(
    server: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="postgresql://…, or a configuration.")
    ],
    name: Annotated[str, typer.Argument(help="The slot's name.")],
    as_json: Json = False,
) -> None:
    """Drop a slot that nobody reads any more.

    A pipeline that still uses the slot finds a gap at its next start: the changes that it had not
    read yet are gone.
    """
    from headwater.app.postgres.slots import drop as drop_slot
    from headwater.cli.log import human_bytes

    with reporting("slots drop", as_json=as_json, config=config_in(server)) as out:
        facts = drop_slot(server, name)
        freed = facts["dropped"]["retained_bytes"]
        kept = f"; {human_bytes(freed)} of log were kept for it" if freed else ""
        summary = f"dropped {name} on {facts['server']}{kept}"
        out.mark("ok", summary)
        out.done(summary, facts)


def _row(slot: dict[str, Any]) -> tuple[str, ...]:
    from headwater.cli.log import human_bytes

    retained = slot["retained_bytes"]
    status = slot["wal_status"] or ""
    return (
        slot["name"],
        slot["database"] or "",
        slot["plugin"] or "physical",
        slot["read_by"] or "nobody",
        "" if retained is None else human_bytes(retained),
        f"lost: {slot['invalidation']}" if slot["invalidation"] else status,
        slot["confirmed"] or "",
    )
