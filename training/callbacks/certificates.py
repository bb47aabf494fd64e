"""The output of a test of a gate: a certificate, an event and a line."""

from __future__ import annotations

from pathlib import Path

from training.callbacks.gate import Certificate
from training.run.callback import Log


def write_certificate(certificate: Certificate, folder: Path, log: Log, steps: int) -> None:
    """Write ``gate_<number>.json`` and log the result of the test.

    Parameters
    ----------
    certificate : Certificate
    folder : Path
        Made if need be.
    log : Log
    steps : int
        Decisions until now.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"gate_{certificate.number:04d}.json"
    certificate.write(path)
    log.event(
        "gate",
        step=steps,
        stage=certificate.stage,
        number=certificate.number,
        verdict=certificate.verdict,
        successes=certificate.successes,
        failures=certificate.failures,
        interval=list(certificate.interval),
        certificate=path.name,
    )
    log.say(
        f"gate of stage {certificate.stage}, test {certificate.number}: {certificate.verdict} "
        f"with {certificate.successes} of {certificate.successes + certificate.failures}"
    )
