/**
 * Configurations that point MCP clients at the service. If a client can read the key from the environment or prompt for
 * it, the configuration does so and contains no key. Tool names are requested with underscores, because some clients
 * disable a whole server for a dotted name.
 */
interface ClientConfiguration {
  /** The file or place it belongs in. */
  readonly where: string;
  readonly text: string;
}

const variable = 'STRONGROOM_ACCESS_KEY';
const input = 'strongroom-access-key';

type ClientName = keyof typeof configurations;

const fromEnvironment = `the access key comes from ${variable} in the environment`;

const configurations = {
  'claude-code': inJson(`.mcp.json in the project; ${fromEnvironment}`, url => ({
    mcpServers: { strongroom: { type: 'http', url: endpoint(url), headers: bearer(`\${${variable}}`) } },
  })),
  'claude-desktop': inJson(
    'claude_desktop_config.json (Settings, Developer, Edit Config); insert your access key',
    url => ({ mcpServers: { strongroom: program(url) } }),
  ),
  codex: (url: string): ClientConfiguration => ({
    where: `~/.codex/config.toml; ${fromEnvironment}`,
    // A JSON string is also a valid TOML basic string.
    text: [
      '[mcp_servers.strongroom]',
      `url = ${JSON.stringify(endpoint(url))}`,
      `bearer_token_env_var = ${JSON.stringify(variable)}`,
    ].join('\n'),
  }),
  copilot: inJson(`~/.copilot/mcp-config.json, or .mcp.json in the project; ${fromEnvironment}`, url => ({
    mcpServers: {
      strongroom: {
        type: 'http',
        url: endpoint(url),
        headers: bearer(`\${${variable}}`),
        tools: ['*'],
      },
    },
  })),
  cursor: inJson(`~/.cursor/mcp.json, or .cursor/mcp.json in the project; ${fromEnvironment}`, url => ({
    mcpServers: { strongroom: { url: endpoint(url), headers: bearer(`\${env:${variable}}`) } },
  })),
  // Gemini does not pass variables with KEY in their names to programs that it starts.
  gemini: inJson(
    `~/.gemini/settings.json, or .gemini/settings.json in the project; ${fromEnvironment}`,
    url => ({
      mcpServers: { strongroom: { httpUrl: endpoint(url), headers: bearer(`\${${variable}}`) } },
    }),
  ),
  // In the format of version 1, which version 2 also reads.
  opencode: inJson(
    `opencode.json in the project, or ~/.config/opencode/opencode.json; ${fromEnvironment}`,
    url => ({
      $schema: 'https://opencode.ai/config.json',
      mcp: {
        strongroom: {
          type: 'remote',
          url: endpoint(url),
          enabled: true,
          oauth: false,
          headers: bearer(`{env:${variable}}`),
        },
      },
    }),
  ),
  vscode: inJson(
    '.vscode/mcp.json in the project; the editor asks for the access key and stores it',
    url => ({
      inputs: [
        { type: 'promptString', id: input, description: 'Strongroom vault access key', password: true },
      ],
      servers: {
        strongroom: { type: 'http', url: endpoint(url), headers: bearer(`\${input:${input}}`) },
      },
    }),
  ),
  // Zed does not expand variables in the headers of a remote server.
  zed: inJson('settings.json (zed: open settings file); insert your access key', url => ({
    context_servers: { strongroom: program(url) },
  })),
  inspector: (url: string): ClientConfiguration => ({
    where: `a shell, with the access key in ${variable}`,
    text: `npx @modelcontextprotocol/inspector --cli ${url}/mcp --transport http --header "Authorization: Bearer $${variable}" --method tools/list`,
  }),
};

function inJson(where: string, describe: (url: string) => object) {
  return (url: string): ClientConfiguration => ({ where, text: JSON.stringify(describe(url), null, 2) });
}

export const clientNames = Object.keys(configurations) as readonly ClientName[];

/** `url` is the address of the service, without a path. */
export function configurationFor(client: ClientName, url: string): ClientConfiguration {
  return configurations[client](url);
}

function endpoint(url: string): string {
  return `${url}/mcp?names=underscore`;
}

/** The configuration for clients that start a program. */
function program(url: string) {
  return {
    command: 'strongroom',
    args: ['mcp', '--names', 'underscore'],
    env: { STRONGROOM_URL: url, [variable]: 'sr_vault_…' },
  };
}

function bearer(key: string) {
  return { Authorization: `Bearer ${key}` };
}
