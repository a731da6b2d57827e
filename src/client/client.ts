/**
 * `strongroom/client`: reads a vault, keeps a program's secrets up to date, and calls the general API. It has no
 * dependencies and no code of the service, and runs wherever there are `fetch` and WebCrypto.
 */
export { type Admin, admin, each } from './admin.ts';
export type { VaultRead, VaultReadNames, VaultReadSecret } from './api.ts';
export type { CacheStorage } from './cache.ts';
export type { Clock } from './clock.ts';
export type { Derived } from './derived.ts';
export { type ErrorCode, StrongroomError } from './errors.ts';
export type { Fetch } from './exchange.ts';
export { type FakeStore, fake } from './fake.ts';
export { file } from './file-cache.ts';
export type { Schemas } from './held-values.ts';
export { type NarrowedKey, narrow, type Restrictions } from './narrow.ts';
export { type OpenOptions, open } from './open.ts';
export type { ConnectionOptions, Receipt } from './request.ts';
export { Secret } from './secret.ts';
export { type OutputOf, type StandardSchema, text } from './standard-schema.ts';
export type { Status, Store } from './store.ts';
export { type ReadOptions, type Vault, type VaultOptions, vault } from './vault.ts';
