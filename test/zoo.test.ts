import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { importCertificatePem, importPkcs12 } from '../src/material/certificate.ts';
import { importKey } from '../src/material/key-material.ts';
import { processorTime } from './effort.ts';
import { type Animal, zoo } from './zoo.ts';

function take(animal: Animal): Promise<unknown> {
  if (animal.kind === 'pkcs12') return importPkcs12(animal.input, animal.passphrase);
  return (animal.kind === 'key' ? importKey : importCertificatePem)(animal.input, animal.passphrase);
}

/** Everything a failure could carry out of the process or into a log. */
function textOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  return [JSON.stringify(failure), failure.message, failure.stack, textOf(failure.cause ?? '')].join('\n');
}

function encodings(input: string | Buffer): string[] {
  if (typeof input === 'string') return [input];
  return [input.toString('latin1'), input.toString('base64'), input.toString('hex')];
}

function repeats(text: string, sent: readonly string[]): boolean {
  return Array.from(text, (_, i) => text.slice(i, i + 16)).some(
    piece => piece.length === 16 && sent.some(value => value.includes(piece)),
  );
}

test('the zoo has at least 150 animals, each with a name of its own', () => {
  assert.ok(zoo.length >= 150, `${zoo.length}`);
  assert.equal(new Set(zoo.map(({ name }) => name)).size, zoo.length);
});

// The runtime once gave dates out of uninitialized memory here: once in a while they were in order.
test('a certificate without sound dates is refused each time', async () => {
  const animal = zoo.find(({ name }) => name === 'a certificate with a date that is none')!;
  for (let times = 0; times < 2_000; times++) await assert.rejects(take(animal), Failure);
});

describe('is refused as invalid, quickly, and not repeated', () => {
  for (const animal of zoo)
    test(animal.name, async () => {
      let failure: unknown;
      const spent = await processorTime(async () => {
        failure = await take(animal).then(
          () => assert.fail('it was accepted'),
          (error: unknown) => error,
        );
      });
      assert.ok(failure instanceof Failure, `another error: ${failure}`);
      assert.equal(failure.code, 'INVALID_REQUEST');
      assert.ok(failure.field !== '' && failure.reason !== '');
      assert.ok(!repeats(textOf(failure), encodings(animal.input)), 'it repeats what was sent');
      assert.ok(spent < 1_000, `it took ${Math.round(spent)} ms`);
    });
});
