/**
 * The results of the command palette: resources, access keys, people, webhooks and identities by name, resources by tag,
 * pages, and actions. Only what the person may see is requested and offered.
 */
import { useQuery } from '@tanstack/react-query';
import {
  Activity,
  Award,
  FileLock2,
  Fingerprint,
  KeyRound,
  type LucideIcon,
  Plus,
  Search,
  Tag,
  User,
  Vault,
  Webhook,
} from 'lucide-react';
import { get, query } from '../api/client.ts';
import type { GenericResource, List, ResourceType } from '../api/types.ts';
import { useMay } from '../session/session.tsx';
import { hrefOf } from '../ui/href.ts';

export interface Choice {
  readonly key: string;
  readonly label: string;
  readonly kind: string;
  readonly href: string;
  readonly icon: LucideIcon;
  /** The vault that contains it. */
  readonly vaultId?: string | null;
}

interface Named {
  readonly id: string;
  readonly name: string;
  readonly vault_id?: string | null;
}

const icons: Record<ResourceType, LucideIcon> = {
  vault: Vault,
  secret: FileLock2,
  key: KeyRound,
  certificate: Award,
};

const pages: readonly (readonly [label: string, href: string, needs: string])[] = [
  ['Overview', '/', ''],
  ['Vaults', '/vaults', 'vaults:read'],
  ['Deleted vaults', '/vaults/trash', 'vaults:read'],
  ['Compare vaults', '/compare', 'secrets:read'],
  ['Access keys', '/access/keys', 'access-keys:read'],
  ['Public tokens', '/access/public-tokens', 'public-tokens:read'],
  ['Identities', '/identities', 'identities:read'],
  ['Request log', '/logs/requests', 'logs:read'],
  ['Audit log', '/logs/audit', 'logs:read'],
  ['Webhooks', '/webhooks', 'webhooks:read'],
  ['API Keys', '/settings/api-keys', 'api-keys:read'],
  ['Members', '/settings/members', 'members:read'],
  ['Organization', '/settings/organization', ''],
  ['Security', '/settings/security', ''],
  ['About', '/settings/about', ''],
];

const actions: readonly (readonly [label: string, href: string, needs: string])[] = [
  ['New vault', '/vaults?new=vault', 'vaults:write'],
  ['New access key', '/access/keys?create=1', 'access-keys:write'],
  ['New identity', '/identities?create=1', 'identities:write'],
  ['New webhook', '/webhooks?create=1', 'webhooks:write'],
  ['Generate New Key', '/settings/api-keys?create=1', 'api-keys:write'],
  ['Invite a member', '/settings/members?create=1', 'members:write'],
];

/** Collections other than resources: where each is shown, and with which icon. */
const others: readonly (readonly [string, string, LucideIcon, (one: Named) => string])[] = [
  ['access-keys', 'access key', KeyRound, ({ id }) => `/logs/requests${query({ access_key_id: id })}`],
  ['members', 'member', User, ({ name }) => `/settings/members${query({ q: name })}`],
  ['webhooks', 'webhook', Webhook, ({ id }) => `/webhooks/${id}`],
  ['identities', 'identity', Fingerprint, ({ id }) => `/identities/${id}`],
];

const most = 8;

export function useChoices(text: string): readonly Choice[] {
  const may = useMay();
  const found = useQuery({
    queryKey: ['resources', 'palette', text],
    queryFn: () => search(text, may),
    enabled: text !== '',
    placeholderData: previous => previous,
  });
  const wanted = text.toLowerCase();
  const matching = (kind: string, icon: LucideIcon, all: typeof pages) =>
    all
      .filter(([label, , needs]) => label.toLowerCase().includes(wanted) && (needs === '' || may(needs)))
      .map(([label, href]): Choice => ({ key: href, label, href, kind, icon }));
  const fixed = [...matching('page', Search, pages), ...matching('action', Plus, actions)];
  if (text === '') return fixed;
  // Results for the previous text stay until the new ones arrive, if they match the new text.
  const known = (found.data ?? []).filter(
    ({ label }) => !found.isPlaceholderData || label.toLowerCase().includes(wanted),
  );
  return [...known, ...fixed];
}

async function search(text: string, may: (action: string) => boolean): Promise<Choice[]> {
  const parts = [
    resources({ q: text, limit: 20 }, 'resource'),
    ...(text.includes('=') && !text.startsWith('=') ? [resources({ tag: text, limit: most }, 'tag')] : []),
    ...others
      .filter(([collection]) => may(`${collection}:read`))
      .map(([collection, kind, icon, href]) =>
        named(collection, text, one => ({ kind, icon, href: href(one) })),
      ),
  ];
  return (await Promise.all(parts)).flat();
}

async function resources(filter: Record<string, string | number>, by: 'resource' | 'tag'): Promise<Choice[]> {
  const { data } = await get<List<GenericResource>>(`/v1/resources${query(filter)}`);
  return data.map(one => ({
    key: `${by} ${one.id}`,
    label: one.name,
    href: hrefOf(one),
    kind: by === 'tag' ? `${one.type} with this tag` : one.type,
    icon: by === 'tag' ? Tag : icons[one.type],
    vaultId: one.vault_id,
  }));
}

async function named(
  collection: string,
  text: string,
  shown: (one: Named) => Pick<Choice, 'kind' | 'icon' | 'href'>,
): Promise<Choice[]> {
  const { data } = await get<List<Named>>(`/v1/${collection}${query({ q: text, limit: most })}`);
  const all = data.map(one => ({
    key: one.id,
    label: one.name,
    vaultId: one.vault_id ?? null,
    ...shown(one),
  }));
  if (collection !== 'members' || !text.includes('@')) return all;
  // For a whole address, also offer this person's entries in the audit log.
  const actor = data.find(one => one.name === text);
  if (actor === undefined) return all;
  const href = `/logs/audit${query({ actor_id: actor.id })}`;
  const log = {
    key: `log ${actor.id}`,
    label: `Activity of ${actor.name}`,
    kind: 'audit log',
    icon: Activity,
    href,
  };
  return [...all, log];
}
