/** Light, dark, or what the system says. The choice is the one thing that this browser remembers. */
import { Monitor, Moon, Sun } from 'lucide-react';
import { useEffect, useState } from 'react';
import { buttonClass } from '../ui/button.tsx';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const icons = { system: Monitor, light: Sun, dark: Moon };
const storageName = 'strongroom-theme';
const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme {
  const stored = window.localStorage.getItem(storageName);
  return themes.find(theme => theme === stored) ?? 'system';
}

export function applyTheme(theme: Theme = chosen()): void {
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosen);
  useEffect(() => {
    applyTheme(theme);
    const follow = () => applyTheme(theme);
    systemIsDark.addEventListener('change', follow);
    return () => systemIsDark.removeEventListener('change', follow);
  }, [theme]);
  function turn() {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
    window.localStorage.setItem(storageName, next);
    setTheme(next);
  }
  const Icon = icons[theme];
  return (
    <button
      type="button"
      className={buttonClass({ look: 'quiet', size: 'icon' })}
      aria-label={`Theme: ${theme}. Change it`}
      title={`Theme: ${theme}`}
      onClick={turn}
    >
      <Icon className="size-4" aria-hidden />
    </button>
  );
}
