/**
 * How clients are told of the service. Where a client can read the key from the environment or ask for it, the
 * configuration says so, and holds none itself. Tool names are asked for with underscores: some clients switch
 * a whole server off for a dotted one.
 */
export interface ClientConfiguration {
  /** Where it belongs. */
  readonly where: string;
  readonly text: string;
}

const variable = 'STRONGROOM_ACCESS_KEY';
const input = 'strongroom-access-key';

export type ClientName = keyof typeof configurations;

const configurations = {
  'claude-code': (url: string): ClientConfiguration => ({
    where: `.mcp.json in the project; the key comes from ${variable} in the environment`,
    text: pretty({
      mcpServers: {
        strongroom: { type: 'http', url: endpoint(url), headers: bearer(`\${${variable}}`) },
      },
    }),
  }),
  'claude-desktop': (url: string): ClientConfiguration => ({
    where: 'claude_desktop_config.json (Settings, Developer, Edit Config); put your key in',
    text: pretty({
      mcpServers: {
        strongroom: {
          command: 'strongroom',
          args: ['mcp', '--names', 'underscore'],
          env: { STRONGROOM_URL: url, [variable]: 'sr_vault_…' },
        },
      },
    }),
  }),
  cursor: (url: string): ClientConfiguration => ({
    where: `~/.cursor/mcp.json, or .cursor/mcp.json in the project; the key comes from ${variable} in the environment`,
    text: pretty({
      mcpServers: { strongroom: { url: endpoint(url), headers: bearer(`\${env:${variable}}`) } },
    }),
  }),
  vscode: (url: string): ClientConfiguration => ({
    where: '.vscode/mcp.json in the project; the editor asks for the key and keeps it',
    text: pretty({
      inputs: [
        {
          type: 'promptString',
          id: input,
          description: 'Strongroom vault access key',
          password: true,
        },
      ],
      servers: {
        strongroom: {
          type: 'http',
          url: endpoint(url),
          headers: bearer(`\${input:${input}}`),
        },
      },
    }),
  }),
  inspector: (url: string): ClientConfiguration => ({
    where: `a shell, with the key in ${variable}`,
    text: `npx @modelcontextprotocol/inspector --cli ${url}/mcp --transport http --header "Authorization: Bearer $${variable}" --method tools/list`,
  }),
};

/** `url` is the address of the service, with no path. */
export function configurationFor(client: ClientName, url: string): ClientConfiguration {
  return configurations[client](url);
}

function endpoint(url: string): string {
  return `${url}/mcp?names=underscore`;
}

function bearer(key: string) {
  return { Authorization: `Bearer ${key}` };
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
