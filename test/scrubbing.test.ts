/** Texts of calls: how a value is taken out of them, paths matched, and bodies shown to those who approve them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchesPath } from '../src/domain/uses/judging.ts';
import { unescapedViews } from '../src/egress/escapes.ts';
import { scrubberOf } from '../src/egress/scrubbing.ts';
import { foldingFor, formsOf } from '../src/egress/value-forms.ts';
import { visibleParts } from '../web/src/ui/visible-text.ts';
import { encodings, value as token, tracesIn } from './uses-world.ts';

const value = 'Grüße-vön-Zürich-Österreich-37';

/** As programs write what is not ASCII. */
const forms: Readonly<Record<string, (text: string) => string | Buffer>> = {
  'as it is': text => text,
  'escapes of JSON': text =>
    text.replace(/[^ -~]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'numbers of HTML': text => text.replace(/[^ -~]/g, char => `&#${char.charCodeAt(0)};`),
  'hex numbers of HTML': text => text.replace(/[^ -~]/g, char => `&#x${char.charCodeAt(0).toString(16)};`),
  'Latin-1': text => Buffer.from(text, 'latin1'),
  'Latin-1 in a URL': text => escape(text),
  'UTF-8 in a URL': text => encodeURIComponent(text),
};

describe('a value in a text', () => {
  for (const [name, write] of Object.entries(forms)) {
    it(`is found in ${name}`, async () => {
      const text = Buffer.concat([
        Buffer.from('it is: '),
        Buffer.from(write(value) as string),
        Buffer.from(' .'),
      ]);
      const { bytes, redacted } = await scrubberOf([value]).scrub(text);
      assert.deepEqual([bytes.toString('latin1'), redacted], ['it is: [redacted] .', 1]);
    });
  }

  for (const [name, write] of Object.entries(encodings)) {
    it(`is found where an upstream writes it: ${name}`, async () => {
      const clean = 'nothing of it is here. '.repeat(40);
      const text = Buffer.concat([
        Buffer.from(clean),
        Buffer.from(write(token) as string),
        Buffer.from(clean),
      ]);
      const { bytes, redacted, kept } = await scrubberOf([token]).scrub(text);
      const expected = /half|most/.test(name) ? 'part' : /padded|of all kinds/.test(name) ? 'escaped' : null;
      assert.deepEqual([kept, redacted > 0], [expected, expected === null]);
      if (expected === null) assert.deepEqual(tracesIn(bytes.toString('latin1')), []);
    });
  }

  it('is found in every form at every offset, however short it is', async () => {
    const found: string[] = [];
    for (const short of [
      'q7Xz2mB9cK4w',
      'q7Xz2mB9cK4wT',
      'q7Xz2mB9cK4wT1',
      '1234567890123',
      'ZZzz99ZZ__zz99',
    ]) {
      const { scrub } = scrubberOf([short]);
      for (const [name, write] of Object.entries(encodings).filter(([name]) => !/half|most/.test(name))) {
        for (const lead of ['', 'x', 'xy', 'xyz', 'xyzz']) {
          const { kept, redacted } = await scrub(Buffer.from(write(`${lead}${short}.`) as string));
          if (kept === null && redacted === 0) found.push(`${short} as ${name} behind ${lead.length}`);
        }
      }
    }
    assert.deepEqual(found, []);
  });

  it('has no window in any form that fewer than twelve of its characters make', () => {
    for (const random of ['q7Xz2mB9cK4wT1pL8vR3', 'zzzzzzzzyyyyyyyyxxxxxxxx']) {
      const folding = foldingFor([random]);
      const lengths = (text: string) => formsOf(text, folding).map(({ text: { length } }) => length);
      const sizes = formsOf(random, folding).map(({ size }) => size);
      for (let from = 0; from + 11 <= random.length; from++) {
        // What eleven characters make, in each form that they make at all, is shorter than a window.
        for (const [at, length] of lengths(`${random.slice(from, from + 11)}`).entries())
          assert.ok(length < sizes[at]!, `form ${at} of ${random}: ${length} of ${sizes[at]}`);
      }
    }
  });

  it('is noticed wherever twelve of its letters and digits stand in a row, and nothing else is', async () => {
    const plain = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const { scrub } = scrubberOf([plain]);
    assert.equal((await scrub(Buffer.from(`<${plain}>`))).bytes.toString(), '<[redacted]>');
    for (let from = 0; from + 12 <= plain.length; from++) {
      const twelve = plain.slice(from, from + 12);
      assert.equal((await scrub(Buffer.from(`<${twelve}>`))).kept, 'part');
      const eleven = `${twelve.slice(0, 11)}!${plain.slice(0, 1)}`;
      assert.deepEqual(await scrub(Buffer.from(eleven)), {
        bytes: Buffer.from(eleven),
        redacted: 0,
        kept: null,
        parts: 0,
      });
    }
    const lines = Array.from({ length: 5_000 }, (_, at) => `${at}: ${(at * 7919).toString(36)}`).join('\n');
    assert.equal((await scrub(Buffer.from(lines))).bytes.toString(), lines);
  });
});

/** As an expression, which is short enough here to take no time. */
function plainlyMatches(pattern: string, path: string): boolean {
  const wild = (star: string) => (star === '**' ? '.*' : '[^/]*');
  return new RegExp(`^${pattern.replace(/\*\*?/g, wild)}$`).test(path);
}

/** Every text of these parts, up to a length. */
function texts(parts: readonly string[], longest: number): string[] {
  if (longest === 0) return [''];
  const shorter = texts(parts, longest - 1);
  const full = shorter.filter(text => text.length >= longest - 1);
  return [...new Set([...shorter, ...full.flatMap(text => parts.map(part => text + part))])];
}

describe('an escape', () => {
  const written: Readonly<Record<string, string>> = {
    '%4A': 'J',
    '\\u{4a}': 'J',
    '\\u{00004A}': 'J',
    '\\\\u004a': 'J',
    '\\u004a': 'J',
    '\\x4a': 'J',
    '&#74;': 'J',
    '&#00074': 'J',
    '&#x4a;': 'J',
    '&#x004A': 'J',
    '\\112': 'J',
    '=4A': 'J',
    '&amp;': '&',
    '&percnt;': '%',
    '&NUM;': '#',
    '&equals;': '=',
    '&colon;': ':',
    '&quot;': ' ',
    '&lowbar;': ' ',
    '\\u{1F511}': Buffer.from('🔑').toString('latin1'),
    '\\u00fc': 'ü',
    '\\u0416': Buffer.from('Ж').toString('latin1'),
    '\\u{110000}': '\\u{110000}',
    '\\412': '\\412',
    '%4g': '%4g',
  };
  for (const [text, expected] of Object.entries(written))
    it(`is read as what it stands for: ${text}`, async () => {
      const views = unescapedViews(Buffer.from(`a${text}z`), async () => {});
      const { value: first } = await views.next();
      assert.equal(first?.toString('latin1') ?? `a${text}z`, `a${expected}z`);
    });
});

it('a path matches a pattern as it does by an expression', () => {
  const paths = texts(['a', 'b', '/'], 5);
  let matched = 0;
  for (const pattern of texts(['a', '/', '*', '**'], 4)) {
    for (const path of paths) {
      const expected = plainlyMatches(`/${pattern}`, `/${path}`);
      if (expected) matched++;
      assert.equal(matchesPath(`/${pattern}`, `/${path}`), expected, `/${pattern} /${path}`);
    }
  }
  assert.ok(matched > 1_000);
});

it('whoever approves a call sees what is hidden or turned around in its body', () => {
  const hiding = '{"to":"\u202egnitseuqer\u202c","amount":1\u200b0\u00ad0\u0008\u{e0041}}';
  assert.equal(
    drawn(hiding),
    '{"to":"⟨U+202E⟩gnitseuqer⟨U+202C⟩","amount":1⟨U+200B⟩0⟨U+00AD⟩0⟨U+0008⟩⟨U+E0041⟩}',
  );
  assert.equal(
    drawn('{\r\n\t"name": "Zoë, Ω, 中, ע, \u00a0, e\u0301, ×, ⟨U+0041⟩"}'),
    '{⟨U+000D⟩↵⇥"name": "Zoë, Ω⟨U+03A9⟩, 中⟨U+4E2D⟩, ע⟨U+05E2⟩, ⟨U+00A0⟩, e⟨U+0301⟩, ⟨U+00D7⟩, ⟨U+27E8⟩U+0041⟨U+27E9⟩"}',
  );
});

function drawn(text: string): string {
  return visibleParts(text)
    .map(part => (part.kind === 'plain' ? part.text : part.glyph + part.code))
    .join('');
}
