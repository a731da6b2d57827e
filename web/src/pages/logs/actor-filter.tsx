/** Filters the audit log by actor: people, API keys and access keys, by name. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import type { List } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import type { Address } from '../../ui/address.ts';
import { Labelled } from './log-filters.tsx';

interface Named {
  readonly id: string;
  readonly name: string;
}

const kinds = [
  ['People', 'members'],
  ['API keys', 'api-keys'],
  ['Access keys', 'access-keys'],
] as const;

export function ActorFilter({ address }: { address: Address }) {
  const may = useMay();
  const { data = [] } = useQuery({
    queryKey: ['members', 'actors'],
    queryFn: () =>
      Promise.all(
        kinds
          .filter(([, collection]) => may(`${collection}:read`))
          .map(async ([label, collection]) => ({
            label,
            actors: (await get<List<Named>>(`/v1/${collection}?limit=100`)).data,
          })),
      ),
    staleTime: 60_000,
  });
  const chosen = address.get('actor_id');
  const isKnown = chosen === '' || data.some(({ actors }) => actors.some(({ id }) => id === chosen));
  return (
    <Labelled label="Actor">
      <select
        className="control w-auto max-w-48"
        value={chosen}
        onChange={event => address.set({ actor_id: event.target.value })}
      >
        <option value="">Anyone</option>
        {!isKnown && <option value={chosen}>{chosen}</option>}
        {data.map(({ label, actors }) => (
          <optgroup key={label} label={label}>
            {actors.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </Labelled>
  );
}
