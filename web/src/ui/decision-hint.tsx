/** Explains why a click on a guarded button was ignored. */
export function IgnoredClick() {
  return (
    <p role="status" className="text-xs text-warn">
      Your click was ignored because the page had just changed. Check the request, then click again.
    </p>
  );
}
