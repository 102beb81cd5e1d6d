"""INV-12: no secret leaves."""

from __future__ import annotations

import gc

from headwater.observe import Redactor
from headwater.secret import Secret, live_secrets


def test_redactor_masks_every_form_when_a_secret_is_live() -> None:
    secret = Secret('p@ss/w"rd\n')
    shown = Redactor().text('plain p@ss/w"rd\n quoted p%40ss%2Fw%22rd%0A escaped p@ss/w\\"rd\\n')
    assert shown == "plain *** quoted *** escaped ***"
    assert secret.reveal() not in shown


def test_redactor_masks_the_longer_one_whole_when_secrets_overlap() -> None:
    secrets = [Secret("abc"), Secret("abcdef")]
    assert Redactor().text("x abcdef y abc") == "x *** y ***"
    assert secrets


def test_redactor_masks_userinfo_when_a_url_carries_it() -> None:
    text = "cannot reach postgres://bob:hunter2@db:5432/shop and https://token@x.org/a@b"
    assert (
        Redactor().text(text)
        == "cannot reach postgres://***@db:5432/shop and https://***@x.org/a@b"
    )


def test_redactor_goes_through_structures_when_values_are_nested() -> None:
    secret = Secret("12345")
    clean = Redactor().value(
        {"a": [1, 12345, {"k12345": "x12345"}], "b": None, "c": True, "d": 1.5}
    )
    assert clean == {"a": [1, "***", {"k***": "x***"}], "b": None, "c": True, "d": 1.5}
    assert secret.reveal() == "12345"


def test_secret_is_forgotten_when_nobody_holds_it() -> None:
    first, second = Secret("twice"), Secret("twice")
    del first
    gc.collect()
    assert Redactor().text("twice") == "***"
    assert any(each is second for each in live_secrets())
    del second
    gc.collect()
    assert Redactor().text("twice") == "twice"
