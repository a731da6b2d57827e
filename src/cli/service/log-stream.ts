/**
 * `strongroom log stream`: copies both logs, as they grow, to a file, standard output or a collector. Every entry
 * arrives at least once. The position is kept in a file, so that the copy continues from there, however it ended.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '../../base/described-error.ts';
import { writeDurably } from '../../base/durable-file.ts';
import { behind, logStart, type Position } from '../../logs/tail.ts';
import { openLogs } from '../../service/opening/open-data.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import { choice, flag, text } from '../../service/settings/options.ts';
import type { Command } from '../terminal/command.ts';
import { note } from '../terminal/terminal.ts';
import { checkCollector, isUrl, type Send, sinkTo } from './log-sinks.ts';

export const streamOptions = {
  ...placeOptions,
  to: text(
    'FILE|-|URL',
    'the destination: a file, - for standard output, or a collector’s address',
    given => {
      const fault = isUrl(given) ? checkCollector(given) : given === '' ? 'must not be empty' : null;
      if (fault !== null) throw new Error(fault);
      return given;
    },
  ),
  position: text('FILE', 'the file for the position in the logs (required, except with --once)'),
  only: choice('copy only one of the logs', ['request', 'audit'] as const),
  'token-file': text('FILE', 'send the token in FILE to the collector (Authorization: Bearer)'),
  once: flag('exit when all stored entries are copied'),
};

type StreamConfig = ReturnType<typeof readConfig<typeof streamOptions>>;

const lookEvery = 1_000;

export const command: Command = {
  usage: 'log stream --to FILE|-|URL [flags]',
  summary: 'copy the request log and the audit log elsewhere as they grow',
  options: streamOptions,
  about:
    'Copies log entries as lines of JSON, while the service runs. Each arrives at least once; after an interruption, some arrive again. Requires no root key, and changes nothing.',
  run: async args => {
    const stopping = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
    await streamLogs(readConfig(streamOptions, args, process.env), stopping.signal);
  },
};

/** Runs until it is stopped; with `once`, until all stored entries are copied. */
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

/** Continues after an unavailable database; any other error ends the stream. */
function retried({ once }: StreamConfig, error: unknown): false {
  if (once || (error as { code?: unknown }).code !== 'UNAVAILABLE') throw error;
  note(`the database can’t be read: ${describe(error)}`);
  return false;
}

/** Copies all entries that are stored now. The position is saved after they are sent, never before. */
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
    // Refused below: starting over would send everything again.
  }
  throw new UsageError('--position names a file without a position: delete it to copy everything again');
}

function tokenIn(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new UsageError('--token-file names a file that can’t be read');
  }
}
