"""Short-lived credentials with hvac, unchanged: obtained, looked up, renewed and revoked."""
import os
from importlib.metadata import version

import hvac
from hvac.exceptions import Forbidden, InvalidRequest


def client(token):
    return hvac.Client(url=os.environ["VAULT_ADDR"], token=token)


vault = client(os.environ["READER"])
issued = vault.secrets.database.generate_credentials(name="app-db")
assert issued["renewable"] is True and issued["data"]["username"].startswith("sr_")
assert issued["data"]["password"] and 3590 < issued["lease_duration"] <= 3600
lease_id = issued["lease_id"]
found = vault.sys.read_lease(lease_id=lease_id)["data"]
assert found["id"] == lease_id and found["renewable"] is True and found["ttl"] > 3590
assert 7190 < vault.sys.renew_lease(lease_id=lease_id, increment=7200)["lease_duration"] <= 7200
vault.sys.revoke_lease(lease_id=lease_id)
for refused, failure in (
    (lambda: vault.sys.renew_lease(lease_id=lease_id), InvalidRequest),
    (lambda: vault.secrets.database.generate_credentials(name="absent"), InvalidRequest),
    (lambda: client("sr_vault_wrong").sys.read_lease(lease_id=lease_id), Forbidden),
):
    try:
        refused()
        raise SystemExit("it was not refused")
    except failure:
        pass
print("hvac " + version("hvac") + ", leases")
