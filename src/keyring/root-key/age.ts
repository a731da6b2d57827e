/**
 * A root key as age identities: a slot is encrypted for public keys (age1…), and the service needs none of the private
 * ones until the slot is opened. They can stay offline, for the day when everything else is gone.
 */
import { opened, sealed } from '../age/age.ts';
import { AgeError } from '../age/header.ts';
import { type AgeIdentity, identityFrom, recipientFrom } from '../age/keys.ts';
import { bound, unbound } from './bound-plaintext.ts';
import { type RootKey, RootKeyError, type RootKeySource } from './root-key.ts';

export const ageProvider = 'age';
const mostIdentities = 32;

/** Wraps for these public keys. Opens only what it has just wrapped, as a proof. */
export function ageRecipients(texts: readonly string[]): RootKey {
  const recipients = texts.map(text => {
    const recipient = recipientFrom(text);
    if (recipient === null) throw new RootKeyError('a recipient must be a public key such as age1…');
    return recipient;
  });
  let last: AgeIdentity = async () => null;
  return {
    provider: ageProvider,
    wrap: async (context, plain) => {
      const { bytes, identity } = await sealed(recipients, one(bound(context, plain)));
      last = identity;
      return joined(bytes);
    },
    unwrap: (context, wrapped) => openedWith(last, context, wrapped),
  };
}

/** Opens slots with the identities that `read` returns: lines of AGE-SECRET-KEY-1…, and comments. */
export function ageIdentities(read: () => Promise<string>): RootKeySource {
  const open = async (): Promise<RootKey> => {
    const identities = identitiesIn(await read());
    const either: AgeIdentity = async stanzas => {
      for (const identity of identities) {
        const found = await identity(stanzas);
        if (found !== null) return found;
      }
      return null;
    };
    return {
      provider: ageProvider,
      wrap: async () => {
        throw new RootKeyError('a slot for age is wrapped for public keys');
      },
      unwrap: (context, wrapped) => openedWith(either, context, wrapped),
    };
  };
  return { provider: ageProvider, exists: async () => false, open, create: open };
}

function identitiesIn(text: string): readonly AgeIdentity[] {
  const lines = text
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'));
  const identities = lines.map(identityFrom);
  if (identities.length === 0 || identities.length > mostIdentities || identities.includes(null))
    throw new RootKeyError('the file of age identities must contain lines of the form AGE-SECRET-KEY-1…');
  return identities.filter(identity => identity !== null);
}

async function openedWith(identity: AgeIdentity, context: Uint8Array, wrapped: Uint8Array): Promise<Buffer> {
  try {
    return unbound(context, await joined(opened(one(wrapped), identity)));
  } catch (cause) {
    if (!(cause instanceof AgeError)) throw cause;
    throw new RootKeyError(
      cause.why === 'locked' ? 'it was not encrypted for the given age identity' : 'the slot is damaged',
      cause,
    );
  }
}

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
