/** Says why a click on a guarded button did nothing. */
export function IgnoredClick() {
  return (
    <p role="status" className="text-xs text-warn">
      That click was not counted, because the page had just changed. Check what is asked, then click again.
    </p>
  );
}
