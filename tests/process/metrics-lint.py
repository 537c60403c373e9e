"""Whether a page of metrics is what scrapers expect: python3 metrics-lint.py FORMAT < page, where FORMAT is the page's
content type. Prints what is wrong, a line each. The parsers are those of Prometheus' client for Python; what they let
pass, and promtool would not, is looked at here. Not for what the figures mean: test-metrics.R."""

import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

BASE_UNITS = ("seconds", "bytes")
OTHER_UNITS = ("milliseconds", "microseconds", "minutes", "hours", "kilobytes", "megabytes", "percent")


def histogram(family):
    """What is wrong with the buckets of a histogram."""
    series = {}
    for sample in family.samples:
        labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
        series.setdefault(labels, []).append(sample)
    for labels, samples in series.items():
        buckets = [(float(s.labels["le"]), s.value) for s in samples if s.name.endswith("_bucket")]
        counts = [s.value for s in samples if s.name.endswith("_count")]
        sums = [s.value for s in samples if s.name.endswith("_sum")]
        where = f"{family.name}{dict(labels)}"
        if buckets != sorted(buckets) or [n for _, n in buckets] != sorted(n for _, n in buckets):
            yield f"{where}: its buckets do not grow"
        if not buckets or buckets[-1][0] != float("inf") or [buckets[-1][1]] != counts:
            yield f"{where}: the last bucket is not +Inf, or not the count"
        if len(sums) != 1 or sums[0] < 0:
            yield f"{where}: it has no sum"


def lint(page, content_type):
    is_openmetrics = content_type.startswith("application/openmetrics-text")
    families = list((parse_openmetrics if is_openmetrics else parse_text)(page))
    if is_openmetrics and not page.endswith("# EOF\n"):
        yield "it does not end with # EOF"
    names = re.findall(r"^# TYPE (\S+) ", page, re.M)
    if len(names) != len(set(names)):
        yield "a family is there twice"
    for family in families:
        name = family.name
        if not re.fullmatch(r"drover(_[a-z0-9]+)+", name):
            yield f"{name}: no name of drover's"
        if not family.documentation.endswith("."):
            yield f"{name}: HELP is no sentence"
        if family.type not in ("counter", "gauge", "histogram"):
            yield f"{name}: of type {family.type}"
        if any(unit in name.split("_") for unit in OTHER_UNITS):
            yield f"{name}: not in a base unit"
        unit = next((unit for unit in BASE_UNITS if unit in name.split("_")), "")
        if is_openmetrics and family.unit != unit:
            yield f"{name}: UNIT is {family.unit!r}"
        if family.type == "gauge" and name.endswith("_total"):
            yield f"{name}: a gauge that ends with _total"
        for sample in family.samples:
            if family.type == "counter" and (not sample.name.endswith("_total") or sample.value < 0):
                yield f"{sample.name}: no counter"
            for label in sample.labels:
                if not re.fullmatch("[a-z]+", label):
                    yield f"{sample.name}: label {label}"
        if family.type == "histogram":
            yield from histogram(family)


for wrong in lint(sys.stdin.read(), sys.argv[1]):
    print(wrong)
