"""What hvac, the Python client of Vault that Ansible uses, does against a service: address and token come by environment."""
import os
from importlib.metadata import version

import hvac
from hvac.exceptions import Forbidden, InvalidPath, InvalidRequest

address = os.environ["VAULT_ADDR"]


def client(token):
    return hvac.Client(url=address, token=token, verify=True)


reader = client(os.environ["READER"])
assert reader.is_authenticated()
assert reader.sys.is_initialized()
kv = reader.secrets.kv.v2
assert kv.read_secret_version(path="DATABASE_URL")["data"]["data"] == {"value": "postgres://one"}
assert kv.read_secret_version(path="apps/web")["data"]["data"] == {"user": "app", "password": "p"}
assert kv.read_secret_version(path="_all")["data"]["data"]["DATABASE_URL"] == "postgres://one"
assert kv.list_secrets(path="")["data"]["keys"] == ["DATABASE_URL", "apps/"]
assert kv.list_secrets(path="apps")["data"]["keys"] == ["web"]
assert kv.read_secret_metadata(path="DATABASE_URL")["data"]["current_version"] == 1
assert kv.read_configuration()["data"]["max_versions"] == 0
assert reader.lookup_token()["data"]["display_name"] == "reader"
assert reader.sys.read_health_status(method="GET")["sealed"] is False
assert reader.sys.is_sealed() is False

stranger = client(os.environ["READER"][:-8] + "00000000")
assert stranger.is_authenticated() is False
for refused, failure in (
    (lambda: stranger.secrets.kv.v2.read_secret_version(path="DATABASE_URL"), Forbidden),
    (lambda: kv.read_secret_version(path="NOT_THERE"), InvalidPath),
    (lambda: kv.create_or_update_secret(path="x", secret={"a": "b"}), Forbidden),
):
    try:
        refused()
        raise SystemExit("it was not refused")
    except failure as error:
        text = str(error)
        assert "permission denied" in text or failure is InvalidPath, text

writer = client(os.environ["WRITER"]).secrets.kv.v2
assert writer.create_or_update_secret(path="hvac", secret={"a": "1"}, cas=0)["data"]["version"] == 1
try:
    writer.create_or_update_secret(path="hvac", secret={"a": "2"}, cas=0)
    raise SystemExit("it was written twice")
except InvalidRequest as error:
    assert "check-and-set" in str(error)
assert writer.patch(path="hvac", secret={"b": "2"})["data"]["version"] == 2
assert kv.read_secret_version(path="hvac")["data"]["data"] == {"a": "1", "b": "2"}
writer.delete_latest_version_of_secret(path="hvac")
writer.undelete_secret_versions(path="hvac", versions=[2])
assert kv.read_secret_version(path="hvac")["data"]["data"] == {"a": "1", "b": "2"}
writer.delete_metadata_and_all_versions(path="hvac")
child = reader.create_token(ttl="20m")["auth"]["client_token"]
assert client(child).secrets.kv.v2.read_secret_version(path="DATABASE_URL")["data"]["data"]["value"] == "postgres://one"
client(child).logout(revoke_token=True)
assert client(child).is_authenticated() is False
print("hvac " + version("hvac"))
