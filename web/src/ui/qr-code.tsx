/** A QR code, dark on light in both themes, because cameras expect it so. Drawn in the page: nothing is fetched. */
import encodeQR from 'qr';

/** Modules of quiet around the code, as the standard asks. */
const quiet = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: quiet });
  const path = rows.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
      className="mx-auto w-full max-w-56 rounded-lg border"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
