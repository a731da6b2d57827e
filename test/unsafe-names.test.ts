/** Names that change what is run, or whom a program trusts: every consumer of names refuses all of them. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formats } from '../src/cli/vault/export-formats.ts';
import { changesWhatRuns } from '../src/contract/variable-names.ts';
import { textOf } from '../web/src/pages/vaults/export-text.ts';
import { type Done, startTool, type Tool } from './tool.ts';

/** From the manuals of the programs, not from our table. */
const unsafe = `
  LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH LOCPATH HOSTALIASES
  PATH HOME SHELL IFS ENV BASH_ENV PROMPT_COMMAND PS1 PS4 CDPATH ZDOTDIR SHELLOPTS INPUTRC XDG_CONFIG_HOME
  NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED NPM_CONFIG_SCRIPT_SHELL npm_config_registry
  Npm_Config_Node_Options YARN_RC_FILENAME BUN_INSTALL DENO_DIR COREPACK_NPM_REGISTRY
  PYTHONPATH PYTHONSTARTUP PYTHONHOME PIP_INDEX_URL PIP_CONFIG_FILE UV_INDEX_URL VIRTUAL_ENV
  RUBYOPT RUBYLIB GEM_HOME BUNDLE_GEMFILE PERL5OPT PERL5LIB PERL5DB PERLLIB PHPRC PHP_INI_SCAN_DIR COMPOSER_HOME LUA_INIT
  JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME CLASSPATH MAVEN_OPTS GRADLE_OPTS
  DOTNET_STARTUP_HOOKS CORECLR_PROFILER CORECLR_ENABLE_PROFILING COR_PROFILER_PATH COMPlus_Version NUGET_PACKAGES
  GOFLAGS GOPROXY GOTOOLCHAIN CGO_CFLAGS CARGO_BUILD_RUSTC_WRAPPER CARGO_HOME CARGO_REGISTRY_CREDENTIAL_PROVIDER RUSTC RUSTC_WRAPPER RUSTFLAGS RUSTUP_TOOLCHAIN
  CC CXX LDFLAGS MAKEFLAGS GNUMAKEFLAGS MAKEFILES CMAKE_TOOLCHAIN_FILE PKG_CONFIG_PATH TAR_OPTIONS RSYNC_RSH RSYNC_CONNECT_PROG GREP_OPTIONS
  GIT_SSH GIT_SSH_COMMAND GIT_SEQUENCE_EDITOR GIT_EDITOR GIT_PAGER GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_ASKPASS
  SSH_ASKPASS SSH_AUTH_SOCK SSH_SK_PROVIDER SUDO_ASKPASS EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE KUBE_EDITOR BROWSER
  KUBECONFIG KUBERNETES_SERVICE_HOST DOCKER_HOST DOCKER_CONFIG AWS_CONFIG_FILE TF_CLI_ARGS ANSIBLE_LIBRARY HELM_PLUGINS
  HTTP_PROXY https_proxy ALL_PROXY no_proxy SSL_CERT_FILE SSLKEYLOGFILE REQUESTS_CA_BUNDLE OPENSSL_CONF CURL_HOME WGETRC
  GITHUB_ENV GITHUB_PATH RUNNER_TEMP ACTIONS_ID_TOKEN_REQUEST_URL STRONGROOM_URL STRONGROOM_API_KEY strongroom_access_key
`
  .trim()
  .split(/\s+/);

