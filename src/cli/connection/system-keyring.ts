/**
 * The system's keyring: the Secret Service on Linux (`secret-tool` of libsecret, in a session with a bus) and the
 * keychain on macOS (`security`); none on Windows. A key is passed through standard input and output, never as an
 * argument. A key counts as stored only once it could be read back.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../service/settings/options.ts';

interface SystemKeyring {
  /** Returns false if the key could not be stored. */
  store(reference: string, label: string, key: string): boolean;
  find(reference: string): string | null;
  forget(reference: string): void;
}

/** In milliseconds: the person may have to enter the password of their keyring. */
const patience = 60_000;

export function systemKeyring(environment: Environment): SystemKeyring | null {
  if (process.platform === 'darwin') return keychain;
  return process.platform === 'linux' && hasSessionBus(environment) ? secretService : null;
}

function hasSessionBus({ DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR }: Environment): boolean {
  if (DBUS_SESSION_BUS_ADDRESS) return true;
  return XDG_RUNTIME_DIR !== undefined && existsSync(join(XDG_RUNTIME_DIR, 'bus'));
}

const secretService = keyringOf({
  store: (reference, label, key) => [
    'secret-tool',
    ['store', '--label', label, 'service', 'strongroom', 'key', reference],
    key,
  ],
  find: reference => ['secret-tool', ['lookup', 'service', 'strongroom', 'key', reference]],
  forget: reference => ['secret-tool', ['clear', 'service', 'strongroom', 'key', reference]],
});

/** `-i` reads the command itself from standard input: references and keys are letters, digits, `-` and `_`. */
const keychain = keyringOf({
  store: (reference, _label, key) => [
    'security',
    ['-i'],
    `add-generic-password -U -s strongroom -a ${reference} -w ${key}\n`,
  ],
  find: reference => ['security', ['find-generic-password', '-s', 'strongroom', '-a', reference, '-w']],
  forget: reference => ['security', ['delete-generic-password', '-s', 'strongroom', '-a', reference]],
});

type Call = readonly [program: string, args: readonly string[], input?: string];
type Calls = { readonly [Way in keyof SystemKeyring]: (...asked: Parameters<SystemKeyring[Way]>) => Call };

function keyringOf({ store, find, forget }: Calls): SystemKeyring {
  const found = (reference: string) => run(find(reference))?.trim() || null;
  return {
    store: (reference, label, key) => run(store(reference, label, key)) !== null && found(reference) === key,
    find: found,
    forget: reference => void run(forget(reference)),
  };
}

/** The module is loaded only on use, because every command waits for its imports. */
function run([program, args, input = '']: Call): string | null {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, stdout } = spawnSync(program, args, {
    input,
    encoding: 'utf8',
    timeout: patience,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : null;
}
