/** The variables of `run --via`: an address of the gateway for each program, and a key that reads nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { viaVariables } from '../src/cli/vault/via.ts';

const settings = {
  url: 'https://vault.example/',
  accessKey: mintToken('vault', '0199a3c4-1111-7abc-8def-0123456789ab'),
} as never;
const given = (via: { program: string; rule: string }[], more: { 'via-for'?: string } = {}, inherited = {}) =>
  viaVariables(settings, { via, 'via-for': null, ...more }, inherited);

describe('run --via', () => {
  it('names the gateway to each program in its own variables', async () => {
    const names: [program: string, expected: Record<string, string>][] = [
      ['openai', { OPENAI_BASE_URL: 'https://vault.example/via/rule/v1', OPENAI_API_KEY: 'KEY' }],
      ['anthropic', { ANTHROPIC_BASE_URL: 'https://vault.example/via/rule', ANTHROPIC_API_KEY: 'KEY' }],
      ['github', { GITHUB_API_URL: 'https://vault.example/via/rule', GITHUB_TOKEN: 'KEY' }],
      ['hugging-face', { HF_ENDPOINT: 'https://vault.example/via/rule', HF_TOKEN: 'KEY' }],
      ['stripe', { STRIPE_API_BASE: 'https://vault.example/via/rule', STRIPE_API_KEY: 'KEY' }],
      ['pypi', { PIP_INDEX_URL: 'https://strongroom:KEY@vault.example/via/rule/simple' }],
      ['my-service', { MY_SERVICE_BASE_URL: 'https://vault.example/via/rule', MY_SERVICE_API_KEY: 'KEY' }],
      [
        'npm',
        {
          npm_config_registry: 'https://vault.example/via/rule/',
          'npm_config_//vault.example/via/rule/:_authToken': 'KEY',
          npm_config_replace_registry_host: 'always',
        },
      ],
    ];
    for (const [program, expected] of names) {
      const { variables, secrets } = await given([{ program, rule: 'rule' }]);
      const key = secrets[0]!.value;
      assert.match(key, /^sr_narrow_/);
      const shown = Object.entries(variables).map(([name, value]) => [name, value.replace(key, 'KEY')]);
      assert.deepEqual(Object.fromEntries(shown), expected, program);
    }
  });

  it('adds to the settings of git that the environment has, and asks for no password', async () => {
    const { variables, secrets } = await given(
      [{ program: 'git', rule: 'acme shop' }],
      {},
      { GIT_CONFIG_COUNT: '2' },
    );
    assert.equal(variables.GIT_CONFIG_COUNT, '6');
    assert.equal(variables.GIT_TERMINAL_PROMPT, '0');
    assert.equal(variables.GIT_CONFIG_KEY_2, 'url.https://vault.example/via/acme%20shop/.insteadOf');
    assert.equal(variables.GIT_CONFIG_VALUE_2, 'https://github.com/');
    const pair = Buffer.from(`strongroom:${secrets[0]!.value}`).toString('base64');
    assert.equal(variables.GIT_CONFIG_VALUE_4, `Authorization: Basic ${pair}`);
  });

  it('requires an access key, and a duration where one is given', async () => {
    const none = { url: 'https://vault.example', accessKey: null } as never;
    await assert.rejects(
      viaVariables(none, { via: [{ program: 'npm', rule: 'npm' }], 'via-for': null }, {}),
      /access key/,
    );
    await assert.rejects(
      given([{ program: 'npm', rule: 'npm' }], { 'via-for': 'soon' }),
      /--via-for must be a duration/,
    );
    assert.deepEqual(await viaVariables(none, { via: [], 'via-for': null }, {}), {
      variables: {},
      secrets: [],
    });
  });
});