/** The same, judged here and not handed to every consumer: there are many, and a process takes its time. */
const more = `
  ERL_FLAGS ERL_AFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS MIX_ARCHIVES JULIA_LOAD_PATH GHC_PACKAGE_PATH OCAMLRUNPARAM GUILE_LOAD_PATH NIX_PATH NIX_SSHOPTS
  KAFKA_OPTS ES_JAVA_OPTS CATALINA_OPTS SPEC_OPTS ARGOCD_OPTS LS_JAVA_OPTS HADOOP_OPTS GUNICORN_CMD_ARGS PYTEST_ADDOPTS PYTEST_PLUGINS
  RESTIC_PASSWORD_COMMAND RCLONE_PASSWORD_COMMAND BORG_PASSCOMMAND BORG_RSH CVS_RSH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS RIPGREP_CONFIG_PATH
  CLOUDSDK_PYTHON CLOUDSDK_PYTHON_ARGS AZURE_EXTENSION_DIR BOTO_CONFIG TERRAGRUNT_TFPATH COMPOSE_FILE CONTAINER_HOST CONTAINERS_CONF BUILDKIT_HOST
  VIMRUNTIME EMACSLOADPATH AWKPATH AWKLIBPATH TEXMFCNF GS_LIB MAGICK_CONFIGURE_PATH GDK_PIXBUF_MODULE_FILE VK_ICD_FILENAMES ALSA_CONFIG_PATH
  ODBCSYSINI LIBMYSQL_PLUGINS SASL_PATH LDAPRC TNS_ADMIN APT_CONFIG GNUPGHOME PASSWORD_STORE_EXTENSIONS_DIR NVM_DIR ASDF_DIR HOMEBREW_PREFIX
  UWSGI_INI
`
  .trim()
  .split(/\s+/);

const safe = `
  DATABASE_URL API_TOKEN API_KEY PASSWORD PORT LOG_LEVEL NODE_ENV NODE_AUTH_TOKEN NPM_TOKEN GITHUB_TOKEN GIT_TOKEN SSH_PRIVATE_KEY SSH_HOST
  CARGO_REGISTRY_TOKEN PYTHONUNBUFFERED RUST_LOG DOCKER_PASSWORD DOCKER_REGISTRY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY KUBE_TOKEN
  GOOGLE_APPLICATION_CREDENTIALS JAVA_KEYSTORE_PASSWORD RUBYGEMS_API_KEY TF_VAR_region PGPASSWORD POSTGRES_PASSWORD PATHS MY_PATH
  HEX_API_KEY HOMEBREW_GITHUB_API_TOKEN CLOUDSDK_AUTH_ACCESS_TOKEN MIX_PUSHER_APP_KEY RESTIC_PASSWORD BORG_PASSPHRASE VK_APP_ID STACK_NAME
  HOMEPAGE ENVIRONMENT COMMANDS OPTS_URL PROXY_URL SHELLY LESSON_KEY
`
  .trim()
  .split(/\s+/);

let tool: Tool;
before(async () => {
  tool = await startTool(
    Object.fromEntries([...unsafe, 'GOOD'].map(name => [name, `value of ${name.length}`])),
  );
});
after(() => tool.stop());

const value = 'sr://self/GOOD';
const file = (name: string, text: string) => {
  writeFileSync(join(tool.home, name), text);
  return join(tool.home, name);
};

/** Each gives a name to another program in its own way. */
const consumers: Readonly<Record<string, (name: string, ...flags: string[]) => Promise<Done>>> = {
  ...Object.fromEntries(
    formats.map(format => [
      `export --format ${format}`,
      (name: string, ...flags: string[]) =>
        tool.run(['export', '--format', format, '--only', name, ...flags]),
    ]),
  ),
  'export --dialect python': (name, ...flags) =>
    tool.run(['export', '--dialect', 'python', '--only', name, ...flags]),
  'export --prefix': async (name, ...flags) => {
    await tool.put(name.slice(1), 'x');
    return tool.run(['export', '--only', name.slice(1), '--prefix', name.slice(0, 1), ...flags]);
  },
  'run, by the vault': (name, ...flags) => tool.run(['run', '--only', name, ...flags, '--', 'true']),
  'run, by a project file': (name, ...flags) => {
    const cwd = join(tool.home, `project-${name}`);
    mkdirSync(cwd, { recursive: true });
    writeFileSync(
      join(cwd, '.strongroom.json'),
      JSON.stringify({ names: ['GOOD'], map: { [name]: 'GOOD' } }),
    );
    return tool.run(['run', ...flags, '--', 'true'], { cwd });
  },
  'run, by a file of variables': (name, ...flags) =>
    tool.run([
      'run',
      '--only',
      'GOOD',
      '--variables',
      file(`plain-${name}`, `${name}=x\n`),
      ...flags,
      '--',
      'true',
    ]),
  'run, by a file of references': (name, ...flags) =>
    tool.run([
      'run',
      '--only',
      'GOOD',
      '--variables',
      file(`some-${name}`, `${name}=${value}\n`),
      ...flags,
      '--',
      'true',
    ]),
  ...Object.fromEntries(
    [
      (name: string) => `${name}=${value}\n`,
      (name: string) => `export ${name}="{{ ${value} }}"\n`,
      (name: string) => `env:\n  - name: x\n  ${name}: '${value}'\n`,
      (name: string) => `{ "A": 1, "${name}": "${value}" }\n`,
    ].map(template => [
      `inject, ${template('NAME').trim()}`,
      (name: string, ...flags: string[]) => tool.run(['inject', ...flags], { input: template(name) }),
    ]),
  ),
};

