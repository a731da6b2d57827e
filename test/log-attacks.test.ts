/** What somebody can do who writes to the log and has no key of ours, and what the verifier says with the public key alone. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { firstIdAt, timeOf } from '../src/contract/id.ts';
import { chainStart, type Link, linkHash } from '../src/logs/chain.ts';
import {
  type Checkpoint,
  exportLine,
  parseCheckpoint,
  type SignedCheckpoint,
} from '../src/logs/checkpoints.ts';
import type { LoggedLink } from '../src/logs/logged-link.ts';
import { databaseSource, exportLines, fileSource } from '../src/logs/source.ts';
import { type VerifyReport, verifyLogs } from '../src/logs/verify.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import type { Stream } from '../src/store/records/logs.ts';
import { beside, engines, type Service, startService } from './harness.ts';

type StreamedLink = LoggedLink & { readonly stream: Stream };

/** An exported log, in the hands of an attacker. */
interface Log {
  links: StreamedLink[];
  checkpoints: SignedCheckpoint[];
}

const minute = 60_000;
const strange = '0199a3c4-7f00-7abc-8def-0123456789ac';

const bodyOf = ({ body }: SignedCheckpoint) => JSON.parse(body) as Checkpoint;
const signedAt = ({ checkpoints }: Log) => Date.parse(bodyOf(checkpoints.at(-1)!).created_at);

/** Hashes every chain anew, as whoever knows the format can; the marks are as good as any. */
function hashAnew(log: Log): void {
  const ends = new Map<string, Link>();
  log.links = log.links.map(link => {
    const chain = `${link.stream} ${link.writer}`;
    const before = ends.get(chain) ?? chainStart;
    const hash = linkHash(link.stream, link.writer, before, link.id, link.text);
    const made = { ...link, seq: before.seq + 1, hash };
    ends.set(chain, made);
    return made;
  });
}

/** An entry of a chain of the attacker's own. */
function append(
  log: Log,
  at: number,
  more: { saidAt?: number; action?: string; details?: object } = {},
): void {
  const id = firstIdAt(at);
  const { saidAt = at, action = 'vault.created', details = {} } = more;
  const text = JSON.stringify({ id, created_at: new Date(saidAt).toISOString(), action, details });
  const hash = linkHash('audit', strange, chainStart, id, text);
  log.links.push({ stream: 'audit', id, writer: strange, seq: 1, text, hash, mark: hash });
}

const requests = (log: Log) => log.links.filter(({ stream }) => stream === 'request');

function replace(log: Log, old: StreamedLink, by: Partial<StreamedLink>): void {
  log.links = log.links.map(link => (link === old ? { ...link, ...by } : link));
}

const edited = ({ text }: StreamedLink) => ({ text: text.replace('"status":200', '"status":401') });

/** The longest chain of request blocks. */
function blocks(log: Log): StreamedLink[] {
  const chains = [...Map.groupBy(requests(log), ({ writer }) => writer).values()];
  return chains.toSorted((a, b) => b.length - a.length)[0]!;
}

function prune(log: Log, at: number): void {
  const [first, second] = blocks(log) as [StreamedLink, StreamedLink];
  log.links = log.links.filter(link => link !== first && link !== second);
  const { writer, seq, hash, mark } = second;
  append(log, at, {
    action: 'request_logs.pruned',
    details: { removed: 0, chains: [{ writer, seq, hash, mark }] },
  });
}

interface Attack {
  readonly name: string;
  readonly run: (log: Log) => void;
  /** What must be among the findings; an edit may show in more than one way. */
  readonly found: readonly string[];
  /** The verifier's clock, after the newest checkpoint. */
  readonly later?: number;
}

