"""Columns that name single people or records: a draft leaves them out and lists no value of them.

Each rule looks at the column's name or at its values and gives a reason in words, which quotes no
value. The rules are guesses on the safe side: a column that is left out by mistake costs its reader
one line of the schema, a column of names that is listed costs people their privacy.

A value is listed only if at least ``RARE`` rows have it. What fewer rows have may be the data of a
single person: a patient with nine visits, the one case of a rare diagnosis. Statistical offices
suppress small cells for this reason; ten rows, because a person may have several of them.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pandas as pd

#: Rows (people, where the draft knows them) that a value needs to be listed by a draft.
RARE = 10
#: The most values that a draft lists for one column; longer lists come from a code book.
MOST_LISTED = 500
#: Share of values that counts as nearly all.
MOSTLY = 0.9
#: With fewer rows than this nothing is said of whole numbers by their values.
FEW = 20
#: A text of more letters, or columns with a median above the half of it, is a note and no category.
LONG_TEXT = 100

LOOKS = "its values look like {}"
DATES = "its values look like dates; describe it as kind: datetime with their format"
NUMBERS = (
    "nearly all of its values are numbers, but not all; if a text stands for missing ones, name it "
    "with --missing"
)
RECORDS = "numbers of people or records"
PEOPLE = "names of people"

# -- by values ---------------------------------------------------------------------

DATE = r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?"
#: One value in which this is found is enough.
ANY = {
    "e-mail addresses": r"(?i)[^\s@]+@[^\s@]+\.[a-z]{2,}",
    "web addresses": r"(?i)(?:https?|ftp)://|\bwww\.",
}
#: Half of the values must look so.
HALF = {
    "IP addresses": r"(?i)(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}",
    "account numbers": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?",
    # United States, United Kingdom, France, Germany, Spain
    "social security numbers": r"\d{3}-\d{2}-\d{4}|[A-Z]{2} ?(?:\d{2} ?){3}[A-D]|"
    r"[12] ?(?:\d{2} ?){3}\d{3} ?\d{3}(?: ?\d{2})?|\d{2} ?\d{6} ?[A-Z] ?\d{3}|[XYZ\d]\d{7}-?[A-Z]",
    "codes of single records": r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{16,}",
    # 7 to 15 digits, and no date
    "phone numbers": rf"(?!{DATE}$)(?=(?:\D*\d){{7,15}}\D*$)"
    r"(?:(?:\+|0|\()[\d\s().\-/]{5,}\d|\d{2,5}[ ./-][\d ./-]{4,}\d)",
}
TITLE = r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau|Mme|Sra?)\.?|M\.) +[^\W\d_]"
#: Two or three words with capitals, perhaps turned around by a comma.
FULL_NAME = r"[^\W\d_a-z][^\W\d_]+[\w'\u2019.-]*(?:,? [^\W\d_a-z](?:[^\W\d_]|['\u2019.-])*){1,2}"

# -- by the column's name ------------------------------------------------------------

#: Words of columns' names in English, German, French and Spanish.
WORDS = {
    meaning: frozenset(text.split())
    for meaning, text in {
        "person": "patient patienten paciente customer client cliente kunde kunden subject person "
        "personen persona personne personal participant proband probanden teilnehmer member "
        "mitglied employee mitarbeiter employe empleado student user usuario utilisateur insured "
        "versicherten assure respondent guest donor beneficiary holder owner contact doctor "
        "physician surgeon attending provider nurse arzt aerztin medecin medico teacher mother "
        "father spouse guardian passenger",
        # beside "name" these make it the name of a person: not those of drug_name or country_name
        "of a person": "first last full family given middle maiden birth legal real nick s of the "
        "de del du la le y et famille naissance completo complet nachname und and",
        "name": "name names nom noms nombre nombres",
        "surely a name": "surname surnames lastname firstname forename fullname familyname "
        "givenname maidenname username middlename nachname vorname familienname geburtsname "
        "rufname prenom prenoms apellido apellidos",
        "e-mail": "mail email emails courriel correo",
        "phone": "phone telephone tel mobile mobil cellphone fax telefon telefono handy movil "
        "rufnummer",
        "address": "address addr street adresse anschrift strasse rue calle domicilio direccion",
        "id": "id ids identifier identifiant identificador kennung uuid guid account konto compte "
        "cuenta kennzeichen",
        "surely an id": "ssn nhs mrn nir dni nif nie curp iban passport passeport pasaporte "
        "reisepass ausweis svnr ahv avs insee cpr bsn imei steuerid matricule matricula "
        "personnummer sozialversicherungsnummer versichertennummer versicherungsnummer "
        "steuernummer",
        "number": "no nr num number nummer numero",
        "security": "security securite seguridad",
        "filed": "account card case chart file policy record insurance license licence",
        "code": "zip zipcode plz postcode postal postleitzahl code codes codigo",
        # a column "name" of such values says whether there is one
        "yes or no": "yes no y n true false t f 1 0 1.0 0.0 ja nein j oui non o si s",
    }.items()
}


def words(name: str) -> list[str]:
    """The words of a column's name, in small letters and without accents.

    Examples
    --------
    >>> words("PatientID"), words("Numéro_du-patient"), words("e-Mail 2")
    (['patient', 'id'], ['numero', 'du', 'patient'], ['e', 'mail'])
    """
    split = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Ý])", " ", name)
    plain = unicodedata.normalize("NFKD", split.casefold())
    return re.findall(r"[a-z]+", "".join(c for c in plain if not unicodedata.combining(c)))


def said_by_name(name: str) -> tuple[str, bool] | None:
    """What a column holds by its name, and whether that is sure however few values it has.

    Examples
    --------
    >>> said_by_name("drug_name"), said_by_name("number_of_patients"), said_by_name("last name")
    (None, None, ('names of people', True))
    """
    said = words(name)
    has = {meaning: frozenset(said) & known for meaning, known in WORDS.items()}
    person, of_names = WORDS["person"], WORDS["name"] | WORDS["person"] | WORDS["of a person"]
    numbered = len(said) > 1 and said[-1] in WORDS["number"]
    counted = numbered or said[:1] in (["numero"], ["no"])
    german = [w for w in said if w.endswith(("nummer", "nr")) and w not in WORDS["number"]]
    rules = (
        (has["surely a name"] or (has["name"] and of_names.issuperset(said)), PEOPLE, True),
        (any(w.endswith("name") and w[:-4] in of_names for w in said), PEOPLE, True),
        (has["e-mail"], "e-mail addresses", False),
        (has["phone"] or any("telefon" in w or "phone" in w for w in said), "phone numbers", False),
        (has["address"] or any(w.endswith("strasse") for w in said), "addresses", False),
        (has["surely an id"] or (numbered and has["security"]), RECORDS, True),
        (has["person"] and (counted or has["id"]), RECORDS, True),
        (any(w.endswith("id") and w[:-2] in person for w in said), RECORDS, True),
        (any(w.startswith(p) for w in german for p in person if len(p) > 4), RECORDS, True),
        (has["id"] or german or (numbered and has["filed"]), RECORDS, False),
        (len(said) == 1 and has["person"], RECORDS, False),
    )
    return next(((what, sure) for fits, what, sure in rules if fits), None)


# -- both ------------------------------------------------------------------------------


def why_left_out(name: str, values: pd.Series) -> str | None:
    """Why a draft must leave a column out; None if it may be described.

    Of the ``values`` there is one for each row, or for each person who has it; none is missing.
    """
    if values.empty or pd.api.types.is_bool_dtype(values.dtype):
        return None
    counts = values.value_counts()
    counts = counts[counts > 0]
    texts = [value for value in counts.index if isinstance(value, str)]
    if texts:
        several = len(counts) > FEW and len(texts) < (1 - MOSTLY) * len(counts)
        if several and not isinstance(values.dtype, pd.CategoricalDtype):
            return NUMBERS  # the others are numbers already
        return _why_hinted(name, counts) or _why_texts(name, texts) or _why_listed(counts)
    numbers = all(isinstance(v, int | float | np.integer | np.floating) for v in counts.index)
    found = _why_numbers(name, values.to_numpy(dtype=float)) if numbers else None
    return found or (_why_listed(counts) if is_code(name, values) else None)


def is_code(name: str, values: pd.Series) -> bool:
    """Whether whole numbers are labels by their column's name, such as postcodes.

    Examples
    --------
    >>> is_code("zip_code", pd.Series([10115, 80331])), is_code("age", pd.Series([35, 41]))
    (True, False)
    """
    if WORDS["code"].isdisjoint(words(name)) or values.dtype.kind not in "iuf":
        return False
    numbers = values.to_numpy(dtype=float)
    return bool(np.all(np.isfinite(numbers) & (numbers == np.round(numbers))))


def listed(values: pd.Series) -> list[object]:
    """The values that at least ``RARE`` rows have."""
    counts = values.value_counts()
    return list(counts[counts >= RARE].index)


def names_people(reason: str) -> bool:
    """Whether a column that was left out for this reason tells people apart."""
    parts = ("people", "e-mail", "phone", "social security", "codes of single", "accounts")
    return any(part in reason for part in parts)


def _why_hinted(name: str, counts: pd.Series) -> str | None:
    said = said_by_name(name)
    if said is None:
        return None
    what, sure = said
    said_yes = all(str(value).strip().casefold() in WORDS["yes or no"] for value in counts.index)
    harmless = said_yes if sure else len(counts) <= FEW and counts.min() >= RARE
    return None if harmless else f"by its name it holds {what}"


def _why_texts(name: str, texts: list[str]) -> str | None:
    stripped = [text.strip() for text in texts]
    several = len(stripped) > FEW

    def share(pattern: str) -> float:
        return float(np.mean([re.fullmatch(pattern, text) is not None for text in stripped]))

    for what, pattern in ANY.items():
        if any(re.search(pattern, text) for text in stripped):
            return LOOKS.format(what)
    if share(DATE) >= MOSTLY:
        return DATES if several else None
    for what, pattern in HALF.items():
        if share(pattern) >= 0.5:
            return LOOKS.format(what)
    of_people = several or not WORDS["person"].isdisjoint(words(name))
    if any(re.match(TITLE, t) for t in stripped) or (of_people and share(FULL_NAME) >= MOSTLY):
        return "its values are names of people"
    lengths = [len(text) for text in stripped]
    if max(lengths) > LONG_TEXT or np.median(lengths) > LONG_TEXT / 2:
        return "its values are long texts, in which anything may stand"
    numbers = pd.to_numeric(pd.Series(stripped, dtype=object), errors="coerce").notna().mean()
    return NUMBERS if several and 0.8 < numbers < 1 else None


def _why_listed(counts: pd.Series) -> str | None:
    rows, common = counts.sum(), counts[counts >= RARE]
    if len(counts) >= MOSTLY * rows:
        return "nearly every row has a value of its own"
    if 2 * common.sum() < rows:
        return f"most of its rows have a value that fewer than {RARE} rows have"
    many = f"it has more than {MOST_LISTED} values; describe it with the list of a code book"
    return many if len(common) > MOST_LISTED else None


def _why_numbers(name: str, values: np.ndarray) -> str | None:
    """Whole numbers that name people or records; measurements may be as different as they are."""
    if not np.all(np.isfinite(values)) or np.any(values != np.round(values)):
        return None
    counts = pd.Series(values).value_counts()
    what, _ = said_by_name(name) or ("", False)
    if what == RECORDS or (what == "phone numbers" and np.median(values) > 1e5):
        reason = _why_hinted(name, counts)
        if reason:
            return reason
    rows, low, high = len(values), values.min(), values.max()
    if rows < FEW or len(counts) < FEW:
        return None
    digits = np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    same = (digits == np.median(digits)).mean() >= MOSTLY
    if low >= 1e7 and same and not _are_moments(low, high):
        return "its whole numbers are long and different, as numbers of people and accounts are"
    if len(counts) < MOSTLY * rows:
        return None
    # so many different ones of independent draws would lie in a range five times as wide; if all
    # of them lie on a grid, such as every third number, its points are counted
    steps = np.diff(np.sort(counts.index.to_numpy()))
    step = np.gcd.reduce(steps.astype(np.int64)) if high - low < 2.0**62 else 1
    consecutive = len(counts) >= 0.5 * ((high - low) / max(step, 1) + 1)
    reason = "its whole numbers are different and without gaps, as numbers of records are"
    return reason if consecutive else None


def _are_moments(low: float, high: float) -> bool:
    """Whether whole numbers can be days as yyyymmdd, or seconds (or parts of them) since 1970."""
    days = low >= 1800_01_01 and high <= 2200_12_31
    return days or any(low >= 1e9 * unit and high <= 2.5e9 * unit for unit in (1, 1e3, 1e6, 1e9))