describe('a name that changes what is run', () => {
  it('is known in any case of its letters, and names of ordinary secrets are not among them', () => {
    for (const name of [...unsafe, ...more])
      for (const written of [name, name.toUpperCase(), name.toLowerCase()])
        assert.ok(changesWhatRuns(written), written);
    for (const name of [...safe, ...safe.map(one => one.toLowerCase())])
      assert.ok(!changesWhatRuns(name), name);
    assert.ok(changesWhatRuns('BASH_FUNC_ls%%'), 'a function of bash');
    assert.ok(
      changesWhatRuns('npm_config_//registry.example.com/:_authToken'),
      'a setting with a path in it',
    );
    assert.ok(!changesWhatRuns('ssh_key of the build server'), 'a sentence is no variable');
  });

  // Every name goes through one of them, and every one of them gets several names.
  const all = Object.entries(consumers);
  for (const [at, [what, consume]] of all.entries()) {
    it(`is refused by ${what}`, async () => {
      const mine = unsafe.filter((_, index) => index % all.length === at);
      assert.ok(mine.length > 3);
      await Promise.all(
        mine.map(async name => {
          const { code, stdout, stderr } = await consume(name);
          assert.deepEqual([code, stdout], [1, ''], `${name}: ${stderr}`);
          assert.equal(
            stderr,
            `strongroom: ${name} changes what is run, and is refused: --allow-unsafe-names allows it\n`,
          );
        }),
      );
      const allowed = await consume('GIT_PAGER', '--allow-unsafe-names');
      assert.equal(allowed.code, 0, allowed.stderr);
      const good = await consume('GOOD');
      assert.equal(good.code, 0, good.stderr);
    });
  }

  it('is refused by format=env of the vault endpoint, and named; format=map gives it', async () => {
    const { service, vaultId } = tool;
    for (const name of unsafe) {
      const made = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name, names: [name] });
      const read = (format: string) =>
        fetch(`${service.url}/api/v1/vaults/self?format=${format}`, {
          headers: { authorization: `Bearer ${made.body.token}` },
        });
      const env = await read('env');
      assert.equal(env.status, 400, name);
      assert.ok(
        ((await env.json()) as { message: string }).message.includes(
          `${name} would change what a program runs`,
        ),
      );
      assert.deepEqual(Object.keys((await (await read('map')).json()) as object), [name]);
    }
  });

  it('is refused by the dashboard’s .env file, and not by its JSON', () => {
    for (const name of unsafe) {
      assert.throws(
        () => textOf([{ name, value: 'x' }], 'env'),
        new RegExp(`${name} can change which program runs`),
      );
      assert.ok(textOf([{ name, value: 'x' }], 'json').includes(name));
    }
    assert.equal(textOf([{ name: 'GOOD', value: 'x' }], 'env'), 'GOOD=x\n');
  });
});
