/** A search box that waits until the person stops typing. */
import { Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

interface SearchBoxProps {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

export function SearchBox({ label, value, onSearch }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const search = useRef(onSearch);
  search.current = onSearch;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => search.current(text.trim()), 200);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div className="relative w-full sm:w-72">
      <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-muted" aria-hidden />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        className="control pl-9"
        value={text}
        onChange={event => setText(event.target.value)}
      />
    </div>
  );
}
