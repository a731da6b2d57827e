/** Starts the dashboard. */
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { makeQueryClient } from './api/use.ts';
import { App } from './app.tsx';
import { keepAuthorizationRequest } from './session/authorization-request.ts';
import { beginAgainWithHashToken, takeHashToken } from './session/hash-token.ts';
import { startTheme } from './shell/theme.tsx';
import './styles.css';
import { ToastProvider } from './ui/toast.tsx';

takeHashToken();
keepAuthorizationRequest();
beginAgainWithHashToken();
startTheme();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={makeQueryClient()}>
        <ToastProvider>
          <App />
        </ToastProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
