/**
 * Compares vaults side by side, from left to right: those of a stage, or any others. It shows which secrets are missing,
 * expired, the same or different, without their values. The service compares, and records each comparison.
 */
import { Columns3 } from 'lucide-react';
import type { Stage, Vault } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { type Address, useAddress } from '../../ui/address.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Empty, Loading, Page, Wrong } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { SearchChoices, vaults } from '../../ui/search-choice.tsx';
import { type Compared, pageSize, type Shown, useCompared } from './compared.ts';
import { Matrix } from './matrix.tsx';
import { StageActions, StageChoice, useReorder } from './stages.tsx';

const mostVaults = 8;
const mostStages = 100;

export default function Compare() {
  const address = useAddress();
  const { isPending, stages, stage, ids } = useChosen(address);
  const choose = (next: readonly string[]) =>
    address.set({ stage: 'none', vaults: next.slice(0, mostVaults).join(',') });
  const reorder = useReorder(stage);
  const onOrder = stage === undefined ? choose : reorder;
  return (
    <Page
      title="Compare vaults"
      intro="You see which values are the same from one vault to the next; nothing is revealed."
      actions={<StageActions stage={stage} ids={ids} />}
    >
      <div className="flex flex-wrap items-end gap-3">
        {stages.length > 0 && <StageChoice stages={stages} stage={stage} address={address} />}
        {stage === undefined && (
          <div className="min-w-64 flex-1">
            <Field label="Vaults, from left to right">
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
        )}
        {ids.length > 1 && <ShownChoice address={address} stage={stage} />}
      </div>
      {isPending && <Loading />}
      {!isPending && ids.length < 2 && stage === undefined && <NothingToCompare />}
      {(ids.length > 1 || stage !== undefined) && (
        <Comparison key={stage?.id ?? 'others'} stage={stage} ids={ids} address={address} onOrder={onOrder} />
      )}
    </Page>
  );
}

/** The stage of the address or, without one, the first; or the vaults of the address. */
function useChosen(address: Address) {
  const { data, isPending } = useList<Stage>('stages', { limit: mostStages });
  const stages = (data?.data ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const chosen = address.get('vaults').split(',').filter(Boolean).slice(0, mostVaults);
  const asked = address.get('stage');
  const isOther = asked === 'none' || chosen.length > 0;
  const stage = isOther ? undefined : (stages.find(({ id }) => id === asked) ?? stages[0]);
  const only = useOnlyTwo(!isPending && stage === undefined && chosen.length === 0);
  const others = chosen.length === 0 ? only : chosen;
  return { isPending, stages, stage, ids: stage?.vault_ids ?? others };
}

/** Preselects the vaults if there are exactly two, with the older one on the left. */
function useOnlyTwo(isAsked: boolean): readonly string[] {
  const list = useList<Vault>('vaults', { limit: 3 }, { enabled: isAsked });
  const found = list.data?.data ?? [];
  return isAsked && found.length === 2 ? found.map(({ id }) => id).toReversed() : [];
}

function NothingToCompare() {
  const may = useMay();
  const list = useList<Vault>('vaults', { limit: 3 });
  if (list.isPending) return <Loading />;
  const total = list.data?.pagination.total ?? 0;
  const create = may('vaults:write', 'organization') && <ButtonLink href="/vaults">Go to vaults</ButtonLink>;
  return (
    <div className="surface">
      {total < 2 ? (
        <Empty
          icon={Columns3}
          title={total === 0 ? 'No vaults to compare' : 'There is only one vault'}
          action={create}
        >
          Comparing requires two, for example one for staging and one for production.
        </Empty>
      ) : (
        <Empty icon={Columns3} title="Choose two or more vaults">
          For example, staging and production. Columns are in the order in which you choose the vaults.
        </Empty>
      )}
    </div>
  );
}

function ShownChoice({ address, stage }: { address: Address; stage: Stage | undefined }) {
  return (
    <Field label="Show">
      {field => (
        <select
          {...field}
          className="control w-auto"
          value={shownIn(address)}
          onChange={event => address.set({ show: event.target.value === 'all' ? '' : event.target.value })}
        >
          <option value="all">All secrets</option>
          <option value="different">Missing, expired or different</option>
          {stage && <option value="missing">Missing in the last vault</option>}
        </select>
      )}
    </Field>
  );
}

function shownIn(address: Address): Shown {
  const shown = address.get('show');
  return shown === 'different' || shown === 'missing' ? shown : 'all';
}

interface ComparisonProps {
  readonly stage: Stage | undefined;
  readonly ids: readonly string[];
  readonly address: Address;
  readonly onOrder: ((ids: readonly string[]) => void) | null;
}

function Comparison({ stage, ids, address, onOrder }: ComparisonProps) {
  const may = useMay();
  const shown = shownIn(address);
  const { page } = address;
  const compared = useCompared({ stageId: stage?.id, ids, shown, page });
  const mayCompare = ids.every(id => may('secrets:reveal', id));
  return (
    <>
      {!mayCompare && (
        <p className="text-muted">
          Your role can see which secrets exist, but not whether their values are the same.
        </p>
      )}
      {compared.data && shown !== 'missing' && <Missing compared={compared.data} address={address} />}
      {compared.isPending && (
        <div className="surface">
          <Loading />
        </div>
      )}
      {compared.error && !compared.data && (
        <div className="surface">
          <Wrong error={compared.error} retry={() => void compared.refetch()} />
        </div>
      )}
      {compared.data && (
        <Matrix
          compared={compared.data}
          stageId={stage?.id}
          onOrder={onOrder}
          pager={
            <Pager
              total={compared.data.pagination.total}
              page={page}
              limit={pageSize}
              onPage={address.setPage}
            />
          }
        />
      )}
    </>
  );
}

/** Warns of secrets that the last vault lacks. */
function Missing({
  compared: { missing, vaults: columns },
  address,
}: {
  compared: Compared;
  address: Address;
}) {
  const last = columns.at(-1);
  if (missing === 0 || last === undefined) return null;
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-warn-soft px-3 py-2 text-warn"
    >
      {missing === 1 ? '1 secret is' : `${missing} secrets are`} missing in {last.name}.
      <button
        type="button"
        data-inline
        className="font-medium underline"
        onClick={() => address.set({ show: 'missing' })}
      >
        Show {missing === 1 ? 'it' : 'them'}
      </button>
    </p>
  );
}
