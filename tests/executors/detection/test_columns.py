"""Types, NULL texts, names and keys that are detected from values."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from executors.detection import DetectedColumn, Key, detect
from executors.grammar import Written, parse_column
from ir.nodes import SourceColumn
from ir.types import ColumnType
from tests.executors.detection.test_settings import codes, look


def column(*values: str) -> DetectedColumn:
    """Detect the second of two columns, with these values."""
    rows = "".join(f"{n};{value}\n" for n, value in enumerate(values))
    return look(f"id;x\n{rows}").columns[1]


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (("1", "0", "1"), "integer"),
        (("1", "-2147483649"), "bigint"),
        (("99999999999999999999", "1"), "string"),
        (("00123", "4567"), "string"),
        (("+431234567", "+439876543"), "string"),
        (("-7", "+8"), "integer"),
        (("1.5", "20"), "decimal(18,1)"),
        (("1e5", "2.5e-3"), "float"),
        (("1e-5", "2e3"), "float"),
        (("12E4", "561", "7e1"), "string"),
        (("true", "False"), "boolean"),
        (("yes", "no"), "boolean"),
        (("no", "no"), "string"),
        (("2024-01-31", "2024-02-29"), "date"),
        (("2024-01-31", "2024-02-30"), "string"),
        (("2024-01-31 10:00", "2024-01-31T10:00:00.5"), "timestamp"),
        (("2024-01-31T10:00:00Z", "2024-01-31 10:00:00+01:00"), "timestamptz"),
        (("10:30", "23:59:59"), "time"),
        (("6f9619ff-8b86-d011-b42d-00cf4fc964ff",), "uuid"),
        (('{"a": 1}', "[1, 2]"), "json"),
        (("5 €", "6 €"), "string"),
        (("3%", "4%"), "string"),
        (("1.2.3", "1.10.0"), "string"),
    ],
)
def test_the_type_is_the_narrowest_that_all_values_have(values, type):
    assert column(*values).type == type


def test_empty_texts_in_quotes_are_null_unless_the_column_is_text():
    typed, text = column('"7"', '""', '"8"', '"9"'), column('"a"', '""', '"b"', '"c"')
    assert (typed.type, typed.null_rate, typed.distinct) == ("integer", 0.25, 3)
    assert (text.type, text.null_rate, text.distinct) == ("string", 0.0, 4)


def test_the_reason_why_codes_stay_text_is_reported():
    assert "'00123'" in column("00123", "4567").note


@pytest.mark.parametrize(
    ("values", "type", "decimal", "group", "most"),
    [
        (("1.234,56", "99,00"), "decimal(18,2)", ",", ".", "1234.56"),
        (("12,5", "7"), "decimal(18,1)", ",", None, "12.5"),
        (("1,234.5", "7"), "decimal(18,1)", ".", ",", "1234.5"),
        (("1,234,567", "7"), "integer", ".", ",", "1234567"),
        (("1 234,5", "7,25"), "decimal(18,2)", ",", " ", "1234.50"),
        (("1'234.50", "7"), "decimal(18,2)", ".", "'", "1234.50"),
        (("1.5", "7.25"), "decimal(18,2)", None, None, "7.25"),
    ],
)
def test_separators_of_numbers_are_decided_by_values(values, type, decimal, group, most):
    found = column(*values)
    assert (found.type, found.decimal_separator, found.group_separator, found.max) == (type, decimal, group, most)


def test_a_comma_that_no_value_explains_keeps_the_column_text():
    found = look("id;x\n1;1,234\n2;5,678\n")
    assert (found.columns[1].type, codes(found)) == ("string", ["number.ambiguous"])


def test_other_columns_explain_a_comma():
    found = look("a;b\n1,234;7,5\n5,678;8,25\n")
    assert (found.columns[0].type, found.columns[0].max, codes(found)) == ("decimal(18,3)", "5.678", [])


@pytest.mark.parametrize(
    ("values", "type", "formats"),
    [
        (("01.02.2024", "03.04.2024"), "date", ("%d.%m.%Y",)),
        (("01/02/2024", "13/02/2024"), "date", ("%d/%m/%Y",)),
        (("01/02/2024", "02/13/2024"), "date", ("%m/%d/%Y",)),
        (("01.02.2024", "03.02.2024", "2024-02-15"), "date", ("%d.%m.%Y", "%Y-%m-%d")),
        (("05.01.2024 10:30", "25.01.2024 11:00"), "timestamp", ("%d.%m.%Y %H:%M",)),
        (("1/13/2024 1:05 PM", "2/14/2024 11:00 AM"), "timestamp", ("%m/%d/%Y %I:%M %p",)),
        (("Jan 5, 2024", "May 6, 2024"), "date", ("%b %d, %Y",)),
        (("Jan 5 2024", "March 6 2024"), "date", ("%b %d %Y", "%B %d %Y")),
        (("5-Jan-24", "6-Feb-24"), "date", ("%d-%b-%y",)),
        (("20240105", "20240106", "20240131"), "date", ("%Y%m%d",)),
        (("20240105", "20240106", "20241331"), "integer", ()),
    ],
)
def test_formats_of_dates_are_decided_by_values(values, type, formats):
    found = column(*values)
    assert (found.type, found.formats) == (type, formats)


def test_the_century_of_two_digit_years_is_reported():
    found = column("13.02.68", "14.02.69")
    assert (found.min, found.max) == ("1969-02-14", "2068-02-13")
    assert "from 69 are read as 1969" in found.note
    assert column("13.02.1968", "14.02.1969").note == ""


def test_dates_that_could_be_of_either_order_stay_text():
    found = look("id;x\n1;01/02/2024\n2;03/04/2024\n")
    assert (found.columns[1].type, codes(found)) == ("string", ["date.ambiguous"])


def test_days_that_are_the_same_in_each_order_do_not_decide():
    found = look("id;x\n1;01/01/2024\n2;02/02/2024\n")
    assert (found.columns[1].type, codes(found)) == ("string", ["date.ambiguous"])


def test_other_columns_determine_the_order_of_dates():
    found = look("a,b\n13/01/2024,01/02/2024\n14/01/2024,03/04/2024\n")
    assert (found.columns[1].formats, codes(found)) == (("%d/%m/%Y",), [])


def test_dates_of_both_orders_stay_text():
    found = look("id,x\n1,01/13/2024\n2,13/01/2024\n")
    assert (found.columns[1].type, codes(found)) == ("string", ["date.mixed_order"])


def test_the_deciding_date_may_come_late():
    rows = "".join(f"{n},{n % 12 + 1:02}/{n % 11 + 1:02}/{1900 + n % 99}\n" for n in range(3000))
    assert look(f"id,x\n{rows}3001,31/01/2024\n").columns[1].formats == ("%d/%m/%Y",)


def test_a_day_that_does_not_exist_is_a_misfit_also_where_days_repeat():
    days = [f"{n % 28 + 1:02}.12.2025" for n in range(200)]
    found = column(*days, "31.02.2026")
    assert (found.type, found.formats) == ("date", ("%d.%m.%Y",))


def test_timestamps_with_and_without_a_zone_stay_text():
    found = look("id,x\n1,2024-01-05T10:00:00Z\n2,2024-01-05T10:00:00\n")
    assert (found.columns[1].type, codes(found)) == ("string", ["timestamp.mixed_zones"])


def test_one_value_in_a_hundred_may_be_wrong_and_is_reported():
    rows = "".join(f"{n},{n % 28 + 1:02}.01.2024\n" for n in range(299))
    found = look(f"id,x\n{rows}300,unknown\n")

    assert (found.columns[1].type, found.columns[1].formats) == ("date", ("%d.%m.%Y",))
    [problem] = found.problems
    assert problem.message == "Column 'x': 1 of 300 values is not DD.MM.YYYY: 'unknown'."


def test_two_values_in_a_hundred_make_a_column_text():
    rows = "".join(f"{n},{n}\n" for n in range(98))
    assert look(f"id,x\n{rows}98,a\n99,b\n").columns[1].type == "string"


def test_words_beside_numbers_stand_for_null():
    found = look("id,a,b,c,d\n1,NA,-,NULL,n/a\n2,3,1.5,2024-01-01,true\n3,4,2.5,2024-01-02,false\n")

    assert [column.type for column in found.columns] == ["integer", "integer", "decimal(18,1)", "date", "boolean"]
    assert set(found.format.to_document()["nullValues"]) == {"NA", "-", "NULL", "n/a"}
    assert found.rows[0] == ("1", None, None, None, None)
    assert found.columns[1].null_rate == pytest.approx(1 / 3)


def test_words_in_text_are_text():
    found = look("id,country\n1,NA\n2,DE\n3,-\n")
    assert ("nullValues" in found.format.to_document(), found.rows[0]) == (False, ("1", "NA"))


def test_a_text_that_would_become_null_is_reported():
    found = look("id,x,country\n1,NA,NA\n2,3,DE\n")
    assert codes(found) == ["nulls.in_text"]


def test_words_in_quotes_are_no_null():
    found = look('"id","x"\n"1","NA"\n"2","3"\n')
    assert (found.rows[0], codes(found)) == (("1", "NA"), ["nulls.quoted"])


def test_target_names_are_lower_case_and_different():
    header = "Order ID,orderId,Größe (cm),2024,,_flow_x1,order_id"
    found = look(header.replace("_flow_x1", "Flow X") + "\n1,2,3,4,5,6,7\n", header=True)
    made = [column.target_name for column in found.columns]
    assert made == ["order_id", "order_id_2", "groesse_cm", "c_2024", "column_5", "c_flow_x", "order_id_3"]
    assert found.columns[0].name == "Order ID"


def test_no_target_name_is_that_of_a_system_column():
    assert [column.target_name for column in look("ctid,XMIN\n1,2\n").columns] == ["c_ctid", "c_xmin"]


def test_keys_are_columns_that_identify_rows_with_key_names_first():
    rows = "".join(f"name {n},{n * 7},{n % 3}\n" for n in range(30))
    assert look(f"name,customer_id,group\n{rows}").keys == (
        Key(("customer_id",), True, is_likely=True),
        Key(("name",), True, is_likely=True),
    )


def test_two_columns_are_a_key_where_no_single_one_is():
    rows = "".join(f"{order},{line},x\n" for order in range(5) for line in range(4))
    assert look(f"order,line,text\n{rows}").keys == (Key(("order", "line"), True),)


def test_a_pair_comes_before_amounts_that_differ_by_chance():
    rows = "".join(f"{order},{line},{order * 100 + line * 7}\n" for order in range(5) for line in range(4))
    assert look(f"order,line,amount\n{rows}").keys == (Key(("order", "line"), True), Key(("amount",), True))


def test_a_key_with_few_repeated_values_is_flagged_with_them():
    rows = "".join(f"{n},x\n" for n in range(200))
    assert look(f"id,text\n{rows}17,y\n").keys[-1] == Key(("id",), False, ("17",))


def test_bounds_counts_and_samples_are_reported():
    found = column("3", "10", "3", "")
    assert (found.min, found.max, found.distinct, found.null_rate) == ("3", "10", 2, 0.25)
    assert found.samples == ("3", "10")


def test_parquet_brings_its_own_types():
    sink = io.BytesIO()
    parquet.write_table(pa.table({"id": [1, 2], "at": pa.array([0, 1], pa.timestamp("us"))}), sink)
    found = detect(sink.getvalue(), "a.parquet", is_whole=True)

    assert [(column.name, column.type) for column in found.columns] == [("id", "bigint"), ("at", "timestamp")]
    assert (found.format.to_document(), found.rows[0]) == ({"type": "parquet"}, ("1", "1970-01-01 00:00:00"))
    assert codes(detect(sink.getvalue()[:50], "a.parquet", is_whole=False)) == ["columns.not_read"]


@pytest.mark.parametrize(
    "values",
    [
        ("1.234,56", "99,00", "12.345,00"),
        ("1’234.50", "99.00", "12'345.00"),
        ("1\u202f234,5", "12 345,25", "7,0"),
        ("01.02.2024", "2024-02-15", "31.12.2024"),
        ("13/02/2024 10:30", "14/02/2024 11:00", "2/3/2024 09:15"),
    ],
    ids=["points and comma", "apostrophes", "spaces", "two formats", "time of day"],
)
def test_a_run_with_the_detected_settings_reads_every_value(values: tuple[str, ...]) -> None:
    found = column(*values)
    settings = {"format": list(found.formats) or None, "decimalSeparator": found.decimal_separator}
    settings |= {"groupSeparator": found.group_separator}
    declared = SourceColumn.model_validate(
        {"name": "v", "type": found.type, **{name: value for name, value in settings.items() if value}}
    )
    typed, bad = parse_column(pa.array(values), ColumnType.parse(declared.type), Written.of(declared))
    assert found.type != "string"
    assert (bad.true_count, typed.null_count) == (0, 0)
