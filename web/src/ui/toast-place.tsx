/** Where messages appear, once there are any. */
import { type ComponentType, useEffect, useState } from 'react';
import { warm } from './lazily.tsx';
import { whenNoted } from './toast.tsx';

export function ToastPlace() {
  const [Shown, setShown] = useState<ComponentType | null>(null);
  useEffect(() => {
    async function load() {
      const { default: Loaded } = await import('./toasts.tsx');
      setShown(() => Loaded);
    }
    warm(load);
    whenNoted(load);
  }, []);
  return Shown && <Shown />;
}
