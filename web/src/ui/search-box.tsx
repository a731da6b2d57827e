/** A search box that waits until the person stops typing. */
import { Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Kbd } from './kbd.tsx';

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
    <div className="group relative w-full sm:w-64">
      <Search
        className="pointer-events-none absolute inset-y-0 left-2.5 my-auto size-4 text-muted"
        aria-hidden
      />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        data-search
        className="control pr-8 pl-8"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      {text === '' && (
        <span className="pointer-events-none absolute inset-y-0 right-2 hidden items-center group-focus-within:hidden sm:flex">
          <Kbd keys="/" />
        </span>
      )}
    </div>
  );
}