const attacks: readonly Attack[] = [
  {
    name: 'an edited entry',
    run: log => replace(log, blocks(log)[1]!, edited(blocks(log)[1]!)),
    found: ['edited'],
  },
  {
    name: 'an entry edited, and its own hash with it',
    run: log => {
      const [before, old] = blocks(log) as [StreamedLink, StreamedLink];
      const { text } = edited(old);
      replace(log, old, { text, hash: linkHash('request', old.writer, before, old.id, text) });
    },
    found: ['edited'],
  },
  {
    name: 'an entry edited, and the whole chain hashed anew',
    run: log => {
      replace(log, blocks(log)[0]!, edited(blocks(log)[0]!));
      hashAnew(log);
    },
    found: ['hashed-anew'],
  },
  {
    name: 'a block that can’t be read',
    run: log => replace(log, blocks(log)[1]!, { text: '{' }),
    found: ['edited'],
  },
  {
    name: 'two entries that changed places',
    run: log => {
      const [, a, b] = blocks(log) as [StreamedLink, StreamedLink, StreamedLink];
      replace(log, a, { text: b.text });
      replace(log, blocks(log)[2]!, { text: a.text });
    },
    found: ['edited'],
  },
  {
    name: 'an entry of another id',
    run: log => replace(log, blocks(log)[1]!, { id: firstIdAt(timeOf(blocks(log)[1]!.id) + 1) }),
    found: ['edited'],
  },
  {
    name: 'a removed entry',
    run: log => {
      const [, gone] = blocks(log);
      log.links = log.links.filter(link => link !== gone);
    },
    found: ['edited', 'missing'],
  },
  {
    name: 'a removed entry, and the rest of the chain counted and hashed anew',
    run: log => {
      const [, gone] = blocks(log);
      log.links = log.links.filter(link => link !== gone);
      hashAnew(log);
    },
    found: ['cut-off'],
  },
  {
    name: 'a cut-off tail',
    run: log => {
      const gone = blocks(log).at(-1);
      log.links = log.links.filter(link => link !== gone);
    },
    found: ['cut-off'],
  },
  {
    name: 'a whole chain gone',
    run: log => {
      const { writer } = blocks(log)[0]!;
      log.links = log.links.filter(link => link.writer !== writer);
    },
    found: ['cut-off'],
  },
  {
    name: 'all checkpoints removed, and every chain hashed anew',
    run: log => {
      log.checkpoints = [];
      hashAnew(log);
    },
    found: ['never-signed', 'no-checkpoint'],
    later: 2 * minute,
  },
  {
    name: 'a checkpoint removed from among the others',
    run: log => log.checkpoints.splice(1, 1),
    found: ['bad-checkpoint'],
  },
  {
    name: 'a checkpoint that stands there twice',
    run: log => log.checkpoints.splice(1, 0, log.checkpoints[0]!),
    found: ['bad-checkpoint'],
  },
  {
    name: 'the first checkpoints removed',
    run: log => log.checkpoints.splice(0, 1),
    found: ['bad-checkpoint'],
  },
  {
    name: 'an edited checkpoint',
    run: log => {
      const { body, signature } = log.checkpoints[1]!;
      log.checkpoints[1] = { body: body.replace('"full":false', '"full":true'), signature };
    },
    found: ['bad-checkpoint'],
  },
  {
    name: 'a checkpoint signed with a key of the attacker’s own',
    run: log => {
      const last = bodyOf(log.checkpoints.at(-1)!);
      const body = JSON.stringify({ ...last, number: last.number + 1 });
      const { privateKey } = generateKeyPairSync('ed25519');
      log.checkpoints.push({ body, signature: sign(null, Buffer.from(body), privateKey) });
    },
    found: ['bad-checkpoint'],
  },
  {
    name: 'an entry that is newer than the newest checkpoint by more than a minute',
    run: log => append(log, signedAt(log) + minute + 1_000),
    found: ['never-signed'],
    later: 10 * minute,
  },
  {
    name: 'an entry that is older than the newest checkpoint by more than a minute, and that none covers',
    run: log => append(log, signedAt(log) - minute - 1_000),
    found: ['never-signed'],
  },
  {
    name: 'an entry from the far future',
    run: log => append(log, signedAt(log) + 1_000 * minute),
    found: ['misdated'],
  },
  {
    name: 'an entry whose id is of another time than it says',
    run: log => append(log, signedAt(log), { saidAt: signedAt(log) - 5 * minute }),
    found: ['misdated'],
  },
  {
    name: 'an entry whose id is none',
    run: log => {
      append(log, signedAt(log));
      const last = log.links.at(-1)!;
      const hash = linkHash('audit', strange, chainStart, 'zzz', last.text);
      replace(log, last, { id: 'zzz', hash });
    },
    found: ['misdated'],
  },
  {
    name: 'a removal that retention is said to have made, long ago, and that was never signed',
    run: log => prune(log, signedAt(log) - 5 * minute),
    found: ['missing', 'never-signed'],
  },
  {
    name: 'a removal said by an entry that can’t be read',
    run: log => {
      append(log, signedAt(log));
      const last = log.links.at(-1)!;
      const text = '{"action":"request_logs.pruned",';
      replace(log, last, { text, hash: linkHash('audit', strange, chainStart, last.id, text) });
    },
    found: ['misdated'],
  },
];

