/** The door of a strongroom, seen from the front. */
export function Logo({ className = 'size-7' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} role="img" aria-label="Strongroom">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <g className="stroke-on-accent" fill="none" strokeWidth="2.2" strokeLinecap="round">
        <circle cx="16" cy="16" r="8.5" />
        <path d="M16 4.8v4.6M16 22.6v4.6M4.8 16h4.6M22.6 16h4.6" />
      </g>
      <circle cx="16" cy="16" r="2.6" className="fill-on-accent" />
    </svg>
  );
}
