/** Every command by its name. A command is loaded only when it is used. */
import type { Command } from './terminal/command.ts';

type Load = () => Promise<{ readonly command: Command }>;

async function oneOf<Name extends string>(file: Promise<Readonly<Record<Name, Command>>>, name: Name) {
  return { command: (await file)[name] };
}

export const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Use a vault': {
    run: () => import('./vault/run.ts'),
    get: () => import('./vault/get.ts'),
    list: () => import('./vault/list.ts'),
    find: () => import('./vault/find.ts'),
    use: () => import('./vault/use.ts'),
    set: () => import('./vault/set.ts'),
    rm: () => import('./vault/rm.ts'),
    restore: async () => (await import('./either.ts')).restore(),
    history: () => oneOf(import('./vault/versions.ts'), 'historyCommand'),
    rollback: () => oneOf(import('./vault/versions.ts'), 'rollbackCommand'),
    readers: () => import('./vault/readers.ts'),
    log: () => import('./vault/log.ts'),
    diff: () => import('./vault/diff.ts'),
    export: () => import('./vault/export.ts'),
    import: () => import('./vault/import.ts'),
    inject: () => import('./vault/inject.ts'),
    redact: () => import('./vault/redact.ts'),
    narrow: () => import('./vault/narrow.ts'),
    'mine set': () => oneOf(import('./vault/mine.ts'), 'setCommand'),
    'mine list': () => oneOf(import('./vault/mine.ts'), 'listCommand'),
    'mine rm': () => oneOf(import('./vault/mine.ts'), 'removeCommand'),
    init: () => import('./vault/init.ts'),
    login: () => import('./vault/login.ts'),
    logout: () => oneOf(import('./vault/login.ts'), 'logoutCommand'),
    whoami: () => import('./vault/whoami.ts'),
    open: () => import('./vault/open.ts'),
    completion: () => import('./vault/completion.ts'),
  },
  'Manage keys and certificates': {
    'keys list': () => oneOf(import('./keys/keys.ts'), 'listCommand'),
    'keys create': () => oneOf(import('./keys/keys.ts'), 'createCommand'),
    'keys rotate': () => oneOf(import('./keys/keys.ts'), 'rotateCommand'),
    'keys public': () => oneOf(import('./keys/keys.ts'), 'publicCommand'),
    'keys export': () => oneOf(import('./keys/keys.ts'), 'exportCommand'),
    'certificates list': () => oneOf(import('./keys/certificates.ts'), 'listCommand'),
    'certificates add': () => oneOf(import('./keys/certificates.ts'), 'addCommand'),
    'certificates renew': () => oneOf(import('./keys/certificates.ts'), 'renewCommand'),
  },
  'Let agents use secrets': {
    'use-rules list': () => oneOf(import('./agents/use-rules.ts'), 'listCommand'),
    'use-rules add': () => oneOf(import('./agents/use-rule-changes.ts'), 'addCommand'),
    'use-rules edit': () => oneOf(import('./agents/use-rule-changes.ts'), 'editCommand'),
    'use-rules delete': () => oneOf(import('./agents/use-rules.ts'), 'deleteCommand'),
    'use-rules presets': () => oneOf(import('./agents/use-rules.ts'), 'presetsCommand'),
    'use-rules check': () => oneOf(import('./agents/use-rules.ts'), 'checkCommand'),
  },
  'Manage vaults and access for programs': {
    'vaults list': () => oneOf(import('./programs/vaults.ts'), 'listCommand'),
    'vaults create': () => oneOf(import('./programs/vaults.ts'), 'createCommand'),
    'stages list': () => oneOf(import('./programs/stages.ts'), 'listCommand'),
    'stages show': () => oneOf(import('./programs/stages.ts'), 'showCommand'),
    'stages create': () => oneOf(import('./programs/stages.ts'), 'createCommand'),
    'stages rename': () => oneOf(import('./programs/stages.ts'), 'renameCommand'),
    'stages delete': () => oneOf(import('./programs/stages.ts'), 'deleteCommand'),
    'access-keys list': () => oneOf(import('./programs/access-keys.ts'), 'listCommand'),
    'access-keys create': () => oneOf(import('./programs/access-keys.ts'), 'createCommand'),
    'access-keys revoke': () => oneOf(import('./programs/access-keys.ts'), 'revokeCommand'),
    'identities list': () => oneOf(import('./programs/identities.ts'), 'listCommand'),
    'identities create': () => import('./programs/identity-create.ts'),
    'identities delete': () => oneOf(import('./programs/identities.ts'), 'deleteCommand'),
    'identities presets': () => oneOf(import('./programs/identities.ts'), 'presetsCommand'),
    'identities refusals': () => oneOf(import('./programs/identities.ts'), 'refusalsCommand'),
    'identities secret-id': () => oneOf(import('./programs/identities.ts'), 'secretIdCommand'),
  },
  'Manage people': {
    'members list': () => oneOf(import('./people/people.ts'), 'membersCommand'),
    'members invite': () => oneOf(import('./people/people.ts'), 'inviteCommand'),
    'members grant': () => oneOf(import('./people/people.ts'), 'grantMemberCommand'),
    'groups list': () => oneOf(import('./people/people.ts'), 'groupsCommand'),
    'groups create': () => oneOf(import('./people/people.ts'), 'createGroupCommand'),
    'groups grant': () => oneOf(import('./people/people.ts'), 'grantGroupCommand'),
    'groups add': () => oneOf(import('./people/people.ts'), 'addToGroupCommand'),
    'groups remove': () => oneOf(import('./people/people.ts'), 'removeFromGroupCommand'),
    'groups delete': () => oneOf(import('./people/people.ts'), 'deleteGroupCommand'),
  },
  'Run the service': {
    serve: () => import('./service/serve.ts'),
    setup: () => import('./service/setup.ts'),
    doctor: async () => (await import('./either.ts')).doctor(),
    migrate: () => import('./service/migrate.ts'),
    'organization set-plan': () => oneOf(import('./service/organizations.ts'), 'setPlanCommand'),
    'owner reset': () => oneOf(import('./service/organizations.ts'), 'ownerResetCommand'),
    'keyring rotate': () => oneOf(import('./service/keyring.ts'), 'rotateCommand'),
    'keyring status': () => oneOf(import('./service/keyring.ts'), 'statusCommand'),
    'backup verify': () => oneOf(import('./service/backup.ts'), 'verifyCommand'),
    'backup restore': () => import('./service/restore.ts'),
    'backup new-key': () => oneOf(import('./service/backup.ts'), 'newKeyCommand'),
    backup: () => import('./service/backup.ts'),
    'root-key rotate': () => import('./service/root-key.ts'),
    'log stream': () => import('./service/log-stream.ts'),
    'audit verify': () => oneOf(import('./service/audit.ts'), 'verifyCommand'),
    'audit export': () => oneOf(import('./service/audit.ts'), 'exportCommand'),
    'audit public-key': () => oneOf(import('./service/audit.ts'), 'publicKeyCommand'),
    'mcp config': () => import('./service/mcp-config.ts'),
    mcp: () => import('./service/mcp.ts'),
  },
};

/** Other names of commands, which the help does not list. */
const aliases: Readonly<Record<string, Load>> = {
  ls: () => import('./vault/list.ts'),
};

export const commands: Readonly<Record<string, Load>> = Object.assign({}, ...Object.values(groups), aliases);