for (const engine of engines) {
  describe(`the verifier with the public key alone, over a log of ${engine}`, () => {
    let service: Service;
    let publicKey: string;
    let kept: SignedCheckpoint;
    let whole: Log;
    let receipts: string[];

    before(async () => {
      service = await startService({ engine });
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
      const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
      receipts = [];
      for (let life = 0; life < 3; life++) {
        for (let count = 0; count < 5; count++) {
          const path = `/api/v1/vaults/${vault.id}`;
          const answer = await service.call('GET', path, undefined, key.token);
          receipts.push(answer.headers.get('strongroom-receipt')!);
        }
        await service.restart(); // A stop signs what is left.
      }
      publicKey = await readFile(join(service.data, 'log-public-key.pem'), 'utf8');
      kept = parseCheckpoint(await readFile(join(service.data, 'checkpoint.json'), 'utf8'));
      whole = await exported();
    });
    after(() => service.stop());

    async function exported(): Promise<Log> {
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      const log: Log = { links: [], checkpoints: [] };
      for await (const line of exportLines(databaseSource(logs), {})) {
        const read = JSON.parse(line);
        if ('checkpoint' in read) log.checkpoints.push(parseCheckpoint(line));
        else if ('stream' in read) log.links.push(read);
      }
      await logs.close();
      return log;
    }

    /** Through a file, as `audit verify --file` reads it. */
    async function verify(
      log: Log,
      options: { kept?: SignedCheckpoint; later?: number } = {},
    ): Promise<VerifyReport> {
      const file = join(service.data, 'attacked.jsonl');
      const lines = [
        ...log.links.map(link => `${JSON.stringify(link)}\n`),
        ...log.checkpoints.map(exportLine),
      ];
      await writeFile(file, lines.join(''));
      const now = () => signedAt(whole) + (options.later ?? 0);
      return verifyLogs(fileSource(file), { publicKey, kept: options.kept, receipts, now });
    }

    const attacked = (run: (log: Log) => void): Log => {
      const log = { links: [...whole.links], checkpoints: [...whole.checkpoints] };
      run(log);
      return log;
    };

    it('finds nothing where nothing was done', async () => {
      assert.ok(whole.checkpoints.length >= 3 && blocks(whole).length >= 4);
      const report = await verify(whole, { kept });
      assert.deepEqual(report.findings, []);
      assert.equal(report.kept?.number, bodyOf(kept).number);
      assert.equal((await verify(whole)).kept, null, 'it says when it had nothing to hold the log against');
    });

    for (const { name, run, found, later = 0 } of attacks) {
      it(`finds ${name}`, async () => {
        receipts = [];
        const { ok, findings } = await verify(attacked(run), { later });
        assert.equal(ok, false);
        const kinds = new Set<string>(findings.map(({ what }) => what));
        assert.deepEqual(
          found.filter(what => !kinds.has(what)),
          [],
          JSON.stringify(findings),
        );
      });
    }

    it('finds, by a kept checkpoint alone, that the newest entries went together with their checkpoints', async () => {
      const cut = attacked(log => {
        const { heads } = bodyOf(log.checkpoints.at(-1)!);
        log.checkpoints.pop();
        log.links = log.links.filter(link => !heads.some(head => head.writer === link.writer));
      });
      const { findings } = await verify(cut, { kept });
      assert.ok(
        findings.some(({ what, where }) => what === 'cut-off' && where.startsWith('checkpoints end')),
      );
    });

    it('finds that a checkpoint is not the one that was kept, although ours signed both', async () => {
      const body = JSON.stringify({ ...bodyOf(kept), created_at: bodyOf(whole.checkpoints[0]!).created_at });
      const signature = await beside(service, async ({ keyring }) =>
        keyring.signCheckpoint(Buffer.from(body)),
      );
      const { findings } = await verify(whole, { kept: { body, signature } });
      assert.deepEqual(findings, [
        { what: 'bad-checkpoint', where: `checkpoint ${bodyOf(kept).number} is not the one that was kept` },
      ]);
    });

    it('finds that a checkpoint follows another than the one before it, although ours signed both', async () => {
      const last = bodyOf(whole.checkpoints.at(-1)!);
      const body = JSON.stringify({ ...last, number: last.number + 1, previous: last.previous });
      const signature = await beside(service, async ({ keyring }) =>
        keyring.signCheckpoint(Buffer.from(body)),
      );
      const { findings } = await verify(attacked(log => log.checkpoints.push({ body, signature })));
      assert.deepEqual(findings, [
        { what: 'bad-checkpoint', where: `checkpoint ${last.number + 1} does not follow the one before` },
      ]);
    });

    it('finds that a kept checkpoint is not ours', async () => {
      const { findings } = await verify(whole, { kept: { ...kept, body: `${kept.body} ` } });
      assert.deepEqual(findings, [
        { what: 'bad-checkpoint', where: 'a checkpoint’s signature is not valid' },
      ]);
    });

    it('counts an entry of the last minute as not yet signed, and leaves a removal open that it tells of', async () => {
      const added = await verify(attacked(log => append(log, signedAt(log) + 1_000)));
      assert.deepEqual([added.ok, added.unsigned, added.open], [true, 1, 0]);
      const removed = await verify(attacked(log => prune(log, signedAt(log) + 1_000)));
      assert.deepEqual([removed.ok, removed.unsigned, removed.open], [true, 1, 1], 'whoever removed them');
    });
  });
}
