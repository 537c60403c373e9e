"""What public programs say of the descriptions of the examples: run.py [NAME...], from the root, where NAME is a part of
the name of a test. tools/python-tests.sh runs it, and installs what it needs. Ends with "N passed, N failed, N skipped".

- openapi-spec-validator: each description, read as YAML, is one of OpenAPI 3.1;
- schemathesis: what examples answer to requests made of their descriptions is what these say;
- openapi-python-client: a client that is generated calls an example.

Not for what stands in a description: tests/testthat/test-openapi*.R.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

here = pathlib.Path(__file__).parent
sys.path[:0] = [str(here.parent / "browser"), str(here.parent / "lib")]
import failures  # noqa: E402
from server import Server  # noqa: E402
from wait import Limit, may_take, patience  # noqa: E402

examples = pathlib.Path("inst/examples")
bin_folder = pathlib.Path(sys.executable).parent
# It is of the package that is tested.
DROVER = subprocess.run(
    ["Rscript", "-e", "cat(drover::dr_cli_path())"], check=True, capture_output=True, text=True
).stdout
# Each request that schemathesis makes up is sent to R, one after the other.
EXAMPLES_OF_EACH = "10"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth"


class Skipped(Exception):
    """Why a test cannot be run here."""


def described(name, form):
    ran = subprocess.run(
        [DROVER, "openapi", str(examples / name), "--format", form], capture_output=True, text=True, timeout=patience()
    )
    if "there is no package called" in ran.stderr:
        raise Skipped(ran.stderr.strip().splitlines()[-1])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def validates(name):
    OpenAPIV31SpecValidator(yaml.safe_load(described(name, "yaml"))).validate()


def yaml_and_json_say_the_same():
    assert yaml.safe_load(described("openapi", "yaml")) == json.loads(described("openapi", "json"))


def a_broken_description_is_found():
    spec = json.loads(described("openapi", "json"))
    spec["paths"]["/v1/items/{id}"]["get"]["parameters"][0]["in"] = "nowhere"
    assert list(OpenAPIV31SpecValidator(spec).iter_errors()), "the validator finds nothing wrong with it"


def conforms(name):
    may_take(150)
    with Server(name) as server:
        ran = subprocess.run(
            [
                bin_folder / "schemathesis", "run", f"{server.url}/openapi.json", "--max-examples", EXAMPLES_OF_EACH,
                "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--seed", "1", "--generation-database",
                "none", "--no-color", "--header", "Authorization: Bearer a-token-of-at-least-16-bytes",
            ],
            capture_output=True, text=True, cwd=tempfile.gettempdir(),
        )
        assert ran.returncode == 0, f"{ran.stdout[-6000:]}{ran.stderr[-2000:]}"
        # else it has tested nothing
        assert re.search(r"Test cases:\s*\n?\s*[1-9][0-9]* generated", ran.stdout), ran.stdout[-3000:]


# Uses the client that was generated, as its user would.
CLIENT = """
import sys
from stock_client import AuthenticatedClient
from stock_client.api.stock import add_item, get_item, list_items, worth
from stock_client.models import AddItemBody
client = AuthenticatedClient(base_url=sys.argv[1], token="a-token-of-at-least-16-bytes")
added = add_item.sync(client=client, body=AddItemBody(name="scarf", price=9.9))
assert (added.name, added.price) == ("scarf", 9.9), added
assert get_item.sync(added.id, client=client).name == "scarf"
assert [one.name for one in list_items.sync(client=client, limit=1)] == ["hat"]
assert worth.sync(client=client).worth == 22.4
refused = add_item.sync_detailed(client=client, body=AddItemBody(name="", price=-1))
assert refused.status_code == 422 and {e.field for e in refused.parsed.errors} == {"/name", "/price"}, refused
"""


def a_generated_client_works():
    with Server("openapi") as server, tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "config.yaml")
        config.write_text("package_name_override: stock_client\nproject_name_override: stock-client\npost_hooks: []\n")
        subprocess.run(
            [bin_folder / "openapi-python-client", "generate", "--url", f"{server.url}/openapi.json", "--config", config,
             "--output-path", f"{folder}/client"],
            check=True, timeout=patience(), capture_output=True,
        )
        ran = subprocess.run(
            [sys.executable, "-c", CLIENT, server.url], capture_output=True, text=True, timeout=patience(),
            env={**os.environ, "PYTHONPATH": f"{folder}/client"},
        )
        assert ran.returncode == 0, ran.stderr


def tests():
    for name in sorted(folder.name for folder in examples.iterdir()):
        yield f"the description of {name} is one", lambda name=name: validates(name)
    yield "YAML and JSON say the same", yaml_and_json_say_the_same
    yield "a broken description is found", a_broken_description_is_found
    for name in ("openapi", "json-api", "mounts"):
        yield f"{name} answers as described", lambda name=name: conforms(name)
    yield "a generated client works", a_generated_client_works


def main(names):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for title, test in tests():
        if names and not any(part in title for part in names) or not failures.to_be_run(title):
            continue
        try:
            with Limit():
                test()
            how, why = "passed", ""
        except Skipped as reason:
            how, why = "skipped", f": {reason}"
        except Exception:  # whatever goes wrong in a test is that test's failure
            how, why = "failed", f"\n{traceback.format_exc()}"
            failures.note(title, traceback.format_exc())
        counts[how] += 1
        print(f"{'ok' if how == 'passed' else how}: {title}{why}", flush=True)
    print(", ".join(f"{count} {how}" for how, count in counts.items()))
    return counts["failed"] > 0 or not counts["passed"]


sys.exit(main(sys.argv[1:]))
