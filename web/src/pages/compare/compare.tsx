/**
 * Compares vaults side by side in stage order: which secrets are missing, the same or different from one stage to the
 * next, without showing values. The service compares, and records each comparison.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Columns3 } from 'lucide-react';
import { post } from '../../api/client.ts';
import type { ComparedVaults, Vault } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { type Address, useAddress } from '../../ui/address.ts';
import { Field } from '../../ui/field.tsx';
import { Empty, Loading, Page, Wrong } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { SearchChoices, vaults } from '../../ui/search-choice.tsx';
import { ComparisonTable } from './comparison-table.tsx';
import { Stages } from './stages.tsx';

const most = 8;
const size = 50;

export default function Compare() {
  const address = useAddress();
  const chosen = address.get('vaults').split(',').filter(Boolean).slice(0, most);
  const only = useOnlyTwo(chosen.length === 0);
  const ids = chosen.length === 0 ? only : chosen;
  const choose = (next: readonly string[]) => address.set({ vaults: next.slice(0, most).join(',') });
  return (
    <Page
      title="Compare vaults"
      intro="Each column is a stage, from left to right. You see which values are the same; nothing is revealed."
    >
      <div className="flex flex-wrap items-end gap-3">
        <Stages ids={ids} onChoose={choose} />
        <div className="min-w-64 flex-1">
          <Field label="Vaults, in stage order">
            {field => (
              <SearchChoices
                {...vaults}
                ids={field}
                placeholder="Choose two or more vaults"
                value={ids}
                onChange={choose}
              />
            )}
          </Field>
        </div>
      </div>
      {ids.length < 2 ? (
        <div className="surface">
          <Empty icon={Columns3} title="Choose two or more vaults">
            For example, staging and production. Columns are in the order in which you choose the vaults.
          </Empty>
        </div>
      ) : (
        <Comparison ids={ids} address={address} onOrder={choose} />
      )}
    </Page>
  );
}

/** Preselects the vaults if there are exactly two, with the older one as the first stage. */
function useOnlyTwo(isAsked: boolean): readonly string[] {
  const list = useList<Vault>('vaults', { limit: 3 }, { enabled: isAsked });
  const found = list.data?.data ?? [];
  return isAsked && found.length === 2 ? found.map(({ id }) => id).toReversed() : [];
}

interface ComparisonProps {
  readonly ids: readonly string[];
  readonly address: Address;
  readonly onOrder: (ids: readonly string[]) => void;
}

function Comparison({ ids, address, onOrder }: ComparisonProps) {
  const may = useMay();
  const different = address.get('different') !== '';
  const { page } = address;
  const body = { vault_ids: ids, page, limit: size, different };
  const compared = useQuery({
    queryKey: ['secrets', 'comparison', body],
    queryFn: () => post<ComparedVaults>('/v1/vaults/compare', body),
    placeholderData: keepPreviousData,
    // Each comparison is recorded, so there are no automatic refetches.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  return (
    <>
      <label className="flex w-fit items-center gap-2.5">
        <input
          type="checkbox"
          className="shrink-0"
          checked={different}
          onChange={event => address.set({ different: event.target.checked ? '1' : '' })}
        />
        Only missing or different secrets
      </label>
      {!may('secrets:reveal') && (
        <p className="text-muted">
          Your role can see which secrets exist, but not whether their values are the same.
        </p>
      )}
      <div className="surface overflow-hidden">
        {compared.isPending && <Loading />}
        {compared.error && !compared.data && (
          <Wrong error={compared.error} retry={() => void compared.refetch()} />
        )}
        {compared.data && (
          <>
            <ComparisonTable ids={ids} rows={compared.data.rows} onOrder={onOrder} />
            <Pager total={compared.data.pagination.total} page={page} limit={size} onPage={address.setPage} />
          </>
        )}
      </div>
    </>
  );
}
