/** Every command by its name. One is loaded only when it is used. */
import type { Command } from './command.ts';

type Load = () => Promise<{ readonly command: Command }>;

export const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Use a vault': {
    run: () => import('./run.ts'),
    get: () => import('./get.ts'),
    list: () => import('./list.ts'),
    set: () => import('./set.ts'),
    rm: () => import('./rm.ts'),
    history: () => import('./history.ts'),
    rollback: () => import('./rollback.ts'),
    diff: () => import('./diff.ts'),
    export: () => import('./export.ts'),
    import: () => import('./import.ts'),
    inject: () => import('./inject.ts'),
    redact: () => import('./redact.ts'),
    login: () => import('./login.ts'),
    logout: () => import('./logout.ts'),
    whoami: () => import('./whoami.ts'),
    open: () => import('./open.ts'),
    completion: () => import('./completion.ts'),
  },
  'Let machines in': {
    'identities list': async () => ({ command: (await import('./identities.ts')).listCommand }),
    'identities create': () => import('./identity-create.ts'),
    'identities delete': async () => ({ command: (await import('./identities.ts')).deleteCommand }),
    'identities presets': async () => ({ command: (await import('./identities.ts')).presetsCommand }),
    'identities refusals': async () => ({ command: (await import('./identities.ts')).refusalsCommand }),
    'identities secret-id': async () => ({ command: (await import('./identities.ts')).secretIdCommand }),
  },
  'Manage people': {
    'members list': async () => ({ command: (await import('./people.ts')).membersCommand }),
    'members invite': async () => ({ command: (await import('./people.ts')).inviteCommand }),
    'members grant': async () => ({ command: (await import('./people.ts')).grantMemberCommand }),
    'groups list': async () => ({ command: (await import('./people.ts')).groupsCommand }),
    'groups create': async () => ({ command: (await import('./people.ts')).createGroupCommand }),
    'groups grant': async () => ({ command: (await import('./people.ts')).grantGroupCommand }),
    'groups add': async () => ({ command: (await import('./people.ts')).addToGroupCommand }),
    'groups remove': async () => ({ command: (await import('./people.ts')).removeFromGroupCommand }),
    'groups delete': async () => ({ command: (await import('./people.ts')).deleteGroupCommand }),
  },
  'Run the service': {
    serve: () => import('./serve.ts'),
    setup: () => import('./setup.ts'),
    doctor: () => import('./doctor.ts'),
    migrate: () => import('./migrate.ts'),
    'organization set-plan': () => import('./set-plan.ts'),
    'owner reset': () => import('./owner-reset.ts'),
    'keyring rotate': async () => ({ command: (await import('./keyring.ts')).rotateCommand }),
    'keyring status': async () => ({ command: (await import('./keyring.ts')).statusCommand }),
    'backup verify': async () => ({ command: (await import('./backup.ts')).verifyCommand }),
    'backup new-key': async () => ({ command: (await import('./backup.ts')).newKeyCommand }),
    backup: () => import('./backup.ts'),
    restore: () => import('./restore.ts'),
    'root-key rotate': () => import('./root-key.ts'),
    'log stream': () => import('./log-stream.ts'),
    'audit verify': async () => ({ command: (await import('./audit.ts')).verifyCommand }),
    'audit export': async () => ({ command: (await import('./audit.ts')).exportCommand }),
    'audit public-key': async () => ({ command: (await import('./audit.ts')).publicKeyCommand }),
    'mcp config': () => import('./mcp-config.ts'),
    mcp: () => import('./mcp.ts'),
  },
};

export const commands: Readonly<Record<string, Load>> = Object.assign({}, ...Object.values(groups));
