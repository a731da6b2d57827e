"""What hvac, the Python client of Vault that Ansible uses, does against a service: address and token come by environment."""
import base64
import hashlib
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

transit = reader.secrets.transit
keys = client(os.environ["WRITER"]).secrets.transit
encoded = base64.b64encode(b"message").decode()
keys.create_key(name="hvac", key_type="aes256-gcm96")
keys.create_key(name="signer", key_type="ecdsa-p256")
client(os.environ["WRITER"]).write("transit/keys/mac", type="hmac")
assert sorted(keys.list_keys()["data"]["keys"]) == ["hvac", "mac", "signer"]
sealed = keys.encrypt_data(name="hvac", plaintext=encoded)["data"]["ciphertext"]
assert sealed.startswith("vault:v1:")
keys.rotate_key(name="hvac")
assert keys.read_key(name="hvac")["data"]["latest_version"] == 2
for using in (keys, client(os.environ["WORKER"]).secrets.transit):
    assert using.decrypt_data(name="hvac", ciphertext=sealed)["data"]["plaintext"] == encoded
    newer = using.rewrap_data(name="hvac", ciphertext=sealed)["data"]["ciphertext"]
    assert newer.startswith("vault:v2:")
    batch = using.encrypt_data(name="hvac", plaintext="", batch_input=[{"plaintext": encoded}] * 3)
    assert len(batch["data"]["batch_results"]) == 3
    data_key = using.generate_data_key(name="hvac", key_type="plaintext", bits=256)["data"]
    assert using.decrypt_data(name="hvac", ciphertext=data_key["ciphertext"])["data"]["plaintext"] == data_key["plaintext"]
    assert len(base64.b64decode(using.generate_random_bytes(n_bytes=24)["data"]["random_bytes"])) == 24
    assert using.hash_data(hash_input=encoded, algorithm="sha2-256", output_format="hex")["data"]["sum"] == hashlib.sha256(b"message").hexdigest()
    code = using.generate_hmac(name="mac", hash_input=encoded, algorithm="sha2-256")["data"]["hmac"]
    assert using.verify_signed_data(name="mac", hash_input=encoded, hmac=code, hash_algorithm="sha2-256")["data"]["valid"] is True
    for form in ("asn1", "jws"):
        said = {"name": "signer", "hash_input": encoded, "hash_algorithm": "sha2-256", "marshaling_algorithm": form}
        signature = using.sign_data(**said)["data"]["signature"]
        assert using.verify_signed_data(signature=signature, **said)["data"]["valid"] is True
keys.update_key_configuration(name="hvac", min_decryption_version=2)
for refused, failure in (
    (lambda: keys.decrypt_data(name="hvac", ciphertext=sealed), InvalidRequest),
    (lambda: keys.read_key(name="absent"), InvalidPath),
    (lambda: transit.decrypt_data(name="hvac", ciphertext=newer), Forbidden),
    (lambda: transit.create_key(name="x"), Forbidden),
):
    try:
        refused()
        raise SystemExit("it was not refused")
    except failure:
        pass
for name in ("hvac", "signer", "mac"):
    keys.delete_key(name=name)
print("hvac " + version("hvac"))
