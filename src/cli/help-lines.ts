/** The lines of `strongroom help`. Written by `npm run cli:help`; don't edit it. */
import type { HelpLine } from './terminal/command.ts';

export const helpLines: Readonly<Record<string, HelpLine>> = {
  run: {
    usage: 'run [flags] -- COMMAND [ARGUMENT...]',
    summary: 'run a program with the secrets of a vault in its environment',
  },
  get: {
    usage: 'get NAME [flags]',
    summary: 'print the value of a secret',
  },
  list: {
    usage: 'list [flags]',
    summary: 'print the names of the secrets in a vault',
  },
  find: {
    usage: 'find WORD... [flags]',
    summary: 'search names and tags in all vaults',
  },
  use: {
    usage: 'use SECRET URL [flags]',
    summary: 'call an API with a secret you never see',
  },
  set: {
    usage: 'set NAME [-|@FILE] [flags]',
    summary: 'create a secret or give it a new value',
  },
  rm: {
    usage: 'rm NAME... [flags]',
    summary: 'delete secrets',
  },
  restore: {
    usage: 'restore NAME [flags]',
    summary: 'restore a deleted secret, key, certificate or vault',
  },
  history: {
    usage: 'history NAME [flags]',
    summary: 'print the versions of a secret',
  },
  rollback: {
    usage: 'rollback NAME VERSION [flags]',
    summary: 'give a secret the value of an earlier version',
  },
  rotate: {
    usage: 'rotate NAME [flags]',
    summary: 'give a secret its next value now, by its rotation',
  },
  rotations: {
    usage: 'rotations [flags]',
    summary: 'list the secrets that rotate, the next first',
  },
  readers: {
    usage: 'readers NAME [VERSION] [flags]',
    summary: 'print who has read a secret, and when',
  },
  log: {
    usage: 'log [flags]',
    summary: 'print the newest requests to vaults',
  },
  diff: {
    usage: 'diff [VAULT|FILE] VAULT|FILE [flags]',
    summary: 'compare two vaults, or a vault and a .env file',
  },
  export: {
    usage: 'export [flags]',
    summary: 'print the secrets of a vault in another program’s format',
  },
  import: {
    usage: 'import FILE|- [flags]',
    summary: 'store secrets, keys and certificates from a file or another product’s export',
  },
  inject: {
    usage: 'inject [-i TEMPLATE] [-o FILE] [flags]',
    summary: 'fill a template with secrets',
  },
  redact: {
    usage: 'redact [flags]',
    summary: 'replace the values of a vault in standard input',
  },
  narrow: {
    usage: 'narrow [-|@FILE] [flags]',
    summary: 'derive a weaker access key from an access key',
  },
  'mine set': {
    usage: 'mine set NAME [-|@FILE] [flags]',
    summary: 'store a value for yourself, which run --mine uses',
  },
  'mine list': {
    usage: 'mine list [flags]',
    summary: 'print the names of your own values',
  },
  'mine rm': {
    usage: 'mine rm NAME... [flags]',
    summary: 'delete your own values',
  },
  init: {
    usage: 'init [flags]',
    summary: 'create the project file of this folder',
  },
  login: {
    usage: 'login [flags]',
    summary: 'sign in with a browser, or store a key, in a profile',
  },
  logout: {
    usage: 'logout [flags]',
    summary: 'sign out, and delete the profile',
  },
  whoami: {
    usage: 'whoami [flags]',
    summary: 'print and check the service and the key in use',
  },
  open: {
    usage: 'open [flags]',
    summary: 'open the dashboard',
  },
  completion: {
    usage: 'completion bash|zsh|fish',
    summary: 'print a script that completes commands in a shell',
  },
  'keys list': {
    usage: 'keys list [flags]',
    summary: 'print the keys of a vault',
  },
  'keys create': {
    usage: 'keys create NAME [flags]',
    summary: 'create a key, or store one from a file',
  },
  'keys rotate': {
    usage: 'keys rotate NAME [flags]',
    summary: 'give a key new key material, as a new version',
  },
  'keys public': {
    usage: 'keys public NAME [flags]',
    summary: 'print a public key',
  },
  'keys export': {
    usage: 'keys export NAME [flags]',
    summary: 'print a private key',
  },
  'ssh-certificate': {
    usage: 'ssh-certificate FILE.pub --key NAME --principal NAMES [flags]',
    summary: 'obtain an SSH certificate for a public key',
  },
  ssh: {
    usage: 'ssh --key NAME [flags] [USER@]HOST [ARGUMENT...]',
    summary: 'run ssh with a key and a certificate that last only a short time',
  },
  'certificates list': {
    usage: 'certificates list [flags]',
    summary: 'print the certificates of a vault',
  },
  'certificates add': {
    usage: 'certificates add NAME FILE [flags]',
    summary: 'store a certificate from a file',
  },
  'certificates renew': {
    usage: 'certificates renew NAME FILE [flags]',
    summary: 'store the successor of a certificate, as a new version',
  },
  'certificates watch': {
    usage: 'certificates watch NAME... --cert FILE --key FILE [flags]',
    summary: 'keep the files of a certificate up to date, and reload a server after each change',
  },
  'authorities list': {
    usage: 'authorities list [flags]',
    summary: 'print the certificate authorities of a vault',
  },
  'authorities create': {
    usage: 'authorities create NAME [flags]',
    summary: 'create a certificate authority',
  },
  'authorities complete': {
    usage: 'authorities complete NAME FILE [flags]',
    summary: 'bring back the certificate of an authority that was signed elsewhere',
  },
  'authorities trust': {
    usage: 'authorities trust NAME [flags]',
    summary: 'print the certificates by which clients trust an authority',
  },
  'profiles list': {
    usage: 'profiles list [flags]',
    summary: 'print the profiles for certificates of a vault',
  },
  'profiles create': {
    usage: 'profiles create NAME --authority NAME --allow PATTERN [flags]',
    summary: 'create a profile for certificates',
  },
  'profiles issue': {
    usage: 'profiles issue PROFILE [NAME...] [flags]',
    summary: 'issue a certificate',
  },
  'use-rules list': {
    usage: 'use-rules list [flags]',
    summary: 'print the use rules of a vault',
  },
  'use-rules add': {
    usage: 'use-rules add NAME --secret SECRET [flags]',
    summary: 'create a use rule for a secret or a key',
  },
  'use-rules edit': {
    usage: 'use-rules edit RULE [flags]',
    summary: 'update a use rule',
  },
  'use-rules delete': {
    usage: 'use-rules delete RULE [flags]',
    summary: 'delete a use rule',
  },
  'use-rules presets': {
    usage: 'use-rules presets [flags]',
    summary: 'print the presets for use-rules add --preset',
  },
  'use-rules check': {
    usage: 'use-rules check SECRET URL [flags]',
    summary: 'check whether a call with a secret would be allowed',
  },
  'runs list': {
    usage: 'runs list [flags]',
    summary: 'print the runs of agents',
  },
  'runs show': {
    usage: 'runs show ID [flags]',
    summary: 'print a run, its budgets and its last requests',
  },
  'runs end': {
    usage: 'runs end ID [flags]',
    summary: 'end a run, with everything that it may do',
  },
  'vaults list': {
    usage: 'vaults list [flags]',
    summary: 'print the vaults',
  },
  'vaults create': {
    usage: 'vaults create NAME [flags]',
    summary: 'create a vault',
  },
  'stages list': {
    usage: 'stages list [flags]',
    summary: 'print the stages and their vaults',
  },
  'stages show': {
    usage: 'stages show NAME [flags]',
    summary: 'compare the vaults of a stage',
  },
  'stages create': {
    usage: 'stages create NAME VAULT VAULT... [flags]',
    summary: 'create a stage',
  },
  'stages rename': {
    usage: 'stages rename NAME OLD NEW [flags]',
    summary: 'rename a secret in all vaults of a stage',
  },
  'stages delete': {
    usage: 'stages delete NAME [flags]',
    summary: 'delete a stage',
  },
  'access-keys list': {
    usage: 'access-keys list [flags]',
    summary: 'print the access keys of a vault',
  },
  'access-keys create': {
    usage: 'access-keys create NAME [flags]',
    summary: 'create an access key with which a program reads one vault',
  },
  'access-keys revoke': {
    usage: 'access-keys revoke NAME [flags]',
    summary: 'revoke an access key',
  },
  'issuers list': {
    usage: 'issuers list [flags]',
    summary: 'print what creates short-lived credentials',
  },
  'issuers create': {
    usage: 'issuers create NAME [-|@FILE] [flags]',
    summary: 'set up what creates short-lived credentials',
  },
  'issuers check': {
    usage: 'issuers check NAME [flags]',
    summary: 'try an issuer, and print what its connection lacks',
  },
  'issuers delete': {
    usage: 'issuers delete NAME [flags]',
    summary: 'delete an issuer',
  },
  'leases list': {
    usage: 'leases list [ISSUER] [flags]',
    summary: 'print the short-lived credentials that were issued',
  },
  'leases renew': {
    usage: 'leases renew ID [flags]',
    summary: 'extend a short-lived credential',
  },
  'leases revoke': {
    usage: 'leases revoke ID... [flags]',
    summary: 'end short-lived credentials',
  },
  'identities list': {
    usage: 'identities list [flags]',
    summary: 'print the machines that may log in',
  },
  'identities create': {
    usage: 'identities create NAME [flags]',
    summary: 'let a machine log in without a stored key',
  },
  'identities delete': {
    usage: 'identities delete NAME [flags]',
    summary: 'delete an identity and its access keys',
  },
  'identities presets': {
    usage: 'identities presets [flags]',
    summary: 'print the presets for identities create --preset',
  },
  'identities refusals': {
    usage: 'identities refusals NAME [flags]',
    summary: 'print why logins as an identity were refused',
  },
  'identities secret-id': {
    usage: 'identities secret-id NAME [flags]',
    summary: 'create a secret id for an identity, and print it',
  },
  'webhooks list': {
    usage: 'webhooks list [flags]',
    summary: 'print the webhooks and whether they work',
  },
  'webhooks create': {
    usage: 'webhooks create NAME [-|@FILE] [flags]',
    summary: 'send messages about events to Slack, Teams, Discord, ntfy, Matrix or a service',
  },
  'webhooks test': {
    usage: 'webhooks test NAME [flags]',
    summary: 'send a test message to a webhook',
  },
  'webhooks delete': {
    usage: 'webhooks delete NAME [flags]',
    summary: 'delete a webhook',
  },
  'members list': {
    usage: 'members list [flags]',
    summary: 'print the members and their roles',
  },
  'members invite': {
    usage: 'members invite EMAIL [flags]',
    summary: 'invite a member, and print the link for them',
  },
  'members grant': {
    usage: 'members grant EMAIL VAULT ROLE [flags]',
    summary: 'give a member a role in a vault, or remove it',
  },
  'requests list': {
    usage: 'requests list [flags]',
    summary: 'print who asks for a role in a vault',
  },
  'groups list': {
    usage: 'groups list [flags]',
    summary: 'print the groups, their members, and their roles in vaults',
  },
  'groups create': {
    usage: 'groups create NAME [flags]',
    summary: 'create a group of members',
  },
  'groups grant': {
    usage: 'groups grant NAME VAULT ROLE [flags]',
    summary: 'give a group a role in a vault, or remove it',
  },
  'groups add': {
    usage: 'groups add NAME EMAIL [flags]',
    summary: 'add a member to a group',
  },
  'groups remove': {
    usage: 'groups remove NAME EMAIL [flags]',
    summary: 'remove a member from a group',
  },
  'groups delete': {
    usage: 'groups delete NAME [flags]',
    summary: 'delete a group; its members lose the roles that it gave',
  },
  'proposals list': {
    usage: 'proposals list [flags]',
    summary: 'print the writes that wait for review',
  },
  'proposals show': {
    usage: 'proposals show ID [flags]',
    summary: 'print everything that a write would change',
  },
  'proposals confirm': {
    usage: 'proposals confirm ID [flags]',
    summary: 'confirm a write of someone else, which does it',
  },
  'proposals reject': {
    usage: 'proposals reject ID [flags]',
    summary: 'reject a write, or withdraw your own',
  },
  serve: {
    usage: 'serve [flags]',
    summary: 'run the service: API, vault endpoint, tool endpoint and dashboard',
  },
  setup: {
    usage: 'setup [flags]',
    summary: 'create an organization, an owner’s API key and the first invitation',
  },
  doctor: {
    usage: 'doctor [flags]',
    summary: 'examine an installation: versions, files, clock, disk, TLS, keys, backups, logs',
  },
  migrate: {
    usage: 'migrate [flags]',
    summary: 'migrate the database to this version, or dry-run it',
  },
  'organization set-plan': {
    usage: 'organization set-plan [flags]',
    summary: 'change an organization’s plan',
  },
  'owner reset': {
    usage: 'owner reset [flags]',
    summary: 'restore access for an owner who can no longer sign in',
  },
  'keyring rotate': {
    usage: 'keyring rotate [flags]',
    summary: 're-encrypt every vault’s key under a new keyring version, and retire the old one',
  },
  'keyring status': {
    usage: 'keyring status [flags]',
    summary: 'show the current keyring version, and what older ones still encrypt',
  },
  'backup verify': {
    usage: 'backup verify FILE [flags]',
    summary: 'restore a backup into a scratch database and verify it',
  },
  'backup restore': {
    usage: 'backup restore FILE|- [flags]',
    summary: 'restore a backup into an empty folder or database',
  },
  'backup new-key': {
    usage: 'backup new-key FILE',
    summary: 'create a key pair for encrypting backups',
  },
  backup: {
    usage: 'backup FILE|- [flags]',
    summary: 'take an encrypted backup while the service runs, and verify it',
  },
  'root-key list': {
    usage: 'root-key list [flags]',
    summary: 'list the slots of the root key',
  },
  'root-key add': {
    usage: 'root-key add PROVIDER [flags]',
    summary: 'add a slot: another way to open the data',
  },
  'root-key remove': {
    usage: 'root-key remove ID [flags]',
    summary: 'remove a slot: it no longer opens the data',
  },
  'root-key test': {
    usage: 'root-key test [flags]',
    summary: 'try each slot, as the next start would',
  },
  'root-key drill': {
    usage: 'root-key drill [flags]',
    summary: 'prove that the slots recover the data, and record it',
  },
  'root-key rotate': {
    usage: 'root-key rotate [flags]',
    summary: 'protect the keyring with a new root key or passphrase',
  },
  unseal: {
    usage: 'unseal [-|@FILE] [flags]',
    summary: 'give a share of the root key to a sealed service',
  },
  'log stream': {
    usage: 'log stream --to FILE|-|URL [flags]',
    summary: 'copy the request log and the audit log elsewhere as they grow',
  },
  'audit verify': {
    usage: 'audit verify [flags]',
    summary: 'verify that no log entry was edited, removed or cut off',
  },
  'audit export': {
    usage: 'audit export [flags]',
    summary: 'export both logs and their checkpoints to standard output, as JSON Lines',
  },
  'audit public-key': {
    usage: 'audit public-key [flags]',
    summary: 'print the public key that verifies the logs',
  },
  'mcp config': {
    usage: 'mcp config CLIENT [flags]',
    summary: 'print the configuration for an MCP client',
  },
  mcp: {
    usage: 'mcp [flags]',
    summary: 'serve the tools of a remote service over stdio',
  },
};
