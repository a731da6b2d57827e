/**
 * `strongroom export --all`: everything in all vaults that the API key may reveal, as one JSON document in an age file.
 * Any age program opens it with the private key of a recipient. Nothing is written in plain text, and a file appears
 * only once it is complete.
 */
import { existsSync } from 'node:fs';
import { createDurably } from '../../base/durable-file.ts';
import type { Certificate, Key, RevealedSecret, Vault } from '../../client/api.ts';
import { sealed } from '../../keyring/age/age.ts';
import { type Recipient, recipientFrom } from '../../keyring/age/keys.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor, inTurn, listed } from '../connection/admin.ts';
import { RefusedRequest } from '../connection/remote.ts';
import type { Settings } from '../connection/settings.ts';
import { note, printable } from '../terminal/terminal.ts';

const atOnce = 100;

export async function exportAll(settings: Settings, recipients: readonly string[], out: string | null) {
  const wrapping = recipients.map(recipientIn);
  if (wrapping.length === 0)
    throw new UsageError('--all requires --recipient: strongroom backup new-key creates an age key');
  if (out === null && process.stdout.isTTY) throw new UsageError('--out is required: the file is binary');
  if (out !== null && existsSync(out)) throw new Refusal(`${out} exists already`);
  const admin = adminFor(settings);
  const { bytes } = await sealed(wrapping, documentOf(admin, settings.url, await listed(admin.listVaults)));
  if (out === null) for await (const chunk of bytes) await written(chunk);
  else await createDurably(out, bytes);
}

function recipientIn(text: string): Recipient {
  const found = recipientFrom(text);
  if (found === null) throw new UsageError('--recipient must be an age public key, which begins with age1');
  return found;
}

/** Waits while the reader is slower. */
function written(chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, error => (error ? reject(error) : resolve()));
  });
}

/** One vault after another, so that memory is needed for one of them only. */
async function* documentOf(
  admin: Admin,
  url: string,
  vaults: readonly Vault[],
): AsyncGenerator<Buffer, void, undefined> {
  const head = { format: 'strongroom-export/1', created_at: new Date().toISOString(), service: url };
  const leftOut: string[] = [];
  let exported = 0;
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"vaults":[`);
  for (const vault of vaults) {
    const contents = await contentsOf(admin, vault);
    leftOut.push(...contents.leftOut.map(what => `${what} of ${vault.name}`));
    const { id, name, description, tags } = vault;
    const { secrets, keys, certificates } = contents;
    yield Buffer.from(
      `${exported === 0 ? '' : ','}\n${JSON.stringify({ id, name, description, tags, secrets, keys, certificates })}`,
    );
    exported += 1;
  }
  yield Buffer.from(`],"left_out":${JSON.stringify(leftOut)}}\n`);
  for (const what of leftOut) note(`left out, because the API key may not reveal them: ${printable(what)}`);
  note(`exported ${exported} ${exported === 1 ? 'vault' : 'vaults'}`);
}

interface Contents {
  readonly secrets: readonly RevealedSecret[];
  readonly keys: readonly (Key & { readonly pem: string })[];
  readonly certificates: readonly Certificate[];
  readonly leftOut: readonly string[];
}

async function contentsOf(admin: Admin, { id: vault_id }: Vault): Promise<Contents> {
  const leftOut: string[] = [];
  async function unlessRefused<T>(what: string, read: () => Promise<T[]>): Promise<T[]> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RefusedRequest && error.status === 403)) throw error;
      leftOut.push(what);
      return [];
    }
  }
  return {
    secrets: await unlessRefused('secrets', async () =>
      revealed(admin, await listed(admin.listSecrets, { vault_id })),
    ),
    keys: await unlessRefused('keys', async () =>
      inTurn(await listed(admin.listKeys, { vault_id }), key => withPem(admin, key)),
    ),
    certificates: await unlessRefused('certificates', async () =>
      inTurn(await listed(admin.listCertificates, { vault_id }), ({ id }) => admin.getCertificate({ id })),
    ),
    leftOut,
  };
}

async function revealed(admin: Admin, all: readonly { readonly id: string }[]): Promise<RevealedSecret[]> {
  const found: RevealedSecret[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    const ids = all.slice(at, at + atOnce).map(({ id }) => id);
    found.push(...(await admin.revealSecrets({ body: { secret_ids: ids } })).data);
  }
  return found;
}

/** A key whose private key may not be exported, or is not here, has its public key as PEM. */
async function withPem(admin: Admin, key: Key): Promise<Key & { readonly pem: string }> {
  if (key.exportable && key.has_private_key) return admin.revealKey({ id: key.id });
  return { ...key, pem: key.public_pem };
}
