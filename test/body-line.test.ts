/** How much room a body takes before it is read: what it says of its length, and never more than may be read of it. */
import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { BodyLine } from '../src/http/listener/body-line.ts';

const mebibyte = 1024 * 1024;
const room = 4 * mebibyte;

function bodies(t: TestContext) {
  const line = new BodyLine();
  const responses: ServerResponse[] = [];
  t.after(() => {
    for (const response of responses) response.emit('close');
  });
  return (headers: Record<string, string>, largest = room, isComplete = false): Promise<void> | null => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers, complete: isComplete });
    const response = new ServerResponse(request);
    responses.push(response);
    return line.enter(request, response, largest);
  };
}

/** Whether a body of so many bytes still finds room at once. */
async function isRoomFor(enter: ReturnType<typeof bodies>, bytes: number): Promise<boolean> {
  const entered = enter({ 'content-length': String(bytes) })?.then(
    () => true,
    () => false,
  );
  return (await Promise.race([entered, new Promise(setImmediate).then(() => false)])) === true;
}

describe('a body', () => {
  it('takes as much room as it says', async t => {
    const enter = bodies(t);
    await enter({ 'content-length': String(room - mebibyte) });
    assert.equal(await isRoomFor(enter, mebibyte + 1), false);
    assert.equal(await isRoomFor(bodies(t), mebibyte + 1), true);
  });

  it('that says more than may be read of it takes what may be read', async t => {
    const enter = bodies(t);
    await enter({ 'content-length': String(1024 * mebibyte) }, mebibyte);
    assert.equal(await isRoomFor(enter, room - mebibyte), true);
  });

  it('that says nothing of its length takes what may be read of it', async t => {
    const enter = bodies(t);
    await enter({ 'transfer-encoding': 'chunked' }, mebibyte);
    assert.equal(await isRoomFor(enter, room - mebibyte + 1), false);
  });

  it('that is small, missing or there already never waits', async t => {
    const enter = bodies(t);
    await enter({ 'content-length': String(room) });
    assert.equal(enter({ 'content-length': '65536' }), null);
    assert.equal(enter({}), null);
    assert.equal(enter({ 'content-length': String(mebibyte) }, room, true), null);
    assert.notEqual(
      enter({ 'content-length': '65537' })?.catch(() => {}),
      null,
    );
  });
});
