/** Restores a resource from the trash, or shows why that was refused. */
import { post, SentForReview, sentence } from '../api/client.ts';
import { useRefresh } from '../api/use.ts';
import { note } from '../ui/toast.tsx';

export function useRestore(
  collection: string,
): (item: { readonly id: string; readonly name: string }) => Promise<void> {
  const refresh = useRefresh();
  return async ({ id, name }) => {
    try {
      await post(`/v1/resources/${id}/restore`);
      note(`“${name}” restored`);
    } catch (error) {
      if (!(error instanceof SentForReview))
        note(`Can’t restore “${name}”. ${sentence(error)}`, { bad: true });
    }
    await refresh(collection, 'resources');
  };
}
