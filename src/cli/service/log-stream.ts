/**
 * `strongroom log stream`: copies both logs, as they grow, to a file, standard output or a collector. Every entry
 * arrives at least once; where it has come to is kept in a file, so that it goes on from there however it ended.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '../../base/described-error.ts';
import { writeDurably } from '../../base/durable-file.ts';
import { behind, logStart, type Position } from '../../logs/tail.ts';
import { openLogs } from '../../service/opening/open-data.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import { choice, flag, type Option, text } from '../../service/settings/options.ts';
import type { Command } from '../terminal/command.ts';
import { note } from '../terminal/terminal.ts';
import { checkCollector, isUrl, type Send, sinkTo } from './log-sinks.ts';

export const streamOptions = {
  ...placeOptions,
  to: {
    ...text('FILE|-|URL', 'where the entries go: a file, - for standard output, or a collector’s address'),
    parse: (given: string) => {
      const fault = isUrl(given) ? checkCollector(given) : given === '' ? 'must not be empty' : null;
      if (fault !== null) throw new Error(fault);
      return given;
    },
  } as Option<string | null>,
  position: text('FILE', 'where to keep how far the logs were read (required, except with --once)'),
  only: choice('copy one of the logs', ['request', 'audit'] as const),
  'token-file': text('FILE', 'send the token in FILE to the collector (Authorization: Bearer)'),
  once: flag('end when everything that is stored was copied'),
};

type StreamConfig = ReturnType<typeof readConfig<typeof streamOptions>>;

const lookEvery = 1_000;

export const command: Command = {
  usage: 'log stream --to FILE|-|URL [flags]',
  summary: 'copy the request log and the audit log elsewhere as they grow',
  options: streamOptions,
  about:
    'Copies log entries as lines of JSON, beside a running service. Each arrives at least once; after an interruption some arrive again. Needs no root key, and changes nothing.',
  run: async args => {
    const stopping = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
    await streamLogs(readConfig(streamOptions, args, process.env), stopping.signal);
  },
};

/** Until it is stopped; with `once`, until all that is stored was copied. */
export async function streamLogs(config: StreamConfig, stopping: AbortSignal): Promise<void> {
  if (config.to === null) throw new UsageError('--to is required');
  if (config.position === null && !config.once)
    throw new UsageError('--position is required, except with --once');
  const send = sinkTo(config.to, tokenIn(config['token-file']));
  let position = positionIn(config.position);
  const keep = async (reached: Position) => {
    position = reached;
    if (config.position !== null) await writeDurably(config.position, `${JSON.stringify(reached)}\n`);
  };
  while (!stopping.aborted) {
    const isDone = await copyOn(config, position, send, keep, stopping).then(
      () => true,
      error => retried(config, error),
    );
    if (config.once && isDone) return;
    await sleep(lookEvery, undefined, { signal: stopping }).catch(() => {});
  }
}

/** A database that is away comes back; anything else ends it. */
function retried({ once }: StreamConfig, error: unknown): false {
  if (once || (error as { code?: unknown }).code !== 'UNAVAILABLE') throw error;
  note(`the database can’t be read: ${describe(error)}`);
  return false;
}

/** All that is stored at this moment. The position is kept behind what was sent, and never before. */
async function copyOn(
  config: StreamConfig,
  from: Position,
  send: Send,
  keep: (reached: Position) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const logs = await openLogs(config);
  try {
    for await (const { lines, position } of behind(
      logs,
      from,
      config.only === null ? ['audit', 'request'] : [config.only],
    )) {
      if (lines.length > 0) await send(lines);
      await keep(position);
      if (stopping.aborted) return;
    }
  } finally {
    await logs.close();
  }
}

function positionIn(file: string | null): Position {
  if (file === null || !existsSync(file)) return logStart;
  try {
    const { audit, request, chains } = JSON.parse(readFileSync(file, 'utf8')) as Position;
    if (Number.isSafeInteger(audit) && typeof chains === 'object')
      return { audit, request: request ?? null, chains };
  } catch {
    // Told of below: to begin anew would send everything again.
  }
  throw new UsageError(
    '--position names a file that contains no position: remove it to copy everything again',
  );
}

function tokenIn(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new UsageError('--token-file names a file that can’t be read');
  }
}
