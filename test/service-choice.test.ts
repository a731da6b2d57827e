/** Which service, vault and credential a command takes: by flag, environment, project file and profile. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import {
  keptKey,
  keysOf,
  kindOf,
  type Profile,
  type Profiles,
  profilesFile,
} from '../src/cli/connection/profiles.ts';
import { findProject } from '../src/cli/connection/project.ts';
import { missingAddress, placeFor, settingsFor } from '../src/cli/connection/settings.ts';
import { workloadIn } from '../src/cli/connection/workload.ts';
import { Refusal, UsageError } from '../src/service/settings/report.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'strongroom-choice-')));
after(() => rmSync(root, { recursive: true, force: true }));
const [home, folder] = [join(root, 'home'), join(root, 'work', 'project')];
const bare = { url: null, vault: null, profile: null };
const identity = '0198a6e0-0000-7000-8000-000000000001';

beforeEach(() => {
  rmSync(root, { recursive: true, force: true });
  for (const path of [home, folder]) mkdirSync(path, { recursive: true });
});

function store(path: string, content: unknown, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, mode);
}

const project = (content: unknown, mode?: number, at = folder) =>
  store(join(at, '.strongroom.json'), content, mode);
const work = { url: 'https://work.example.com', vault: 'main', api_key: 'sr_api_work' };
const other = { url: 'https://other.example.com', access_key: 'sr_vault_other' };
const stored = (
  content: Partial<Profiles> | string = { current: 'work', profiles: { work, other } },
  mode?: number,
) => store(join(home, '.config', 'strongroom', 'profiles.json'), content, mode);

function chosen(given: Partial<typeof bare> = {}, environment: Record<string, string> = {}) {
  const settings = settingsFor({ ...bare, ...given } as never, { HOME: home, ...environment }, folder);
  const { url, vault, accessKey, apiKey, profile, source } = settings;
  return { url, vault, key: accessKey ?? apiKey, profile, source };
}

const refusedWith = (
  run: () => unknown,
  pattern: RegExp,
  kind: typeof Refusal | typeof UsageError = UsageError,
) => assert.throws(run, error => error instanceof kind && pattern.test(error.message));

const ofWork = {
  url: work.url,
  vault: 'main',
  key: 'sr_api_work',
  profile: 'work',
  source: 'the profile work',
};
const ofOther = {
  url: other.url,
  vault: null,
  key: 'sr_vault_other',
  profile: 'other',
  source: 'the profile other',
};

describe('the service of a command', () => {
  it('must be known', () => {
    refusedWith(() => chosen(), /^STRONGROOM_URL is required/);
    stored({ profiles: { work } });
    refusedWith(() => chosen(), /^STRONGROOM_URL is required/);
    stored({ current: 'gone', profiles: { work } });
    refusedWith(() => chosen(), /^STRONGROOM_URL is required/);
  });

  it('is looked for from the current folder, and needs no profile where its address is given', () => {
    const url = 'https://third.example.com';
    for (const find of [settingsFor, placeFor])
      assert.deepEqual(find({ ...bare, url } as never, { HOME: home }).url, url);
  });

  it('is not that of a profile which nobody signed in to last, whatever its name', () => {
    stored({ profiles: { null: work } });
    refusedWith(() => chosen(), /^STRONGROOM_URL is required/);
  });

  it('is the one of the last sign-in, or of the profile that was stored for an address', () => {
    stored();
    assert.deepEqual(chosen(), ofWork);
    assert.deepEqual(chosen({ url: work.url } as never), ofWork);
    assert.deepEqual(chosen({ url: other.url } as never), ofOther);
    const url = 'https://third.example.com';
    assert.deepEqual(chosen({ url } as never), {
      url,
      vault: null,
      key: null,
      profile: null,
      source: 'nowhere',
    });
  });

  it('is the one of a profile that was named, and of nothing else', () => {
    stored();
    assert.deepEqual(chosen({ profile: 'other' } as never), ofOther);
    assert.deepEqual(chosen({ profile: 'other', url: other.url } as never), ofOther);
    refusedWith(() => chosen({ profile: 'gone' } as never), /names no stored profile/);
    refusedWith(() => chosen({ profile: 'other', url: work.url } as never), /another address/);
  });

  it('has the vault of the flag, then of the project, then of the profile', () => {
    stored();
    project({ vault: 'of the project' });
    assert.equal(chosen().vault, 'of the project');
    assert.equal(chosen({ vault: 'of the flag' } as never).vault, 'of the flag');
  });
});

describe('a project file', () => {
  it('chooses among the profiles that are stored', () => {
    stored();
    project({ url: other.url });
    assert.deepEqual(chosen(), ofOther);
    assert.deepEqual(chosen({ url: work.url } as never), ofWork);
  });

  it('sends nothing to an address that no profile was stored for', () => {
    stored();
    project({ url: 'https://stranger.example.com' });
    refusedWith(
      () => chosen(),
      /\.strongroom\.json names https:\/\/stranger\.example\.com, but there is no profile/,
    );
    assert.equal(missingAddress(null), missingAddress({ ...findProject(folder, {})!, url: null }));
  });

  it('does not decide where a key of the environment, or a machine’s proof, is sent', () => {
    stored();
    project({ url: other.url });
    for (const environment of [
      { STRONGROOM_ACCESS_KEY: 'sr_vault_x' },
      { STRONGROOM_API_KEY: 'sr_api_x' },
      { STRONGROOM_IDENTITY: identity, STRONGROOM_ID_TOKEN: 'token' },
    ] as Record<string, string>[]) {
      refusedWith(() => chosen({}, environment), /does not decide where a key from the environment is sent$/);
      assert.equal(chosen({ url: other.url } as never, environment).url, other.url);
    }
    project({ url: work.url });
    assert.equal(chosen({}, { STRONGROOM_ACCESS_KEY: 'sr_vault_x' }).url, work.url, 'what is used anyway');
  });
});

describe('a credential', () => {
  const keys: [variable: string, given: string, key: string | null][] = [
    ['STRONGROOM_ACCESS_KEY', 'sr_vault_x', 'sr_vault_x'],
    ['STRONGROOM_ACCESS_KEY', ' sr_narrow_x\n', 'sr_narrow_x'],
    ['STRONGROOM_ACCESS_KEY', 'sr_api_x', null],
    ['STRONGROOM_ACCESS_KEY', 'sr_vault_a-b', null],
    ['STRONGROOM_ACCESS_KEY', 'x sr_vault_x', null],
    ['STRONGROOM_API_KEY', 'sr_api_x', 'sr_api_x'],
    ['STRONGROOM_API_KEY', 'sr_vault_x', null],
  ];
  for (const [variable, given, key] of keys)
    it(`${key === null ? 'is refused' : 'is taken'} from ${variable}: ${JSON.stringify(given)}`, () => {
      stored();
      if (key === null)
        refusedWith(() => chosen({}, { [variable]: given }), new RegExp(`^${variable} must be a key`));
      else assert.deepEqual(chosen({}, { [variable]: given }), { ...ofWork, key, source: 'the environment' });
    });

  it('of the environment is never mixed with that of a profile', () => {
    stored();
    const settings = settingsFor(bare, { HOME: home, STRONGROOM_ACCESS_KEY: 'sr_vault_x' }, folder);
    assert.deepEqual([settings.accessKey, settings.apiKey], ['sr_vault_x', null]);
    assert.deepEqual(chosen({}, { STRONGROOM_ACCESS_KEY: ' ', STRONGROOM_API_KEY: '' }), ofWork);
  });

  it('is not needed by a machine that the environment makes an identity', () => {
    stored();
    const machine = { HOME: home, STRONGROOM_IDENTITY: identity, STRONGROOM_ID_TOKEN: 'token' };
    const settings = settingsFor(bare, machine, folder);
    assert.deepEqual(
      [settings.workload?.identityId, settings.apiKey, settings.source],
      [identity, null, 'the token of its job'],
    );
    const withKey = settingsFor(bare, { ...machine, STRONGROOM_API_KEY: 'sr_api_x' }, folder);
    assert.deepEqual([withKey.workload, withKey.apiKey], [null, 'sr_api_x']);
  });

  it('of a profile is not looked up where only the place is asked for', () => {
    stored({ current: 'work', profiles: { work: { ...work, expires_at: '2020-01-01T00:00:00Z' } } });
    refusedWith(() => chosen(), /the sign-in of the profile work has expired/, Refusal);
    assert.equal(placeFor(bare, { HOME: home }, folder).url, work.url);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    stored({ current: 'work', profiles: { work: { ...work, expires_at: later } } });
    assert.deepEqual(chosen(), ofWork);
  });

  it('is kept as what it is by its beginning', () => {
    assert.deepEqual(['sr_vault_x', 'sr_narrow_x', 'sr_api_x'].map(kindOf), [
      'access_key',
      'access_key',
      'api_key',
    ]);
    for (const key of ['sr_vault_', 'sr_api_a b', 'xsr_api_x', 'token'])
      refusedWith(() => kindOf(key), /^a key begins with/);
    assert.deepEqual(keptKey('sr_api_x', 'work', null), { api_key: 'sr_api_x' });
    const profile: Profile = { url: work.url, keyring: 'reference' };
    refusedWith(
      () => keysOf(profile, 'a\u001b', { PATH: '' }),
      /profile a\\u\{1b\} can’t be read from the system/,
      Refusal,
    );
  });
});

describe('the file of profiles', () => {
  it('is in the configuration folder of the person', () => {
    assert.equal(profilesFile({ HOME: '/h' }), '/h/.config/strongroom/profiles.json');
    assert.equal(profilesFile({ HOME: '/h', XDG_CONFIG_HOME: '/c' }), '/c/strongroom/profiles.json');
    assert.equal(profilesFile({ HOME: '/h', XDG_CONFIG_HOME: 'c' }), '/h/.config/strongroom/profiles.json');
    assert.match(profilesFile({}), /^\/.*\/\.config\/strongroom\/profiles\.json$/);
  });

  for (const mode of [0o640, 0o604, 0o620, 0o610])
    it(`is refused where others have a right to it: ${mode.toString(8)}`, () => {
      stored(undefined, mode);
      refusedWith(() => chosen(), /can be read by others: chmod 600 it/, Refusal);
    });

  for (const content of ['', '[]', 'null', '7', '"text"', '{'])
    it(`is refused where it is not one object, without quoting it: ${JSON.stringify(content)}`, () => {
      stored(content);
      refusedWith(() => chosen(), /profiles\.json must contain one JSON object$/, Refusal);
    });

  it('may be empty', () => {
    stored('{}');
    refusedWith(() => chosen(), /^STRONGROOM_URL is required/);
  });
});

describe('the search for a project file', () => {
  const environment = { HOME: home };
  const found = (from = folder, inside: Record<string, string> = environment) =>
    findProject(from, inside)?.file ?? null;

  it('goes up from the folder', () => {
    assert.equal(found(), null);
    project({}, undefined, root);
    assert.equal(found(), join(root, '.strongroom.json'));
    assert.equal(found(folder, {}), join(root, '.strongroom.json'), 'with the home that the system knows');
    assert.equal(found(folder, { HOME: join(root, 'nowhere') }), join(root, '.strongroom.json'));
    project({});
    assert.equal(found(), join(folder, '.strongroom.json'));
  });

  it('ends at the root of the repository', () => {
    project({}, undefined, root);
    mkdirSync(join(root, 'work', '.git'));
    assert.equal(found(), null);
    project({}, undefined, join(root, 'work'));
    assert.equal(found(), join(root, 'work', '.strongroom.json'));
  });

  it('ends at the home folder, also where that is reached by a link', () => {
    project({}, undefined, root);
    assert.equal(found(home), null);
    assert.equal(found(folder, { HOME: join(root, 'work') }), null);
    symlinkSync(home, join(root, 'linked'));
    assert.equal(found(join(root, 'linked')), null);
    assert.equal(found(home, { HOME: join(root, 'linked') }), null);
  });

  it('ends at the root of the system', () => assert.equal(found('/'), null));
});

describe('a project file that is found', () => {
  const noted: string[] = [];
  const read = (t: { mock: { method: (object: object, name: string, with_: unknown) => unknown } }) => {
    noted.length = 0;
    t.mock.method(process.stderr, 'write', (line: string) => noted.push(line) > 0);
    return findProject(folder, { HOME: root });
  };
  const ignoredFor = (reason: string) => [
    `strongroom: ignored ${join(folder, '.strongroom.json')}: ${reason}\n`,
  ];

  it('is ignored where everyone can write to it', t => {
    project({}, 0o602);
    assert.equal(read(t as never), null);
    assert.deepEqual(noted, ignoredFor('everyone can write to it'));
    project({}, 0o664);
    assert.ok(read(t as never));
  });

  it('is ignored where it is no small file', t => {
    mkdirSync(join(folder, '.strongroom.json'));
    assert.equal(read(t as never), null);
    assert.deepEqual(noted, ignoredFor('it is not a small file'));
    rmSync(join(folder, '.strongroom.json'), { recursive: true });
    const padded = (length: number) => '{}'.padEnd(length);
    project(padded(64 * 1024 + 1));
    assert.equal(read(t as never), null);
    project(padded(64 * 1024));
    assert.ok(read(t as never));
  });

  it('is ignored where it can’t be opened, and read through a link', t => {
    symlinkSync(join(root, 'target.json'), join(folder, '.strongroom.json'));
    assert.equal(read(t as never), null);
    assert.deepEqual(noted, ignoredFor('it can’t be read'));
    store(join(root, 'target.json'), { vault: 'main' });
    assert.equal(read(t as never)?.vault, 'main');
  });

  const owners: [owner: number, user: number | null, isRead: boolean][] = [
    [1_000, 1_000, true],
    [0, 1_000, true],
    [1_001, 1_000, false],
    [0, 0, true],
    [1_000, 0, false],
    [1_000, null, true], // A system without owners.
  ];
  const skip = process.getuid?.() === 0 ? false : 'only root can give files away';
  for (const [owner, user, isRead] of owners)
    it(`is ${isRead ? 'read' : 'ignored'} by the user ${user} where ${owner} owns it`, { skip }, t => {
      const { getuid } = process;
      t.after(() => Object.assign(process, { getuid }));
      Object.assign(process, { getuid: user === null ? undefined : () => user });
      project({});
      chownSync(join(folder, '.strongroom.json'), owner, owner);
      assert.equal(read(t as never) !== null, isRead);
      assert.deepEqual(noted, isRead ? [] : ignoredFor('another user owns it'));
      // A link of theirs counts as little as a file of theirs.
      rmSync(join(folder, '.strongroom.json'));
      store(join(root, 'target.json'), {});
      symlinkSync(join(root, 'target.json'), join(folder, '.strongroom.json'));
      lchownSync(join(folder, '.strongroom.json'), owner, owner);
      assert.equal(read(t as never) !== null, isRead);
    });

  const whole = { url: 'https://work.example.com/', vault: 'main', names: ['A'], map: { A: 'B' } };
  const contents: [content: unknown, refusal: RegExp | null][] = [
    [whole, null],
    [{}, null],
    [{ url: null, vault: null }, null],
    [{ vault: 'sr_vault_0123456789012345678' }, null],
    [{ vault: 'sr_vault_01234567890123456789' }, /contains a key: revoke it/],
    [{ key: 'x' }, /unknown field "key"$/],
    [{ names: 'A' }, /names must be an array$/],
    [{ names: [7] }, /fields must contain strings$/],
    [{ map: { A: 7 } }, /fields must contain strings$/],
    [{ vault: 7 }, /fields must contain strings$/],
    [{ url: ['x'] }, /fields must contain strings$/],
    [{ url: 'http://work.example.com' }, /url must begin with https/],
    [{ url: 'work' }, /url must be an address/],
    ['[]', /must contain one JSON object$/],
  ];
  for (const [content, refusal] of contents)
    it(`is ${refusal === null ? 'read' : 'refused'}: ${JSON.stringify(content)}`, t => {
      project(content);
      if (refusal !== null) return refusedWith(() => read(t as never), refusal, Refusal);
      const empty = { url: null, vault: null, names: [], map: {} };
      const expected = {
        ...empty,
        ...(content as object),
        ...(content === whole && { url: 'https://work.example.com' }),
      };
      assert.deepEqual(read(t as never), { file: join(folder, '.strongroom.json'), ...expected });
    });
});

describe('a machine’s proof', () => {
  const proofs: [environment: Record<string, string>, source: string, proof: unknown][] = [
    [
      { STRONGROOM_ROLE_ID: ` ${identity.toUpperCase()} `, STRONGROOM_SECRET_ID: ' s ' },
      'its secret id',
      { secret_id: 's' },
    ],
    [{ STRONGROOM_IDENTITY: identity, STRONGROOM_ID_TOKEN: ' t ' }, 'the token of its job', { jwt: 't' }],
    [
      { STRONGROOM_IDENTITY: identity, STRONGROOM_TOKEN_FILE: join(root, 'token') },
      'the token in a file',
      { jwt: 'in a file' },
    ],
    [
      { STRONGROOM_ROLE_ID: identity, STRONGROOM_SECRET_ID_FILE: join(root, 'token') },
      'its secret id',
      { secret_id: 'in a file' },
    ],
  ];
  for (const [environment, source, proof] of proofs)
    it(`is ${source}: ${Object.keys(environment).join(' and ')}`, async () => {
      store(join(root, 'token'), 'in a file\n');
      const found = workloadIn(environment)!;
      assert.deepEqual([found.identityId, found.source, await found.proof()], [identity, source, proof]);
    });

  const refusals: [environment: Record<string, string>, pattern: RegExp][] = [
    [{ STRONGROOM_ROLE_ID: identity }, /STRONGROOM_SECRET_ID .* require each other/],
    [{ STRONGROOM_SECRET_ID: 's' }, /STRONGROOM_SECRET_ID .* require each other/],
    [{ STRONGROOM_ROLE_ID: 'x', STRONGROOM_SECRET_ID: 's' }, /^STRONGROOM_ROLE_ID must be the id/],
    [{ STRONGROOM_IDENTITY: 'x' }, /^STRONGROOM_IDENTITY must be the id/],
    [{ STRONGROOM_IDENTITY: identity }, /there is no token/],
  ];
  for (const [environment, pattern] of refusals)
    it(`is refused: ${JSON.stringify(environment)}`, () =>
      refusedWith(() => workloadIn(environment), pattern));

  it('is none where the environment names no identity, and fails where its file is gone', async () => {
    assert.equal(workloadIn({}), null);
    assert.equal(workloadIn({ STRONGROOM_ID_TOKEN: 't' }), null);
    const gone = workloadIn({ STRONGROOM_IDENTITY: identity, STRONGROOM_TOKEN_FILE: join(root, 'gone') })!;
    await assert.rejects(gone.proof(), /can’t be read \(ENOENT\)/);
  });

  for (const [url, token] of [
    ['no address', 'key'],
    ['http://tokens.example.com/', 'key'],
    ['https://tokens.example.com/', ''],
  ] as const)
    it(`is not asked for at GitHub’s where the environment is not GitHub’s: ${url}`, async () => {
      const actions = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token };
      const found = workloadIn({ STRONGROOM_IDENTITY: identity, ...actions })!;
      assert.equal(found.source, 'GitHub Actions');
      await assert.rejects(found.proof(), /are not what GitHub sets/);
    });
});
