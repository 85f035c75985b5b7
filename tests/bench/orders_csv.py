"""Write the benchmark CSV: orders_csv.py ROWS FILE [--bad-every N]. Deterministic; 88 MB at 1,000,000 rows."""

import argparse
import csv
import datetime
import random
from collections.abc import Iterator

COUNTRIES = ["US", "DE", "FR", "IN", "BR", "JP", "GB", "CN", "ZA", "MX"]
COLUMNS = ["order_id", "customer_id", "email", "age", "country", "amount", "note", "updated_at"]


def rows(n: int, bad_every: int) -> Iterator[list[object]]:
    rng, start = random.Random(1), datetime.datetime(2026, 1, 1)
    for i in range(1, n + 1):
        email = "bad" if bad_every and i % bad_every == 0 else f"user{i}@example.com"
        yield [
            i,
            rng.randrange(100_000),
            email,
            rng.randrange(18, 90),
            rng.choice(COUNTRIES),
            f"{rng.random() * 1000:.2f}",
            f"some note text {i % 1000}",
            (start + datetime.timedelta(seconds=i)).isoformat(sep=" "),
        ]


if __name__ == "__main__":
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("rows", type=int)
    args.add_argument("file")
    args.add_argument("--bad-every", type=int, default=1000)
    a = args.parse_args()
    with open(a.file, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        writer.writerows(rows(a.rows, a.bad_every))
