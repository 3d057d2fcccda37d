"""Names of months in English, German, French, Spanish and Italian, in full or shortened."""

_NAMES = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
)
_PLAIN = str.maketrans("äéèû", "aeeu")
_OTHERS = {"mrz": 3, "maerz": 3, "setiembre": 9}
SHORT = (3, 4)  # letters of a shortened name


def _months() -> dict[str, int]:
    found: dict[str, set[int]] = {name: {month} for name, month in _OTHERS.items()}
    for names in _NAMES:
        for month, full in enumerate(names.split(), 1):
            for name in (full, full.translate(_PLAIN)):
                for spelling in (name, *(name[:n] for n in SHORT)):
                    found.setdefault(spelling, set()).add(month)
    return {name: months.pop() for name, months in found.items() if len(months) == 1}


MONTH_OF = _months()  # but not jui, which may be June or July
ANY_MONTH = "|".join(sorted(MONTH_OF, key=lambda name: (-len(name), name)))
