/** `strongroom serve`: runs the service until it is told to stop. */
import { writeFileSync } from 'node:fs';
import { helpFor, readConfig, serveOptions } from '../config.ts';
import { describe } from '../report.ts';
import { serve } from '../serve.ts';
import type { Command } from './command.ts';

const usage = 'serve [flags]';
const summary = 'serve the API, the vault endpoint and the tool endpoint';
const longestStop = 10_000;

export const command: Command = {
  usage,
  summary,
  help: () => helpFor(usage, 'Serves the whole product.', serveOptions),
  run: async args => {
    hardenProcess();
    const report = (line: string) => process.stderr.write(`${new Date().toISOString()} ${line}\n`);
    const running = await serve(readConfig(serveOptions, args, process.env), { report });
    stopOnSignals(running.stop, report);
    process.stdout.write(`Strongroom serves on ${running.url}\n`);
    process.stdout.write(
      running.setupUrl === null ? `Dashboard: ${running.dashboardUrl}\n` : `Set it up: ${running.setupUrl}\n`,
    );
  },
};

/**
 * A process that holds keys opens no debugger when asked by a signal, and leaves no memory behind in a core file. That
 * nobody reads what it says any more is no reason to stop serving.
 */
function hardenProcess(): void {
  process.on('SIGUSR1', () => {});
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Only Linux has it.
  }
}

function stopOnSignals(stop: () => Promise<void>, report: (line: string) => void): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), longestStop).unref();
    stop().then(
      () => process.exit(0),
      error => {
        report(`the stop failed: ${describe(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
