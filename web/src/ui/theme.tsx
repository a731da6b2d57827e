/** Light, dark, or the system's theme. The choice is stored in the browser. */
import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { buttonClass } from './button.tsx';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const icons = { system: Monitor, light: Sun, dark: Moon };
const storageName = 'strongroom-theme';
const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme {
  const stored = window.localStorage.getItem(storageName);
  return themes.find(theme => theme === stored) ?? 'system';
}

function applyTheme(): void {
  const theme = chosen();
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

/** Applies the theme on every page, including those without the switch. */
export function startTheme(): void {
  applyTheme();
  systemIsDark.addEventListener('change', applyTheme);
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosen);
  function turn() {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
    window.localStorage.setItem(storageName, next);
    setTheme(next);
    applyTheme();
  }
  const Icon = icons[theme];
  return (
    <button
      type="button"
      className={buttonClass({ look: 'quiet', size: 'icon' })}
      aria-label={`Theme: ${theme}. Change theme`}
      title={`Theme: ${theme}`}
      onClick={turn}
    >
      <Icon className="size-4" aria-hidden />
    </button>
  );
}
