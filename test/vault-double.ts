/** A vault doubled by a small server on this machine, for parts of the command line that are tested without a service. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Settings } from '../src/cli/connection/settings.ts';

export const accessKey = 'sr_vault_key';

export interface VaultDouble {
  readonly settings: Settings;
  /** Method and path of what was asked for. */
  readonly asked: string[];
  secrets: Readonly<Record<string, string>>;
  /** Anything but 200 refuses. */
  status: number;
  name: string;
  /** Answers paths of its own; null leaves them to the vault. */
  answer: (request: IncomingMessage) => object | null;
  away(): Promise<void>;
}

export async function vaultDouble(
  t: Pick<TestContext, 'after'>,
  secrets: VaultDouble['secrets'] = {},
): Promise<VaultDouble> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const own = double.answer(request);
    const listed = Object.entries(double.secrets).map(([name, value]) => ({ id: name, name, value }));
    const found = own ?? { id: 'v', name: double.name, secrets: listed };
    const body = JSON.stringify(double.status === 200 ? found : { message: 'refused' });
    const etag = `"${Buffer.from(body).toString('base64url')}"`;
    const status = double.status === 200 && request.headers['if-none-match'] === etag ? 304 : double.status;
    response.writeHead(status, { 'content-type': 'application/json', etag }).end(status === 304 ? '' : body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  t.after(close);
  const double: VaultDouble = {
    settings: {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      vault: null,
      accessKey,
      apiKey: null,
      workload: null,
      project: null,
      profile: null,
      source: 'the environment',
    },
    asked,
    secrets,
    status: 200,
    name: 'app',
    answer: () => null,
    away: close,
  };
  return double;
}
