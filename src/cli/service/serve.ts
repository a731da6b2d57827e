/** `strongroom serve`: runs the service until it is stopped. */
import { writeFileSync } from 'node:fs';
import { describe } from '../../base/described-error.ts';
import { serve } from '../../service/serve.ts';
import { serveOptions } from '../../service/settings/command-options.ts';
import { readConfig } from '../../service/settings/config.ts';
import { folding, type Report, reportLine } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';

const longestStop = 10_000;

export const command: Command = {
  usage: 'serve [flags]',
  summary: 'run the service: API, vault endpoint, tool endpoint and dashboard',
  options: serveOptions,
  about: 'Runs the service.',
  run: async args => {
    hardenProcess();
    const config = readConfig(serveOptions, args, process.env);
    const format = config['log-format'] ?? 'text';
    const output = format === 'json' ? process.stdout : process.stderr;
    const print: Report = (line, requestId) => output.write(reportLine(format, new Date(), line, requestId));
    const report = folding(print);
    const running = await serve(config, { report, sparing: true });
    stopOnSignals(running.stop, report);
    reloadOnSignal(running.reload, report);
    const say = format === 'json' ? print : (line: string) => process.stdout.write(`${line}\n`);
    say(`Strongroom is listening on ${running.url}`);
    if (running.isSealed()) {
      say('Sealed: run strongroom unseal, or start again with another slot of the root key');
      return;
    }
    if (running.metricsUrl !== null) say(`Metrics: ${running.metricsUrl}`);
    say(running.setupUrl === null ? `Dashboard: ${running.dashboardUrl}` : `Setup link: ${running.setupUrl}`);
  },
};

/**
 * Hardens a process that has keys in memory: no debugger opens on a signal, and core files contain no memory. The
 * service also continues if its output is closed.
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

/** By convention, SIGHUP reloads; by default, it would end the process immediately. */
function reloadOnSignal(reload: () => Promise<void>, report: Report): void {
  process.on('SIGHUP', () => {
    reload().catch(error => report(`the certificate could not be reloaded: ${describe(error)}`));
  });
}

function stopOnSignals(stop: () => Promise<void>, report: Report): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), longestStop).unref();
    stop().then(
      () => process.exit(0),
      error => {
        report(`shutdown failed: ${describe(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
