/** What went wrong with a form, announced when it appears. */
export function Problem({ text }: { text: string }) {
  if (text === '') return null;
  return (
    <div role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-xs text-bad">
      {text}
    </div>
  );
}
