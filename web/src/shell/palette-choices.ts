/**
 * The results of the command palette: resources, access keys, people, webhooks and identities by name, resources by tag,
 * pages, and actions. Only what the person may see is requested and offered.
 */
import { useQuery } from '@tanstack/react-query';
import {
  Activity,
  Award,
  Bot,
  Building2,
  Columns2,
  FileLock2,
  Fingerprint,
  Info,
  KeyRound,
  KeySquare,
  LayoutDashboard,
  type LucideIcon,
  Plus,
  RotateCcw,
  ScrollText,
  Share2,
  ShieldCheck,
  Tag,
  Trash2,
  User,
  Users,
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
  /** Under which heading it is listed. */
  readonly group?: string;
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

type Fixed = readonly [label: string, href: string, needs: string, icon?: LucideIcon];

const pages: readonly Fixed[] = [
  ['Overview', '/', '', LayoutDashboard],
  ['Vaults', '/vaults', 'vaults:read', Vault],
  ['Deleted vaults', '/vaults/trash', 'vaults:read', Trash2],
  ['Compare vaults', '/compare', 'secrets:read', Columns2],
  ['Rotations', '/rotations', 'secrets:read', RotateCcw],
  ['Access keys', '/access/keys', 'access-keys:read', KeyRound],
  ['Public tokens', '/access/public-tokens', 'public-tokens:read', Share2],
  ['Identities', '/identities', 'identities:read', Fingerprint],
  ['Runs', '/runs', 'runs:read', Bot],
  ['Request log', '/logs/requests', 'logs:read', Activity],
  ['Audit log', '/logs/audit', 'logs:read', ScrollText],
  ['Webhooks', '/webhooks', 'webhooks:read', Webhook],
  ['API Keys', '/settings/api-keys', 'api-keys:read', KeySquare],
  ['Members', '/settings/members', 'members:read', Users],
  ['Organization', '/settings/organization', '', Building2],
  ['Security', '/settings/security', '', ShieldCheck],
  ['About', '/settings/about', '', Info],
];

const actions: readonly Fixed[] = [
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
const mostRecent = 5;
/** Only in this tab's memory: names are not stored in the browser. */
let recent: readonly Choice[] = [];

export function noteRecent(choice: Choice): void {
  const plain = { ...choice, key: choice.key.replace('recent ', '') };
  recent = [plain, ...recent.filter(({ href }) => href !== plain.href)].slice(0, mostRecent);
}

/** Every word is part of it, in any order. */
function isMatch(label: string, words: readonly string[]): boolean {
  const text = label.toLowerCase();
  return words.every(word => text.includes(word));
}

export function useChoices(text: string): readonly Choice[] {
  const may = useMay();
  const found = useQuery({
    queryKey: ['resources', 'palette', text],
    queryFn: () => search(text, may),
    enabled: text !== '',
    placeholderData: previous => previous,
  });
  const wanted = text.toLowerCase();
  const words = wanted.split(/\s+/);
  const matching = (kind: string, group: string, all: readonly Fixed[]) =>
    all
      .filter(([label, , needs]) => isMatch(label, words) && (needs === '' || may(needs)))
      .map(([label, href, , icon = Plus]): Choice => ({ key: href, label, href, kind, group, icon }));
  const fixed = [...matching('page', 'Pages', pages), ...matching('action', 'Actions', actions)];
  if (text === '')
    return [...recent.map(one => ({ ...one, key: `recent ${one.key}`, group: 'Recent' })), ...fixed];
  // Results for the previous text stay until the new ones arrive, if they match the new text.
  const known = (found.data ?? []).filter(({ label }) => !found.isPlaceholderData || isMatch(label, words));
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
    group: 'Resources',
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
