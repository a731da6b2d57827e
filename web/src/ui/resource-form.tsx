/** The form of a resource: creates it or, if it exists, sends what was changed. */
import { update } from '../api/changes.ts';
import { post } from '../api/client.ts';
import { useRefresh } from '../api/use.ts';
import { FormDialog, type FormDialogProps } from './form-dialog.tsx';
import { note, noteUpdate } from './toast.tsx';

interface ResourceFormProps<T extends object, Created>
  extends Omit<FormDialogProps<T>, 'title' | 'action' | 'onSubmit'> {
  /** Its name in a sentence: `access key`. */
  readonly what: string;
  /** Its name in an address: `access-keys`. */
  readonly collection: string;
  /** Other collections that change with it. */
  readonly refreshes?: readonly string[];
  /** Undefined for a new one. */
  readonly resource: { readonly id: string; readonly name: string } | undefined;
  /** An edit sends the fields of this that have changed. */
  readonly bodyOf: (values: T) => object;
  /** What a new one is created from, if that is more. */
  readonly creationOf?: (values: T) => object;
  /** How an edit is sent, if not field by field. */
  readonly send?: (path: string, before: T, after: T) => Promise<boolean>;
  /** What is shown of a new one, if it is not just reported. */
  readonly onCreated?: (created: Created) => void;
}

export function ResourceForm<T extends object, Created extends { name: string } = { name: string }>({
  what,
  collection,
  refreshes = [],
  resource,
  bodyOf,
  creationOf = bodyOf,
  send = (path, before, after) => update(path, bodyOf(before), bodyOf(after)),
  onCreated,
  ...dialog
}: ResourceFormProps<T, Created>) {
  const { form, onClose } = dialog;
  const refresh = useRefresh();
  const title = what.charAt(0).toUpperCase() + what.slice(1);
  async function create(values: T) {
    const created = await post<Created>(`/v1/${collection}`, creationOf(values));
    if (onCreated) return onCreated(created);
    note(`${title} “${created.name}” created`);
    onClose();
  }
  async function save(values: T) {
    if (resource) {
      noteUpdate(title, await send(`/v1/${collection}/${resource.id}`, form.initial, values));
      onClose();
    } else await create(values);
    await refresh(collection, ...refreshes);
  }
  return (
    <FormDialog
      {...dialog}
      title={resource ? `Edit ${resource.name}` : `New ${what}`}
      action={resource ? 'Save' : `Create ${what}`}
      onSubmit={save}
    />
  );
}
